"""Two versions of a workflow: what changed in each step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from support.random_workflows import workflows
from support.workflows import step, unchecked

from flowrail.machines.difference import differences, same_structure
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow


def pair(**parts: Any) -> Workflow:
    """Return a workflow of two steps, the first with *parts*."""
    return unchecked(step("a", **{"next": {"ok": "b", "fail": "a"}, **parts}), step("b"))


@given(workflows())
def test_a_workflow_does_not_differ_from_itself(definition: Workflow) -> None:
    assert list(differences(definition, definition)) == []


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


def test_only_texts_leave_the_structure_as_it_is() -> None:
    before = pair().step("a")

    assert same_structure(before, pair(title="Another").step("a"))
    assert not same_structure(before, pair(limit=2).step("a"))
    assert not same_structure(None, pair().step("a"))


def test_steps_that_are_gone_and_new_are_named() -> None:
    old, new = unchecked(step("a", next={"ok": None})), unchecked(step("b", next={"ok": None}))

    assert list(differences(old, new)) == ["`a` is gone", "`b` is new"]
