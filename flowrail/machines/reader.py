"""Read plain data into a `Workflow` with pydantic, list everything that has the wrong form, and give its JSON Schema.

A value of the wrong form is left out, so that the rest of the workflow can be validated in the same run. Only code
that reads a file imports this module, because pydantic takes as long as a step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, PydanticOmit

from flowrail.machines.findings import Path, UnplacedFinding, name_of
from flowrail.machines.frozen import STRICT
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import did_you_mean
from flowrail.text.validation import in_words

MOST_PROBLEMS = 5_000
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
_UNKNOWN = {"unexpected_keyword_argument", "value_error"}
_NEED_QUOTES = (bool, int, float)
"""A value of these types would be a text in quotes."""
_REMOVED = object()


@dataclass(frozen=True)
class ReadWorkflow:
    """A workflow as far as its data could be read, and what is wrong with the rest."""

    workflow: Workflow
    problems: list[UnplacedFinding]
    """Values of the wrong form."""
    unread: frozenset[int]
    """The positions of the steps that could not be read. Another step is in the place of each."""


def read_workflow(data: Mapping[str, Any]) -> ReadWorkflow:
    """Return the workflow that *data* describes, which must have a name."""
    left: dict[str, Any] = deepcopy(dict(data))
    problems: dict[Path, UnplacedFinding] = {}
    removed: set[Path] = set()
    while True:
        text = json.dumps(left, ensure_ascii=False).encode("utf-8", "replace")
        try:
            workflow = _adapter().validate_json(text)
        except ValidationError as error:
            found = _errors(error, left)
        else:
            unread = frozenset(int(path[1]) for path in removed if path[:1] == ("steps",) and len(path) == 2)  # noqa: PLR2004
            return ReadWorkflow(workflow, [*problems.values()][:MOST_PROBLEMS], unread)
        for path, errors in found.items():
            is_missing = errors[0]["type"] == "missing"
            if not (is_missing and path in removed):
                problems.setdefault(path, _problem(path, errors, data))
            _remove(left, path[:-1] if is_missing else path, removed)


def type_findings(workflow: Workflow) -> list[UnplacedFinding]:
    """Return the values of the wrong type in a workflow that was made in Python."""
    try:
        _adapter().validate_python(workflow)
    except ValidationError as error:
        found = _errors(error, workflow).items()
        wrong = [(path, errors) for path, errors in found if errors[0]["type"] not in _UNKNOWN]  # aliases
        return [_problem(path, errors, workflow) for path, errors in wrong[:MOST_PROBLEMS]]
    return []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a workflow file."""
    parts = _adapter(docstrings=True).json_schema(schema_generator=_FileSchema)["$defs"]
    workflow = parts.pop("Workflow")
    return {"$schema": SCHEMA_ID, "$defs": parts, **workflow, "title": "flowrail workflow"}


@cache
def _adapter(*, docstrings: bool = False) -> TypeAdapter[Any]:
    """Return the reader of a workflow. Its schema describes the keys if it reads *docstrings*, which takes as long again."""
    config: Any = {**STRICT, "use_attribute_docstrings": docstrings}
    return TypeAdapter(Workflow | None, config=config)  # of a class alone, pydantic takes no configuration


class _FileSchema(GenerateJsonSchema):
    """The schema of a file, which contains no functions."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as in pydantic

    def json_or_python_schema(self, schema: Any) -> Any:
        if schema["json_schema"]["type"] == "function-plain":  # of `NotInFiles`
            raise PydanticOmit
        return super().json_or_python_schema(schema)

    def callable_schema(self, schema: object) -> NoReturn:  # noqa: ARG002 - as in pydantic
        raise PydanticOmit

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - as in pydantic
        return False


def _errors(error: ValidationError, data: object) -> dict[Path, list[ErrorDetails]]:
    """Return errors by their path in *data*. The members of a union are together."""
    errors: dict[Path, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        if details["input"] is not Parameter.empty:  # the default of an `Arg` without a default
            errors.setdefault(_path(details, data), []).append(details)
    return errors


def _path(details: ErrorDetails, data: object) -> Path:
    """Return the path of an error without the names of the members of a union."""
    path: list[str | int] = []
    for part in details["loc"]:
        inner = _at(data, part)
        if inner is _REMOVED:
            if details["type"] == "missing":
                path.append(part)
            break
        path.append(part)
        data = inner
    return tuple(path)


def _at(data: object, part: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(part, _REMOVED)
    if isinstance(data, (list, tuple)):
        return data[part] if isinstance(part, int) and part < len(data) else _REMOVED
    return getattr(data, _field_name(data, str(part)), _REMOVED) if is_dataclass(data) else _REMOVED


def _field_name(part: Any, key: str) -> str:
    return next((field.name for field in fields(part) if field.metadata.get("alias") == key), key)


def _remove(data: Any, path: Path, removed: set[Path]) -> None:
    """Remove what *path* leads to: a key, or a list with an item that is wrong. A step is replaced."""
    while isinstance(path[-1], int) and path[:-1] != ("steps",):
        path = path[:-1]
    removed.add(path)
    for part in path[:-1]:
        data = _at(data, part)
    if isinstance(data, list):
        step = {"id": f"unread-{path[-1]}", "title": "Unread", "actions": ["Unread."], "next": {"ok": None}}
        data[int(path[-1])] = step
    elif isinstance(data, dict):  # not removed with another problem
        data.pop(path[-1], None)


def _problem(path: Path, errors: list[ErrorDetails], data: object) -> UnplacedFinding:
    """Return what is wrong with the value at *path*."""
    value, kinds = errors[0]["input"], {error["type"] for error in errors}
    is_file, place = isinstance(data, Mapping), path
    words = [in_words(error) for error in errors if not (is_file and error["type"] == "callable_type")]
    message = " or ".join(dict.fromkeys(words)).replace(" or must be", " or")
    remedy = message.replace("must be", "write")
    if "missing" in kinds:
        place, remedy = path[:-1], "add it"
    elif kinds & _UNKNOWN:
        message = "is an unknown key"
        remedy = _remedy_of_unknown(path)
    elif "literal_error" in kinds and isinstance(value, str):
        remedy = did_you_mean(value, re.findall("`([^`]*)`", message), remedy)
    elif "string_type" in kinds and isinstance(value, _NEED_QUOTES):
        remedy += ", in quotes"
    return UnplacedFinding("FR130", place, f"{_name(path, data)} {message}", remedy)


def _remedy_of_unknown(path: Path) -> str:
    """Return what to do about an unknown key: it belongs elsewhere, or a key of its own part is meant."""
    schema, key = _file_schema(), path[-1]
    if key in schema["$defs"]["StepDef"]["properties"]:
        return "move it into a step, where it belongs"
    if key in schema["properties"]:
        return "move it to the top of the file, where it belongs"
    parts = [schema]
    for word in path[:-1]:
        inner = (
            part.get("properties", {}).get(word, part.get("items", part.get("additionalProperties")))
            for part in parts
        )
        parts = [member for part in inner if isinstance(part, dict) for member in _members(part)]
    known = {key: None for part in parts for key in part.get("properties", ())}
    return did_you_mean(str(key), known, "remove it")


def _members(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that one part of the schema refers to, or itself."""
    if "$ref" in part:
        yield _file_schema()["$defs"][part["$ref"].rpartition("/")[2]]
    for member in part.get("anyOf", ()):
        yield from _members(member)
    yield part


@cache
def _file_schema() -> dict[str, Any]:
    return json_schema()


def _name(path: Path, data: object) -> str:
    """Return a path in words, such as `reports.size` of step `look`."""
    if path[:1] != ("steps",) or len(path) == 1:
        return name_of(path, None)
    step = _at(_at(data, "steps"), path[1])
    step_id = step.id if isinstance(step, StepDef) else _at(step, "id")
    return name_of(path[2:], step_id) if isinstance(step_id, str) else name_of(path, None)
