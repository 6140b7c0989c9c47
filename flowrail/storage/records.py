"""The door to cattrs: our own records to plain data and back, strictly.

Nothing is coerced and nothing is passed over: a wrong type, a missing key or one key too many is
refused with the path to it. The converter that finds the path is made only when one is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, get_origin

from cattrs import Converter, IterableValidationError, IterableValidationNote, transform_error
from cattrs.cols import (
    is_namedtuple,
    namedtuple_dict_structure_factory,
    namedtuple_dict_unstructure_factory,
)

T = TypeVar("T")

PLAIN = (str, int, float, bool, type(None))
MOST_NAMED = 10
"""So many items of one list, and keys of one mapping, are named: a stranger's record may have a million that are wrong."""
_LONGEST_KEY = 80


class RecordError(ValueError):
    """Plain data that is not the record it should be; ``problems`` name each place."""

    def __init__(self, what: str, problems: list[str]) -> None:
        super().__init__(f"{what}: {'; '.join(problems)}")
        self.problems = problems


def to_plain(value: Any) -> Any:
    """Return a record as plain data."""
    return _converter(detailed=False).unstructure(value)


def from_plain(data: Any, kind: type[T]) -> T:
    """Return the record of *kind* that *data* is; `RecordError` with every place where it is not."""
    try:
        return _converter(detailed=False).structure(data, kind)
    except Exception:  # noqa: BLE001 - whatever it was, the slow road names the places
        problems = _problems(data, kind)
    raise RecordError(f"no {kind.__name__.lower()}", problems) from None


def _problems(data: Any, kind: type[Any]) -> list[str]:
    try:
        _converter(detailed=True).structure(data, kind)
    except Exception as error:  # noqa: BLE001 - the same
        return transform_error(error, path="$", format_exception=_in_words)
    return ["does not fit"]  # pragma: no cover - both converters judge alike


def _in_words(error: BaseException, kind: type[Any] | None) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    extra = getattr(error, "extra_fields", None)
    if extra:
        names = [name[:_LONGEST_KEY] for name in sorted(map(str, extra))[:MOST_NAMED]]
        more = f" and {len(extra) - MOST_NAMED} more" if len(extra) > MOST_NAMED else ""
        return f"unknown {', '.join(names)}{more}"
    if isinstance(error, TypeError):
        return str(error)
    return f"is no {getattr(kind, '__name__', kind)}"


@lru_cache(maxsize=2)
def _converter(*, detailed: bool) -> Converter:
    converter = Converter(forbid_extra_keys=True, detailed_validation=detailed)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook_factory(_is_mapping, _mapping_of)
    converter.register_structure_hook_factory(_is_list, _list_of if detailed else _quick_list_of)
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
    converter.register_structure_hook(Any, lambda value, _: value)
    converter.register_structure_hook_factory(is_namedtuple, _structure_tuple)
    converter.register_unstructure_hook_factory(is_namedtuple, _unstructure_tuple)
    return converter


def _structure_tuple(kind: type[Any], converter: Converter) -> Callable[[Any, Any], Any]:
    """Take a named tuple from a mapping by its names, every one of them known."""
    structure = namedtuple_dict_structure_factory(kind, converter, "from_converter", True)

    def from_mapping(value: Any, of: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"is {_named(value)}, not a mapping")
        return structure(value, of)

    return from_mapping


def _unstructure_tuple(kind: type[Any], converter: Converter) -> Callable[[Any], Any]:
    """Turn a named tuple into a mapping of its fields."""
    return namedtuple_dict_unstructure_factory(kind, converter)


def _exactly(kind: type[T]) -> Callable[[Any, Any], T]:
    def structure(value: Any, _: Any) -> T:
        if type(value) is not kind:
            raise TypeError(f"is {_named(value)}, not {kind.__name__}")
        return value

    return structure


def _is_mapping(kind: Any) -> bool:
    return kind is Mapping or get_origin(kind) is Mapping


def _mapping_of(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    of = kind.__args__[1] if get_origin(kind) is Mapping else Any
    if is_namedtuple(of):
        return _mapping_of_records(of, converter)
    return _mapping_of_plain(of) if of in PLAIN else _mapping


def _mapping_of_records(of: type[Any], converter: Converter) -> Callable[[Any, Any], Any]:
    def structure(value: Any, kind: Any) -> Any:
        return {key: converter.structure(item, of) for key, item in _mapping(value, kind).items()}

    return structure


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple and kind.__args__[1:] == (...,)


def _list_of(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """Take a list item by item, and name the first that do not fit."""
    of = kind.__args__[0]
    structure = converter.get_structure_hook(of)

    def from_list(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"is {_named(value)}, not a list")
        wrong: list[Exception] = []
        found: list[Any] = []
        for index, item in enumerate(value):
            try:
                found.append(structure(item, of))
            except Exception as error:  # noqa: BLE001 - whatever it was, its place is named
                error.__notes__ = [IterableValidationNote("in a list", index, of)]
                wrong.append(error)
                if len(wrong) == MOST_NAMED:
                    break
        if wrong:
            raise IterableValidationError("in a list", wrong, kind)
        return tuple(found)

    return from_list


def _quick_list_of(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """Structure a list. How its items are structured is prepared when there is one: most lists are empty."""
    of = kind.__args__[0]

    def from_list(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"is {_named(value)}, not a list")
        if not value:
            return ()
        structure = converter.get_structure_hook(of)
        return tuple([structure(item, of) for item in value])

    return from_list


def _mapping(value: Any, _: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"is {_named(value)}, not a mapping")
    return value


def _mapping_of_plain(of: type[Any]) -> Callable[[Any, Any], Any]:
    def structure(value: Any, kind: Any) -> Any:
        for key, item in _mapping(value, kind).items():
            if type(item) is not of:
                raise TypeError(f"has {_named(item)} at {key[:_LONGEST_KEY]!r}, not {of.__name__}")
        return value

    return structure


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"is {_named(value)}, not a list of texts")
    return tuple(value)


def _named(value: Any) -> str:
    return "null" if value is None else type(value).__name__
