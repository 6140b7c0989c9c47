"""Convert records to plain data, and back with cattrs. A value of another type is refused, not converted.

A wrong type, a missing key and an unknown key are reported with the path to them. The hooks below read the
annotations of a record: those of cattrs compile a function for each class, which took a tenth of `flow step`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, get_origin, get_type_hints, is_typeddict

from cattrs import (
    AttributeValidationNote,
    BaseConverter,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
    transform_error,
)
from cattrs.cols import is_namedtuple

from flowrail.text import limits
from flowrail.text.safe_text import shortened

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Most fields hold one of these, and need no conversion."""
_PROBLEMS = 10
_LONGEST_PROBLEM = 200


class RecordError(ValueError):
    """Plain data does not have the form of the record. ``problems`` are the first differences, with their paths."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_plain(value: object) -> Any:
    """Return a record as plain data: a dataclass or a named tuple as a mapping of its fields, any other one as a list."""
    if isinstance(value, (tuple, list)):
        items = [item if type(item) in _PLAIN else to_plain(item) for item in value]
        return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items
    if is_dataclass(value):
        return {
            field.name: item if type(item := getattr(value, field.name)) in _PLAIN else to_plain(item)
            for field in fields(value)
        }
    if isinstance(value, (dict, Mapping)):
        return {to_plain(key): to_plain(item) for key, item in value.items()}
    return value.value if isinstance(value, Enum) else value


def from_plain(data: object, kind: type[T]) -> T:
    """Return *data* as a record of *kind*; `RecordError` if it has another form."""
    try:
        return _converter().structure(data, kind)
    except Exception as error:  # noqa: BLE001 - any error of a hook means another form
        problems = transform_error(error)
    raise RecordError([shortened(problem, _LONGEST_PROBLEM) for problem in problems[:_PROBLEMS]])


@cache
def _converter() -> BaseConverter:
    converter = BaseConverter()
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _same_type)
    converter.register_structure_hook_func(_is_mapping, _mapping)
    converter.register_structure_hook_func(_is_tuple, _tuple)
    converter.register_structure_hook_func(is_namedtuple, _object)
    converter.register_structure_hook_func(is_dataclass, _object)
    converter.register_structure_hook_func(is_typeddict, _same_mapping)
    return converter


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) is Mapping


def _is_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple


def _same_type(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _same_mapping(value: object, kind: object) -> Mapping[str, object]:
    """Return a mapping as it is. The keys of our `TypedDict` classes depend on the kind of the record."""
    del kind
    if not isinstance(value, dict) or len(value) > limits.VALUES:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _mapping(value: object, kind: Any) -> Mapping[str, object]:
    data, item_kind = _same_mapping(value, kind), kind.__args__[1]
    if not data or item_kind in (object, Any):
        return data
    structured, errors = _parts(dict.fromkeys(data, _part(item_kind)), data, IterableValidationNote)
    if errors:
        raise IterableValidationError("", errors, kind)
    return structured


def _tuple(value: object, kind: Any) -> tuple[object, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > limits.VALUES:
        raise TypeError(f"got {type(value).__name__}")
    if not value:
        return ()
    parts = dict.fromkeys(range(len(value)), _part(kind.__args__[0]))
    structured, errors = _parts(parts, value, IterableValidationNote)
    if errors:
        raise IterableValidationError("", errors, kind)
    return tuple(structured.values())


def _object(value: object, kind: Any) -> object:
    data, parts = _same_mapping(value, kind), _fields(kind)
    unknown = data.keys() - parts.keys()
    if len(data) - len(unknown) < len(parts):
        parts = {name: part for name, part in parts.items() if name in data or name not in _optional(kind)}
    structured, errors = _parts(parts, data, AttributeValidationNote)
    if unknown:
        errors.append(ForbiddenExtraKeysError("", kind, unknown))
    if errors:
        raise ClassValidationError("", errors, kind)
    return kind(**structured)


_Part: TypeAlias = tuple[Any, Callable[[object, Any], object]]
"""The type of a value in a record, and the function that structures it: looking that up takes longer than its call."""


def _part(kind: Any) -> _Part:
    return kind, _converter().get_structure_hook(kind)


@cache
def _fields(kind: type[object]) -> Mapping[str, _Part]:
    return {name: _part(hint) for name, hint in get_type_hints(kind).items()}


@cache
def _optional(kind: Any) -> frozenset[str]:
    """Return the names of the fields of *kind* that have a default."""
    if is_dataclass(kind):
        return frozenset(field.name for field in fields(kind) if field.default is not MISSING)
    return frozenset(kind._field_defaults)


def _parts(
    parts: Mapping[Any, _Part], data: Any, note: type[AttributeValidationNote | IterableValidationNote]
) -> tuple[dict[Any, object], list[Exception]]:
    """Return the structured parts of *data* by key, and an error with a *note* for each of the others."""
    structured, errors = {}, []
    for key, (kind, structure) in parts.items():
        try:
            value = data[key]
            structured[key] = value if type(value) is kind else structure(value, kind)
        except Exception as error:  # noqa: BLE001 - any error of a hook means another form
            error.add_note(note("", key, kind))
            errors.append(error)
    return structured, errors
