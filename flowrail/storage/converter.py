"""Convert records to plain data, and back with cattrs. A value of another type is refused, not converted.

A wrong type, a missing key and an unknown key are reported with the path to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from cattrs import Converter, transform_error
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from cattrs.preconf.json import make_converter

from flowrail.text.safe_text import shortened

T = TypeVar("T")

_PROBLEMS = 10
_LONGEST_PROBLEM = 200


class RecordError(ValueError):
    """Plain data does not have the form of the record. ``problems`` are the first differences, with their paths."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_plain(value: object) -> Any:
    """Return a record as plain data: a record as a mapping of its fields, a tuple as a list."""
    return _converter(lists_problems=False).unstructure(value)


def from_plain(data: object, kind: type[T]) -> T:
    """Return *data* as a record of *kind*; `RecordError` if it has another form."""
    try:
        return _converter(lists_problems=False).structure(data, kind)
    except Exception:  # noqa: BLE001 - any error of a hook means another form
        problems = _problems(data, kind)
    raise RecordError([shortened(problem, _LONGEST_PROBLEM) for problem in problems[:_PROBLEMS]])


def _problems(data: object, kind: type[object]) -> list[str]:
    """Return every difference of *data* from the form of *kind*. To list them all, a converter needs three times the code."""
    try:
        _converter(lists_problems=True).structure(data, kind)
    except Exception as error:  # noqa: BLE001 - any error of a hook means another form
        return transform_error(error)
    return []


@cache
def _converter(*, lists_problems: bool) -> Converter:
    return strict_converter(lists_problems=lists_problems)


def strict_converter(*, lists_problems: bool = False) -> Converter:
    """Return a new converter of dataclasses to JSON and back, which refuses a value of another type.

    It stops at the first problem unless it *lists_problems*.
    """
    converter = make_converter(
        detailed_validation=lists_problems,
        forbid_extra_keys=True,
        unstruct_collection_overrides={tuple: list},
    )
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _same_type)
    converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    converter.register_structure_hook_factory(is_dataclass, _reader)
    converter.register_unstructure_hook_factory(is_dataclass, _writer)
    converter.register_unstructure_hook_func(
        lambda kind: isinstance(kind, type) and issubclass(kind, Enum), lambda member: member.value
    )
    return converter


def _reader(kind: type[Any], converter: Converter) -> Callable[..., Any]:
    return at_first_use(lambda: make_dict_structure_fn(kind, converter))


def _writer(kind: type[Any], converter: Converter) -> Callable[..., Any]:
    return at_first_use(lambda: make_dict_unstructure_fn(kind, converter))


def at_first_use(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a hook that is made when it is first called: most records hold few of the classes that they could hold."""
    made = cache(make)

    def hook(*values: Any) -> Any:
        return made()(*values)

    return hook


def _same_type(value: object, kind: type[T]) -> T:
    if issubclass(kind, Enum):
        return kind(value)
    if type(value) is not kind:
        raise TypeError(f"got {type(value).__name__}")
    return value
