"""Convert records to plain data and back. A value of another type is refused, not converted.

A record is a `NamedTuple` whose fields are plain values, other records, tuples and mappings of them. Its
annotations are the only description of its form. A wrong type, a missing key and an unknown key are reported
with the path to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from flowrail.text import limits
from flowrail.text.safe_text import shortened

T = TypeVar("T")
Problems = list[str]
Reader = Callable[[object, str, Problems], Any]
"""From plain data, the path to it, and a list for its problems, to a value of one type."""

_SCALARS = (str, int, float, bool, type(None))
_MOST_PROBLEMS = 10
_LONGEST_PROBLEM = 200


class RecordError(ValueError):
    """Plain data has another form than the record should have; ``problems`` name the first places."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_plain(value: object) -> Any:
    """Return a record as plain data."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_plain(item) for name, item in zip(value._fields, value, strict=True)}
    return [to_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def from_plain(data: object, kind: type[T]) -> T:
    """Return *data* as a record of *kind*; `RecordError` if it has another form."""
    problems: Problems = []
    record_type: Any = kind
    record: T = _reader(record_type)(data, "$", problems)
    if problems:
        raise RecordError([shortened(problem, _LONGEST_PROBLEM) for problem in problems[:_MOST_PROBLEMS]])
    return record


@cache
def _reader(kind: Any) -> Reader:
    """Return the reader of values of *kind*. Readers of a record's fields are made when one is read."""
    if kind in {Any, object}:
        return lambda value, _path, _problems: value
    if kind in _SCALARS:
        return _scalar_reader(kind)
    if hasattr(kind, "_fields"):
        return _record_reader(kind)
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return _tuple_reader(_reader(arguments[0]))
    if get_origin(kind) is Mapping:
        return _mapping_reader(_reader(arguments[1]), plain=arguments[1] is Any)
    if type(None) in arguments:
        (other,) = (argument for argument in arguments if argument is not type(None))
        return _optional_reader(_reader(other))
    raise TypeError(f"a record cannot have a value of {kind}")


def _scalar_reader(kind: type[Any]) -> Reader:
    def read(value: object, path: str, problems: Problems) -> object:
        if type(value) is not kind:
            problems.append(_unexpected(value, kind.__name__, path))
        return value

    return read


def _optional_reader(reader: Reader) -> Reader:
    return lambda value, path, problems: None if value is None else reader(value, path, problems)


def _tuple_reader(reader: Reader) -> Reader:
    def read(value: object, path: str, problems: Problems) -> object:
        if not isinstance(value, (list, tuple)) or len(value) > limits.VALUES:
            problems.append(_unexpected(value, "tuple", path))
            return ()
        return tuple([reader(item, f"{path}[{index}]", problems) for index, item in enumerate(value)])

    return read


def _mapping_reader(reader: Reader, *, plain: bool) -> Reader:
    def read(value: object, path: str, problems: Problems) -> object:
        if not isinstance(value, dict) or len(value) > limits.VALUES:
            problems.append(_unexpected(value, "Mapping", path))
            return {}
        if plain:
            return value
        return {key: reader(item, f"{path}[{key!r}]", problems) for key, item in value.items()}

    return read


def _record_reader(kind: Any) -> Reader:
    @cache
    def fields() -> list[tuple[str, Reader]]:
        return [(name, _reader(of)) for name, of in get_type_hints(kind).items()]

    def read(value: object, path: str, problems: Problems) -> object:
        if not isinstance(value, dict) or len(value) > limits.VALUES:
            problems.append(_unexpected(value, kind.__name__, path))
            return None
        found = {}
        for name, reader in fields():
            if name in value:
                found[name] = reader(value[name], f"{path}.{name}", problems)
            elif name not in kind._field_defaults:
                problems.append(f"required field missing @ {path}.{name}")
        if len(found) < len(value) and (unknown := sorted(map(str, value.keys() - found.keys()))):
            problems.append(f"extra fields found ({', '.join(unknown)}) @ {path}")
        return None if problems else kind(**found)

    return read


def _unexpected(value: object, expected: str, path: str) -> str:
    return f"invalid type (got {type(value).__name__}), expected {expected} @ {path}"
