"""Compare two versions of a workflow step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from flowrail.machines.plain_form import structure, to_plain
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow

_SHOWN = ("when", "limit")
"""Keys whose values a difference shows."""


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
    if old == new:
        if to_plain(step) != to_plain(after):
            yield "its texts are different"
        return
    yield from _transition_changes(step.transitions, after.transitions)
    deciding = [field.name for field in fields(StepDef) if field.metadata.get("decides", True)]
    for key in deciding:
        if key not in {"id", "next"} and old.get(key) != new.get(key):
            is_shown = key in _SHOWN
            yield f"`{key}` {f'was {_shown(old.get(key))}, is {_shown(new.get(key))}' if is_shown else 'is different'}"


def _transition_changes(old: Mapping[Any, str | None], new: Mapping[Any, str | None]) -> Iterator[str]:
    yield from (f"`{outcome}` is gone" for outcome in old if outcome not in new)
    yield from (
        f"`{outcome}` is new, to {_shown(target)}" for outcome, target in new.items() if outcome not in old
    )
    for outcome, target in old.items():
        if outcome in new and new[outcome] != target:
            yield f"`{outcome}` led to {_shown(target)}, leads to {_shown(new[outcome])}"


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return "code" if isinstance(value, Mapping) else f"`{value}`"
