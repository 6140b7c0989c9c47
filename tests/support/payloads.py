"""Payloads of handoffs: examples of each version, changed examples, and their problems."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flowrail.handoff.errors import PayloadProblem
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.check import CheckRules, check_payload
from flowrail.handoff.payload.document import Payload, read, read_file
from flowrail.text import yaml as yaml_text

PAYLOADS = Path(__file__).parents[1] / "handoff" / "payloads"
FILES = {"1.0": "v1.yaml", "2.0": "v2.yaml", "3.0": "v3.json"}
NOW = datetime(2026, 2, 4, 19, 40, tzinfo=UTC)
"""Ten minutes after the examples were made."""


def example(version: str) -> dict[str, Any]:
    """Return the example of a version as plain data with a correct hash."""
    handoff = dict(read_file(str(PAYLOADS / FILES[version])).handoff)
    return integrity.sealed(version, handoff) if version in {"2.0", "3.0"} else handoff


def document(handoff: Mapping[str, Any], form: str = "json") -> Payload:
    """Return *handoff* as a payload that was read."""
    return read(rendered(handoff, form), source=f"payload.{form}")


def rendered(handoff: Mapping[str, Any], form: str) -> bytes:
    """Return *handoff* as a document in YAML or JSON."""
    whole = {"handoff": handoff}
    return (yaml_text.dump(whole) if form == "yaml" else json.dumps(whole, ensure_ascii=False)).encode()


def problems(handoff: Mapping[str, Any], *, sealed: bool = True, **asked: Any) -> list[PayloadProblem]:
    """Return the problems of *handoff*, by default after renewing its hash."""
    version = str(handoff.get("version", ""))
    if sealed and version in {"2.0", "3.0"} and isinstance(handoff.get("meta", {}), dict):
        handoff = integrity.sealed(version, handoff)
    return list(check_payload(document(handoff), CheckRules(**{"now": NOW, **asked})).findings)


def errors(handoff: Mapping[str, Any], **asked: Any) -> list[str]:
    """Return the messages of the errors among the problems."""
    return [str(each) for each in problems(handoff, **asked) if each.severity == "error"]


def without(handoff: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return *handoff* without the value at a dotted *path*."""
    return _changed(handoff, path, lambda inner, key: inner.pop(key))


def with_(handoff: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return *handoff* with *value* at a dotted *path*, which may contain indices."""

    def put(inner: Any, key: Any) -> None:
        inner[key] = value

    return _changed(handoff, path, put)


def _changed(handoff: Mapping[str, Any], path: str, change: Any) -> dict[str, Any]:
    new: Any = copy.deepcopy(dict(handoff))
    inner, (*parents, last) = new, path.split(".")
    for name in parents:
        inner = inner[int(name) if name.isdigit() else name]
    change(inner, int(last) if last.isdigit() else last)
    return dict(new)


def leaves(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Yield every field of a JSON Schema: path below `handoff`, own schema, whether required."""
    shapes = schema["$defs"]

    def walk(name: str, path: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
        shape = shapes[name]
        for key, field in shape["properties"].items():
            here = f"{path}.{key}".removeprefix(".")
            yield here, field, key in shape.get("required", ())
            for each in [field, *field.get("anyOf", ())]:
                if "$ref" in each:
                    yield from walk(each["$ref"].rpartition("/")[2], here)
                if "$ref" in each.get("items", {}):
                    yield from walk(each["items"]["$ref"].rpartition("/")[2], f"{here}.0")

    yield from walk(schema["properties"]["handoff"]["$ref"].rpartition("/")[2], "")
