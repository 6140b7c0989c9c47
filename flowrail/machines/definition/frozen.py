"""Values that cannot change: a mapping, and the base of the classes that make up a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from inspect import Parameter, Signature
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

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

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (dict(self),))


class _SignatureOfFields:
    """The signature of a class, made when it is asked for. Any field may be without a default."""

    def __get__(self, instance: object, owner: type[FrozenObject]) -> Signature:
        parameters = [
            Parameter(
                each.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if each.default is MISSING else each.default,
                annotation=each.type,
            )
            for each in fields(owner)  # type: ignore[arg-type]
            if each.init
        ]
        return Signature(parameters, __validate_parameters__=False)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class FrozenObject:
    """A frozen dataclass whose methods are inherited.

    `@dataclass(frozen=True)` compiles six functions for each class, which took a tenth of `flow step`.
    `fields`, `replace` and `is_dataclass` of `dataclasses` work with these classes. Defaults must be immutable.
    """

    __signature__: ClassVar[_SignatureOfFields] = _SignatureOfFields()
    _arguments: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[Mapping[str, object]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)
        declared = fields(cls)  # type: ignore[arg-type]
        if any(each.default_factory is not MISSING for each in declared):
            raise TypeError(
                f"a field of {cls.__name__} has a `default_factory`; give an immutable default instead"
            )
        cls._arguments = tuple(each.name for each in declared if each.init)
        cls._defaults = {each.name: each.default for each in declared}

    def __init__(self, *args: object, **given: object) -> None:
        if len(args) > len(self._arguments):
            raise TypeError(f"{type(self).__name__} takes {len(self._arguments)} arguments, not {len(args)}")
        values = dict(zip(self._arguments, args, strict=False))
        for name, value in given.items():
            if name in values or name not in self._arguments:
                problem = "twice" if name in values else "but unknown"
                raise TypeError(f"{type(self).__name__}: argument `{name}` is given {problem}")
            values[name] = value
        values = {**self._defaults, **values}
        missing = [name for name, value in values.items() if value is MISSING]
        if missing:
            raise TypeError(f"{type(self).__name__} needs the argument `{missing[0]}`")
        self.__dict__.update(values)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Convert the arguments."""

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} cannot be changed: `{name}`")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} cannot be changed: `{name}`")

    def __repr__(self) -> str:
        shown = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr]  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        return tuple(getattr(self, field.name) for field in fields(self) if field.compare)  # type: ignore[arg-type]


def freeze(mapping: Mapping[K, V] | None) -> Frozen[K, V]:
    """Return *mapping* as one that cannot change; the same object if it is one already.

    Anything that is not a mapping is returned as it is, for the validation to report.
    """
    if isinstance(mapping, Frozen):
        return mapping
    return Frozen(mapping or {}) if mapping is None or isinstance(mapping, Mapping) else mapping


def freeze_items(value: object) -> object:
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
