"""Compare two versions of a workflow step by step: identical, text only, compatible, changed, gone, new.

Pure. Renamed steps are given, or recognised if only one new step has the structure of the
one that is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.definition.parts import keys_of
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow, structure, to_plain

IDENTICAL, TEXTS, COMPATIBLE, CHANGED, GONE, NEW = (
    "identical",
    "text only",
    "compatible",
    "changed",
    "gone",
    "new",
)
RENAMED = "renamed"
_COMPARED_BY_VALUE = ("when", "limit")
_BY_NAME = ("id", "next", "gate")
"""Keys that name steps, which may have other names now."""


class StepChange(NamedTuple):
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
    one, other = _named(before, names), structure(after)
    return all(one.get(part) == other.get(part) for part in ("dispatch", "questions", "gate"))


def became(step: StepDef, new: Workflow, names: Mapping[str, str]) -> StepChange:
    """Return the change of one step in *new*."""
    now = names.get(step.id, step.id)
    after = new.get(now)
    if after is None:
        return StepChange(step.id, GONE, None)
    what = _differences(step, after, names)
    if what:
        return StepChange(step.id, COMPATIBLE if _only_more(step, after, names) else CHANGED, now, what)
    if now != step.id:
        return StepChange(step.id, RENAMED, now)
    return StepChange(step.id, IDENTICAL if _texts(step) == _texts(after) else TEXTS, now)


def _named(step: StepDef, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the structure of *step* with current names of steps."""
    shape = structure(step)
    shape["id"] = names.get(step.id, step.id)
    shape["next"] = {way: names.get(to, to) if to else to for way, to in shape["next"].items()}
    if "gate" in shape:
        review, *rest = shape["gate"]
        shape["gate"] = [names.get(review, review), *rest]
    return shape


def _differences(before: StepDef, after: StepDef, names: Mapping[str, str]) -> tuple[str, ...]:
    one, other = _named(before, names), structure(after)
    found = list(_ways(before, after, names))
    found += [
        f"`{part}` was {_said(one[part])}, is {_said(other[part])}"
        for part in _COMPARED_BY_VALUE
        if one[part] != other[part]
    ]
    found += [f"`{part}` is different" for part in _other_parts() if one.get(part) != other.get(part)]
    return tuple(found) if found or one == other else ("its transitions are written differently",)


def _ways(before: StepDef, after: StepDef, names: Mapping[str, str]) -> list[str]:
    one = {str(way): names.get(to, to) if to else to for way, to in before.ways.items()}
    other = {str(way): to for way, to in after.ways.items()}
    return [
        *(f"`{way}` is gone" for way in one if way not in other),
        *(f"`{way}` is new, to {_said(to)}" for way, to in other.items() if way not in one),
        *(
            f"`{way}` led to {_said(to)}, leads to {_said(other[way])}"
            for way, to in one.items()
            if way in other and other[way] != to
        ),
    ]


def _only_more(before: StepDef, after: StepDef, names: Mapping[str, str]) -> bool:
    """Return whether all earlier outcomes and facts still exist with the same meaning."""
    one, other = _named(before, names), structure(after)
    ways = {way: names.get(to, to) if to else to for way, to in before.ways.items()}
    if any(way not in after.ways or after.ways[way] != to for way, to in ways.items()):
        return False
    if any(
        name not in other["reports"] or other["reports"][name] != arg for name, arg in one["reports"].items()
    ):
        return False
    if any(after.reports[name].required for name in other["reports"].keys() - one["reports"].keys()):
        return False
    parts = (*_COMPARED_BY_VALUE, *_other_parts())
    return all(one.get(part) == other.get(part) for part in parts if part != "reports")


def _by_shape(workflow: Workflow, steps: set[str], nameless: set[str]) -> dict[str, list[str]]:
    """Return *steps* by their structure, in which *nameless* steps count as equal."""
    found: dict[str, list[str]] = {}
    names = dict.fromkeys(nameless, "another")
    for step in workflow.steps:
        if step.id in steps:
            names[step.id] = "itself"
            found.setdefault(repr(_named(step, names)), []).append(step.id)
            names[step.id] = "another"
    return found


def _other_parts() -> list[str]:
    """Return the other keys of a step that decide where a session leads."""
    named = {"id", "next", *_COMPARED_BY_VALUE}
    return [name for name, declared in keys_of(StepDef).items() if declared.key.decides and name not in named]


def _texts(step: StepDef) -> dict[str, object]:
    return {name: value for name, value in to_plain(step).items() if name not in _BY_NAME}


def _said(value: object) -> str:
    if value is None:
        return "nothing"
    return "code" if isinstance(value, Mapping) else f"`{value}`"
