"""Convert records to plain data and back with cattrs. A value of another type is refused, not converted.

A wrong type, a missing key and an unknown key are reported with the path to them. The hooks below read the
annotations of a record: those of cattrs compile a function for each class, which took a tenth of `flow step`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

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

_PROBLEMS = 10
_LONGEST_PROBLEM = 200


class RecordError(ValueError):
    """Plain data has another form than the record should have; ``problems`` name the first places."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_plain(value: object) -> Any:
    """Return a record as plain data."""
    return _converter().unstructure(value)


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
    converter.register_structure_hook_func(is_namedtuple, _named_tuple)
    converter.register_structure_hook_func(is_typeddict, _same_mapping)
    converter.register_unstructure_hook(tuple, _plain_tuple)
    return converter


def _plain_tuple(value: Any) -> object:
    """Return a named tuple as a mapping of its fields, and any other tuple as a list."""
    items = [to_plain(item) for item in value]
    return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) is Mapping


def _is_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple


def _same_type(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _same_mapping(value: object, kind: object) -> Mapping[str, object]:
    """Return a mapping as it is. Which keys a `TypedDict` of ours has depends on the kind of the record."""
    del kind
    if not isinstance(value, dict) or len(value) > limits.VALUES:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _mapping(value: object, kind: Any) -> Mapping[str, object]:
    data, of = _same_mapping(value, kind), get_args(kind)[1]
    if of is object:
        return data
    made, errors = _parts(((key, of) for key in data), data, IterableValidationNote)
    if errors:
        raise IterableValidationError("", errors, kind)
    return made


def _tuple(value: object, kind: Any) -> tuple[object, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > limits.VALUES:
        raise TypeError(f"got {type(value).__name__}")
    of = get_args(kind)[0]
    made, errors = _parts(((index, of) for index in range(len(value))), value, IterableValidationNote)
    if errors:
        raise IterableValidationError("", errors, kind)
    return tuple(made.values())


def _named_tuple(value: object, kind: Any) -> object:
    data, hints = _same_mapping(value, kind), _hints(kind)
    given = ((name, of) for name, of in hints.items() if name in data or name not in kind._field_defaults)
    made, errors = _parts(given, data, AttributeValidationNote)
    unknown = data.keys() - hints.keys()
    if unknown:
        errors.append(ForbiddenExtraKeysError("", kind, unknown))
    if errors:
        raise ClassValidationError("", errors, kind)
    return kind(**made)


@cache
def _hints(kind: type[object]) -> Mapping[str, object]:
    return get_type_hints(kind)


def _parts(
    kinds: Iterable[tuple[Any, Any]], data: Any, note: type[AttributeValidationNote | IterableValidationNote]
) -> tuple[dict[Any, object], list[Exception]]:
    """Return the structured parts of *data* by key, and an error with a *note* for each other one."""
    structure = _converter().structure
    made, errors = {}, []
    for key, kind in kinds:
        try:
            made[key] = structure(data[key], kind)
        except Exception as error:  # noqa: BLE001 - any error of a hook means another form
            error.add_note(note("", key, kind))
            errors.append(error)
    return made, errors
