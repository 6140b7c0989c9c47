"""Compare two versions of a workflow step by step: identical, text only, compatible, changed, gone, new.

Pure. The caller names the renamed steps. `recognised` finds them if only one new step has the structure of
a step that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flowrail.machines.definition.plain_form import structure, to_plain
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow

IDENTICAL, TEXTS, COMPATIBLE, CHANGED, GONE, NEW = (
    "identical",
    "text only",
    "compatible",
    "changed",
    "gone",
    "new",
)
RENAMED = "renamed"
_SHOWN = ("when", "limit")
"""Keys whose values a difference shows."""
_BY_NAME = ("id", "next", "gate")
"""Keys that contain ids of steps, which a new version may have renamed."""


@dataclass(frozen=True)
class StepChange:
    """The change of one step: ``to`` is its new name, ``what`` lists the differences."""

    step: str
    change: str
    to: str | None
    what: tuple[str, ...] = ()


def compare(old: Workflow, new: Workflow, names: Mapping[str, str]) -> tuple[StepChange, ...]:
    """Return the change of every step of *old*, and the steps that are new in *new*."""
    changes = [became(step, new, names) for step in old.steps]
    taken = {change.to for change in changes}
    return (*changes, *(StepChange(step.id, NEW, step.id) for step in new.steps if step.id not in taken))


def recognised(old: Workflow, new: Workflow) -> dict[str, str]:
    """Return removed steps with the new steps that replace them: those with the same, unique structure."""
    gone = {step.id for step in old.steps if step.id not in new}
    fresh = {step.id for step in new.steps if step.id not in old}
    before = _by_shape(old, gone, gone | fresh)
    after = _by_shape(new, fresh, gone | fresh)
    return {
        steps[0]: after[shape][0]
        for shape, steps in before.items()
        if len(steps) == 1 and len(after.get(shape, ())) == 1
    }


def same_work(before: StepDef, after: StepDef, names: Mapping[str, str]) -> bool:
    """Return whether two steps have the same dispatches and questions."""
    old, new = _named(before, names), structure(after)
    return all(old.get(part) == new.get(part) for part in ("dispatch", "questions", "gate"))


def became(step: StepDef, new: Workflow, names: Mapping[str, str]) -> StepChange:
    """Return the change of one step in *new*."""
    to = names.get(step.id, step.id)
    after = new.get(to)
    if after is None:
        return StepChange(step.id, GONE, None)
    old_shape, new_shape = _named(step, names), structure(after)
    old_targets = {outcome: names.get(str(target), target) for outcome, target in step.transitions.items()}
    keys = [key for key in _compared_keys() if old_shape.get(key) != new_shape.get(key)]
    differences = [
        *_transition_changes(old_targets, after.transitions),
        *(
            f"`{key}` was {_shown(old_shape[key])}, is {_shown(new_shape[key])}"
            if key in _SHOWN
            else f"`{key}` is different"
            for key in keys
        ),
    ]
    if not differences and old_shape != new_shape:
        differences = ["its transitions are written differently"]
    if differences:
        accepts_more = old_targets.items() <= after.transitions.items() and _has_more_facts(old_shape, after)
        is_compatible = accepts_more and set(keys) <= {"reports"}
        return StepChange(step.id, COMPATIBLE if is_compatible else CHANGED, to, tuple(differences))
    if to != step.id:
        return StepChange(step.id, RENAMED, to)
    return StepChange(step.id, IDENTICAL if _texts(step) == _texts(after) else TEXTS, to)


def _named(step: StepDef, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the structure of *step* with current names of steps."""
    shape: dict[str, Any] = structure(step)
    shape["id"] = names.get(step.id, step.id)
    shape["next"] = {outcome: names.get(target, target) for outcome, target in shape["next"].items()}
    if "gate" in shape:
        review = shape["gate"]["review"]
        shape["gate"] = {**shape["gate"], "review": names.get(review, review)}
    return shape


def _transition_changes(
    old: Mapping[Outcome, str | None], new: Mapping[Outcome, str | None]
) -> Iterator[str]:
    yield from (f"`{outcome}` is gone" for outcome in old if outcome not in new)
    yield from (
        f"`{outcome}` is new, to {_shown(target)}" for outcome, target in new.items() if outcome not in old
    )
    for outcome, target in old.items():
        if outcome in new and new[outcome] != target:
            yield f"`{outcome}` led to {_shown(target)}, leads to {_shown(new[outcome])}"


def _has_more_facts(old_shape: Mapping[str, Any], after: StepDef) -> bool:
    """Return whether all earlier facts still exist with the same meaning, and no new fact is required."""
    old, new = old_shape["reports"], structure(after)["reports"]
    return old.items() <= new.items() and not any(
        after.reports[name].required for name in new.keys() - old.keys()
    )


def _by_shape(workflow: Workflow, steps: set[str], nameless: set[str]) -> dict[str, list[str]]:
    """Return *steps* by their structure, in which *nameless* steps count as equal."""
    by_shape: dict[str, list[str]] = {}
    names = dict.fromkeys(nameless, "another")
    for step in workflow.steps:
        if step.id in steps:
            names[step.id] = "itself"
            by_shape.setdefault(repr(_named(step, names)), []).append(step.id)
            names[step.id] = "another"
    return by_shape


def _compared_keys() -> list[str]:
    """Return the keys of a step that decide the path of a session, without its transitions."""
    deciding = [field.name for field in fields(StepDef) if field.metadata.get("decides", True)]
    return [*_SHOWN, *(name for name in deciding if name not in {"id", "next", *_SHOWN})]


def _texts(step: StepDef) -> dict[str, object]:
    return {name: value for name, value in to_plain(step).items() if name not in _BY_NAME}


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return "code" if isinstance(value, Mapping) else f"`{value}`"
