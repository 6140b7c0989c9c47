"""Compare two versions of a workflow step by step."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.plain_form import structure, to_plain
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow


def differences(old: Workflow, new: Workflow) -> Iterator[str]:
    """Yield what changed in each step of *old*, the steps that only *new* has, and changed guards and order rules."""
    for step in old.steps:
        after = new.get(step.id)
        if after is None:
            yield f"`{step.id}` is gone"
        else:
            yield from (f"`{step.id}`: {change}" for change in _changes(step, after))
    yield from (f"`{step.id}` is new" for step in new.steps if step.id not in old)
    yield from (
        f"`{key}` is different" for key in ("order", "guards") if getattr(old, key) != getattr(new, key)
    )


def same_structure(before: StepDef | None, after: StepDef) -> bool:
    """Return whether two versions of a step have the same transitions, reports, dispatches and questions."""
    return before is not None and structure(before) == structure(after)


def _changes(step: StepDef, after: StepDef) -> Iterator[str]:
    old, new = structure(step), structure(after)
    changed = [key for key in old if old[key] != new[key]]
    yield from (f"`{key}` is different" for key in changed)
    if not changed and to_plain(step) != to_plain(after):
        yield "its texts are different"
