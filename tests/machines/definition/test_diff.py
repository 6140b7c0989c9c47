"""Two versions of a workflow: the change of each step."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from support.random_workflows import workflows
from support.workflows import step, unchecked, workflow

from flowrail.machines.definition.diff import StepChange, compare, recognised, same_work
from flowrail.machines.definition.step_parts import Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow


def pair(**parts: Any) -> Workflow:
    """Return a workflow of two steps, the first with *parts*."""
    return unchecked(step("a", **{"next": {"ok": "b", "fail": "a"}, **parts}), step("b"))


def first(old: Workflow, new: Workflow, **names: str) -> StepChange:
    return compare(old, new, names)[0]


def changes(old: Workflow, new: Workflow, **names: str) -> tuple[tuple[object, ...], ...]:
    return tuple(map(astuple, compare(old, new, names)))


@given(workflows())
def test_a_workflow_is_identical_with_itself(definition: Workflow) -> None:
    changes = compare(definition, definition, {})

    assert {change.change for change in changes} == {"identical"}
    assert recognised(definition, definition) == {}


@pytest.mark.parametrize(
    "parts",
    [
        {"title": "Another"},
        {"actions": ["Something else."]},
        {"phase": "late"},
        {"variants": [("visit > 1", ("Again.",))]},
        {"reports": {"sure": Arg("In other words", choices=("low", "high"))}},
    ],
)
def test_other_texts_are_text_only(parts: dict[str, Any]) -> None:
    declared = {"reports": {"sure": Arg("", choices=("low", "high"))}} if "reports" in parts else {}

    assert first(pair(**declared), pair(**parts)) == StepChange("a", "text only", "a", ())


@pytest.mark.parametrize(
    ("parts", "difference"),
    [
        ({"next": {"ok": "b", "fail": "a", "skip": None}}, "`skip` is new, to nothing"),
        ({"next": {"ok": "b", "fail": "a", "iterate": "a"}, "limit": None}, "`iterate` is new, to `a`"),
        ({"reports": {"note": Arg("A note")}}, "`reports` is different"),
    ],
)
def test_a_change_that_only_adds_possibilities_is_compatible(parts: dict[str, Any], difference: str) -> None:
    assert first(pair(), pair(**parts)) == StepChange("a", "compatible", "a", (difference,))


@pytest.mark.parametrize(
    ("parts", "difference"),
    [
        ({"next": {"ok": "b"}}, "`fail` is gone"),
        ({"next": {"ok": None, "fail": "a"}}, "`ok` led to `b`, leads to nothing"),
        ({"next": {"ok": "b", "fail": "a"}, "limit": 2}, "`limit` was nothing, is `2`"),
        ({"when": "visit < 3"}, "`when` was nothing, is `visit < 3`"),
        ({"when": lambda _: True}, "`when` was nothing, is code"),
        ({"handler": lambda _: "ok"}, "`handler` is different"),
        ({"reports": {"note": Arg("A note", required=True)}}, "`reports` is different"),
    ],
)
def test_anything_else_is_changed(parts: dict[str, Any], difference: str) -> None:
    assert first(pair(), pair(**parts)) == StepChange("a", "changed", "a", (difference,))


def test_steps_that_are_gone_and_new_are_named() -> None:
    old, new = (
        workflow(step("a", next={"ok": "b"}), step("b")),
        workflow(step("a", next={"ok": "c"}), step("c")),
    )

    assert changes(old, new) == (
        ("a", "changed", "a", ("`ok` led to `b`, leads to `c`",)),
        ("b", "gone", None, ()),
        ("c", "new", "c", ()),
    )
    assert changes(old, new, b="c") == (("a", "identical", "a", ()), ("b", "renamed", "c", ()))


def renamed(definition: Workflow, names: dict[str, str]) -> Workflow:
    def now(target: str | None) -> str | None:
        return names.get(target, target) if target else target

    return unchecked(
        *(
            step(
                names.get(step_before.id, step_before.id),
                title=step_before.title,
                limit=step_before.limit,
                next={outcome: now(target) for outcome, target in step_before.next.items()},
            )
            for step_before in definition.steps
        )
    )


def test_only_what_agents_and_the_user_get_is_the_same_work() -> None:
    before, after = step("a", limit=2, next={"ok": None, "iterate": "a"}), step("a")
    asking = step("a", questions=[Question("go", "Go", "Go?", (Option("Yes", outcome="ok"), Option("No")))])

    assert same_work(before, after, {})
    assert not same_work(before, asking, {})
