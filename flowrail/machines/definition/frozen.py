"""A dict that cannot change: read like any mapping, hashable, printed as JSON like a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Frozen(dict[K, V]):
    """A mapping whose every way of changing raises.

    It stays a ``dict`` so that JSON, YAML and pattern matching take it as one; its hash needs
    hashable values and is worked out when asked for.
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> Frozen[K, V]:
        return self

    def __deepcopy__(self, memo: object) -> Frozen[K, V]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))


def freeze(mapping: Mapping[K, V] | None) -> Frozen[K, V]:
    """Return *mapping* as one that cannot change; the same object if it is one already.

    Anything that is not a mapping is returned as it is, for the validation to report.
    """
    if isinstance(mapping, Frozen):
        return mapping
    return Frozen(mapping or {}) if mapping is None or isinstance(mapping, Mapping) else mapping


def freeze_items(value: Any) -> Any:
    """Return a text as a tuple of it, and any other sequence as a tuple.

    Anything else is returned as it is, for the validation to report.
    """
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else value


def freeze_deep(value: object) -> Any:
    """Return plain data with its mappings read-only and its lists as tuples."""
    if isinstance(value, dict):
        return Frozen({key: freeze_deep(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(freeze_deep(item) for item in value)
    return value
