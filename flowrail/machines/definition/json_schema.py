"""The JSON Schema of a workflow file, derived from the classes that declare the keys, such as `StepDef` in `step`."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from typing import Any

from flowrail.machines.definition.parts import DeclaredKey, Shape, keys_of
from flowrail.machines.definition.workflow import Workflow, to_plain

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
_SCALAR = {"type": ["string", "number", "boolean"]}
_TYPES = {"text": "string", "integer": "integer", "number": "number", "boolean": "boolean"}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a workflow file."""
    parts: dict[str, object] = {}
    whole = _object(Workflow, parts)
    parts.pop(Workflow.__name__, None)
    return {"$schema": SCHEMA_ID, "title": "flowrail workflow", **whole, "$defs": dict(sorted(parts.items()))}


def _object(part: type[object], parts: dict[str, object]) -> dict[str, object]:
    properties: dict[str, object] = {}
    for name, declared in keys_of(part).items():
        if declared.key.in_file:
            properties[name] = _property(declared, parts)
            if declared.key.file:
                properties[declared.key.file] = _file(declared)
    required = [
        name
        for name, declared in keys_of(part).items()
        if declared.key.in_file and (declared.default is MISSING or declared.key.required)
    ]
    return {
        "type": "object",
        "description": " ".join(inspect.cleandoc(part.__doc__ or "").split("\n\n", maxsplit=1)[0].split()),
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _property(declared: DeclaredKey, parts: dict[str, object]) -> dict[str, object]:
    default = declared.default
    has_default = default not in (MISSING, inspect.Parameter.empty, None, "", (), {})
    return {
        **_of(declared.shape, parts),
        "description": declared.key.doc,
        **({"default": to_plain(default)} if has_default else {}),
        **declared.key.schema,
    }


def _file(declared: DeclaredKey) -> dict[str, object]:
    if declared.key.file == declared.name:
        return {"type": "string", "description": declared.key.doc}
    return {
        "type": "string",
        "description": f"The file that contains `{declared.name}`, such as steps/look.md.",
    }


def _of(shape: Shape, parts: dict[str, object]) -> dict[str, object]:
    schema = _plain(shape, parts)
    if not shape.nullable or shape.kind == "value":
        return schema
    if "type" in schema and isinstance(schema["type"], str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _plain(shape: Shape, parts: dict[str, object]) -> dict[str, object]:
    if shape.kind == "part" and shape.part is not None:
        name = shape.part.__name__
        if name not in parts:
            parts[name] = {}
            parts[name] = _object(shape.part, parts)
        return {"$ref": f"#/$defs/{name}"}
    if shape.kind == "list":
        return {"type": "array", "items": _of(shape.of[0], parts)}
    if shape.kind == "mapping":
        return {"type": "object", "additionalProperties": _of(shape.of[0], parts)}
    if shape.kind == "union":
        return {"anyOf": [_of(member, parts) for member in shape.of]}
    if shape.kind == "scalar":
        return dict(_SCALAR)
    if shape.kind == "value":
        return {"anyOf": [{"type": [*_SCALAR["type"], "null"]}, {"type": "array", "items": dict(_SCALAR)}]}
    return {"type": _TYPES[shape.kind]}
