"""Fingerprints: whether a workflow that changed under a running session is still the same machine.

A fingerprint is a digest of the keys that decide where a run leads; texts do not count. Two are enough to judge a
change: that of the whole graph, and that of the current step with its transitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from inspect import Parameter
from typing import Any

from flowrail.machines.definition.keys import is_default, keys_of
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.storage.digests import sha256

LENGTH = 16
_ALWAYS: Mapping[str, object] = {
    "when": None,
    "limit": None,
    "reports": {},
    "rules": [],
    "handler": None,
    "next": {},
}
"""Keys of a step that are part of its fingerprint although they have their default, since the first format."""


def step_fingerprint(workflow: Workflow, step_id: str | None) -> str:
    """Return the fingerprint of one step and its transitions; empty for the end."""
    return "" if step_id is None else _all(workflow)[step_id]


def workflow_fingerprint(workflow: Workflow) -> str:
    """Return the fingerprint of the whole graph."""
    return _all(workflow)[""]


def _all(workflow: Workflow) -> dict[str, str]:
    known: dict[str, str] | None = workflow.derived.get("prints")
    if known is None:
        known = {step.id: _digest(structure(step)) for step in workflow.steps}
        params = {name: _form(arg) for name, arg in workflow.params.items()}
        known[""] = _digest([workflow.entry_point, params, list(known.items())])
        workflow.derived["prints"] = known
    return known


def structure(step: StepDef) -> dict[str, Any]:
    """Return the keys of *step* that decide where it leads, as plain data."""
    return {**_ALWAYS, **_deciding(step.as_written())}


def _deciding(part: object) -> dict[str, object]:
    """Return the deciding keys of a part that do not have their default."""
    return {
        name: _form(value)
        for name, declared in keys_of(type(part)).items()
        if declared.key.decides
        and not is_default(declared, value := getattr(part, declared.field))
        and value is not Parameter.empty
    }


def _form(value: object) -> object:
    """Return *value* in the form whose digest is taken: a nested part is the list of its ranked keys."""
    if callable(value) and value is not Parameter.empty:
        return {"function": True}
    if isinstance(value, Arg):
        return _deciding(value.as_written())
    if is_dataclass(value):
        keys = keys_of(type(value)).values()
        ranked = sorted((each for each in keys if each.key.rank), key=lambda each: each.key.rank)
        others = {
            name: form for name, form in _deciding(value).items() if not keys_of(type(value))[name].key.rank
        }
        return [*(_form(getattr(value, each.field)) for each in ranked), *([others] if others else [])]
    if isinstance(value, Mapping):
        return {str(name): _form(item) for name, item in value.items()}
    return [_form(item) for item in value] if isinstance(value, (list, tuple)) else value


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()[:LENGTH]
