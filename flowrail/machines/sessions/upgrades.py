"""Upgrade sessions and definitions of earlier formats: one pure function for each format.

Most changes only add a key, which needs no new format. A table holds, for each earlier format, the function
that turns it into the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowrail.errors import StorageError
from flowrail.machines.sessions.session import DEFINITION_FORMAT, FORMAT

Upgrade = Callable[[dict[str, object]], dict[str, object]]


def _with_typed_parts(session: dict[str, Any]) -> dict[str, object]:
    """Upgrade format 1, which held mappings instead of records, and empty ones instead of null."""
    last, received, host = session.get("last"), session.get("received"), session.get("host")
    if last:
        names = {"passed": "skipped", "said": "answers"}
        last = {names.get(name, name): value for name, value in last.items()}
    if received:
        names = {"from": "source", "arrived": "origin"}
        received = {names.get(name, name): value for name, value in received.items()}
    names = {"graph": "workflow_fingerprint", "here": "step_fingerprint"}
    return {
        **{names.get(name, name): value for name, value in session.items()},
        "format": 2,
        "last": last,
        "parent": session.get("parent") or None,
        "received": received or None,
        "host": host or None,
    }


SESSIONS: dict[int, Upgrade] = {1: _with_typed_parts}
"""For each earlier format of a session, the function that turns it into the next one."""


def _with_named_rules_and_variants(data: dict[str, object]) -> dict[str, object]:
    """Return a stored definition in which rules and variants are mappings, as in a workflow file."""
    workflow = data.get("workflow")
    steps = workflow.get("steps") if isinstance(workflow, dict) else None
    if not isinstance(workflow, dict) or not isinstance(steps, list):
        return data
    return {**data, "workflow": {**workflow, "steps": [_step_with_names(step) for step in steps]}}


def _step_with_names(step: object) -> object:
    if not isinstance(step, dict):
        return step
    named = dict(step)
    for key, names in (("rules", ("outcome", "if")), ("variants", ("when", "actions"))):
        if isinstance(step.get(key), list):
            named[key] = [
                dict(zip(names, item, strict=False)) if isinstance(item, list) else item for item in step[key]
            ]
    return named


DEFINITIONS: dict[int, Upgrade] = {1: _with_named_rules_and_variants}
"""For each earlier format of a stored definition, the function that turns it into the next one."""


class NewerFormatError(StorageError):
    """A later version of flowrail wrote it."""

    code = "NEWER_FORMAT"


def session_of_today(data: dict[str, Any]) -> dict[str, object]:
    """Return a session as it was written, in the newest format."""
    return upgraded(data, SESSIONS, FORMAT, "session")


def definition_of_today(data: dict[str, object]) -> dict[str, object]:
    """Return what a session keeps of its workflow, in the newest format."""
    return upgraded(data, DEFINITIONS, DEFINITION_FORMAT, "definition")


def upgraded(data: dict[str, Any], table: Mapping[int, Upgrade], newest: int, what: str) -> dict[str, object]:
    """Return *data* in format *newest*; data without a format is of the first."""
    number = data.get("format", 1)
    if type(number) is not int or not 1 <= number <= newest:
        shown = str(number)[:20] if isinstance(number, (int, float, str)) else type(number).__name__
        raise NewerFormatError(
            f"the {what} is of format {shown}; {newest} is the newest known here",
            hint="use the version of flowrail that wrote it, or a later one",
            format=number if type(number) is int else shown,
        )
    while number < newest:
        data = table[number](data)
        number += 1
    return data
