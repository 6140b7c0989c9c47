"""Convert records to plain data and back. cattrs does it; a value of another type is refused, not converted.

A wrong type, a missing key and an unknown key are reported with the path to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, is_typeddict

from cattrs import Converter, transform_error
from cattrs.cols import (
    is_namedtuple,
    list_structure_factory,
    mapping_structure_factory,
    namedtuple_dict_structure_factory,
)

from flowrail.text import limits
from flowrail.text.safe_text import shortened

T = TypeVar("T")
Hook = Callable[[Any, object], Any]

_PROBLEMS = 10
_LONGEST_PROBLEM = 200


class RecordError(ValueError):
    """Plain data has another form than the record should have; ``problems`` name the first places."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_plain(value: object) -> Any:
    """Return a record as plain data."""
    return _converter(detailed=False).unstructure(value)


def from_plain(data: object, kind: type[T]) -> T:
    """Return *data* as a record of *kind*; `RecordError` if it has another form."""
    try:
        return _converter(detailed=False).structure(data, kind)
    except Exception:  # noqa: BLE001 - any error of a hook means another form
        problems = _problems(data, kind)
    raise RecordError([shortened(problem, _LONGEST_PROBLEM) for problem in problems[:_PROBLEMS]])


def _problems(data: object, kind: type[object]) -> list[str]:
    try:
        _converter(detailed=True).structure(data, kind)
    except Exception as error:  # noqa: BLE001 - cattrs collects the errors of every hook
        return transform_error(error)
    raise AssertionError("only one of two converters refused a record")


@cache
def _converter(*, detailed: bool) -> Converter:
    """Return the converter. Hooks that collect every error take twice as long to generate, so few are made."""
    converter = Converter(forbid_extra_keys=True, detailed_validation=detailed)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _same_type)
    converter.register_structure_hook_factory(_is_mapping, _mapping)
    converter.register_structure_hook_factory(_is_tuple, _tuple)
    converter.register_structure_hook_factory(is_namedtuple, _named_tuple)
    converter.register_structure_hook_func(is_typeddict, _same_mapping)
    converter.register_unstructure_hook_func(is_namedtuple, lambda record: _fields(record, converter))
    return converter


def _fields(record: Any, converter: Converter) -> dict[str, object]:
    """Return the fields of a named tuple as plain data. A function generated for its class would take longer to make."""
    return {name: converter.unstructure(value) for name, value in zip(record._fields, record, strict=True)}


def _same_type(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _same_mapping(value: object, kind: object) -> object:
    """Return a mapping as it is: which keys it has depends on the kind of the record."""
    del kind
    if not isinstance(value, dict) or len(value) > limits.VALUES:
        raise TypeError(f"got {type(value).__name__}")
    return value


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) is Mapping


def _is_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple


def _mapping(kind: Any, converter: Converter) -> Hook:
    if get_args(kind)[1] is object:
        return _checked(dict, lambda: lambda value, _: value)
    return _checked(dict, lambda: mapping_structure_factory(kind, converter, structure_to=dict))


def _tuple(kind: Any, converter: Converter) -> Hook:
    structure = _checked((list, tuple), lambda: list_structure_factory(kind, converter))
    return lambda value, of: tuple(structure(value, of))


def _named_tuple(kind: Any, converter: Converter) -> Hook:
    return _checked(dict, lambda: namedtuple_dict_structure_factory(kind, converter, "from_converter", True))


def _checked(plain: type[Any] | tuple[type[Any], ...], make: Callable[[], Hook]) -> Hook:
    """Return a hook that takes a value of type *plain* only.

    *make* generates the hook of cattrs when the first value needs it: generating takes longer than
    structuring a record, and most parts of a session are empty.
    """
    generated = cache(make)

    def structure(value: object, kind: object) -> object:
        if not isinstance(value, plain) or len(value) > limits.VALUES:
            raise TypeError(f"got {type(value).__name__}")
        return generated()(value, kind) if value or is_namedtuple(kind) else value

    return structure
