"""Two versions of a workflow: what changed in each step."""

from __future__ import annotations

from typing import Any

import pytest
from support.workflows import step, unchecked

from flowrail.machines.difference import differences
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow


def pair(**parts: Any) -> Workflow:
    """Return a workflow of two steps, the first with *parts*."""
    return unchecked(step("a", **{"next": {"ok": "b", "fail": "a"}, **parts}), step("b"))


@pytest.mark.parametrize(
    ("parts", "difference"),
    [
        ({"title": "Another"}, "its texts are different"),
        ({"actions": ["Something else."]}, "its texts are different"),
        ({"next": {"ok": "b"}}, "`next` is different"),
        ({"when": "visit < 3"}, "`when` is different"),
        ({"when": lambda _: True}, "`when` is different"),
        ({"handler": lambda _: "ok"}, "`handler` is different"),
        ({"reports": {"note": Arg("A note", required=True)}}, "`reports` is different"),
    ],
)
def test_a_difference_is_one_sentence(parts: dict[str, Any], difference: str) -> None:
    assert list(differences(pair(), pair(**parts))) == [f"`a`: {difference}"]


def test_steps_that_are_gone_and_new_are_named() -> None:
    old, new = unchecked(step("a", next={"ok": None})), unchecked(step("b", next={"ok": None}))

    assert list(differences(old, new)) == ["`a` is gone", "`b` is new"]
