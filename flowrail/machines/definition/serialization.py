"""A workflow as plain data and back: what files contain and what a session stores.

Functions cannot be stored. Where one decides, the step is marked with `code`; `from_plain` puts a function there
that refuses to be called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from inspect import Parameter
from typing import Any, NoReturn

from flowrail.machines.definition.parts import is_default, keys_of
from flowrail.machines.definition.reader import CODE, DECIDING, Reader
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.markup import Markup, parts

LARGEST_CACHED = 1_000_000
"""A definition with more characters as JSON is not kept in memory."""


def to_plain(part: object, *, sparse: bool = True) -> Any:
    """Return a definition, or a part of one, as plain data.

    Without *sparse* also the keys that have their default. Functions are left out.
    """
    if isinstance(part, Workflow) or is_dataclass(part):
        return _part_to_plain(part, sparse=sparse)
    if isinstance(part, str):
        return _text_to_plain(part)
    if isinstance(part, Mapping):
        return {str(name): to_plain(value, sparse=sparse) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [to_plain(item, sparse=sparse) for item in part if not _has_code(item)]
    return part


def _text_to_plain(text: str) -> object:
    pieces = [{"markup": str(piece)} if isinstance(piece, Markup) else str(piece) for piece in parts(text)]
    return {"parts": pieces} if len(pieces) > 1 else pieces[0] if pieces else ""


def _part_to_plain(part: object, *, sparse: bool) -> dict[str, object]:
    code = [name for name in DECIDING if callable(getattr(part, name))] if isinstance(part, StepDef) else []
    written = part.as_written() if hasattr(part, "as_written") else part
    plain: dict[str, object] = {}
    for name, declared in keys_of(type(part)).items():
        value = getattr(written, declared.field)
        if (
            value is not Parameter.empty
            and not callable(value)
            and not (sparse and is_default(declared, value))
        ):
            plain[name] = to_plain(value, sparse=sparse)
    if code:
        plain[CODE] = code
    return plain


def _has_code(item: object) -> bool:
    return (
        not isinstance(item, StepDef)
        and is_dataclass(item)
        and any(callable(getattr(item, declared.field)) for declared in keys_of(type(item)).values())
    )


def has_functions(workflow: Workflow) -> bool:
    """Return whether *workflow* contains functions, which plain data cannot hold."""
    return any(
        callable(part)
        for step in workflow.steps
        for part in (
            step.title,
            step.actions,
            step.handler,
            step.when,
            *(variant.when for variant in step.variants),
        )
    )


def from_plain(data: Mapping[str, object]) -> Workflow:
    """Return the workflow that `to_plain` made *data* from. It was validated before it was stored.

    TypeError if *data* is not a workflow: it may come from a cloned repository. Equal data give the same
    workflow object, so that its machine is compiled once.
    """
    text = json.dumps(data, default=_refuse)
    return _cached(text) if len(text) <= LARGEST_CACHED else _from_plain(data)


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} is not plain data")


@lru_cache(maxsize=4)
def _cached(text: str) -> Workflow:
    return _from_plain(json.loads(text))


def _from_plain(data: Mapping[str, object]) -> Workflow:
    if not isinstance(data, Mapping):
        raise TypeError("the workflow is not a mapping")
    reader = Reader(is_stored=True)
    workflow: Workflow = reader.part(data, Workflow, ())
    if reader.problems:
        path, what, *_ = reader.problems[0]
        raise TypeError(f"`{'.'.join(str(part)[:60] for part in path)}` {what}")
    for step in workflow.steps:
        if any(target is not None and target not in workflow for target in step.next.values()):
            raise TypeError(f"`next` of step `{step.id[:60]}` leads to an unknown step")
    workflow.derived["checked"] = True
    return workflow
