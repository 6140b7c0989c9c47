"""The base of the classes that make up a workflow: they are frozen, and their keys are declared once.

    limit: Annotated[int | None, Key("How often the step may be entered.")] = None

The schema, the reader of files and stored definitions, the fingerprint and the comparison of two versions
derive from these annotations. A new key needs its field and the code that uses it, nothing else.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import collections.abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

K = TypeVar("K")
V = TypeVar("V")


class Frozen(dict[K, V]):
    """A mapping that cannot be changed.

    It stays a ``dict`` so that JSON, YAML and pattern matching take it as one; its hash needs
    hashable values and is computed on demand.
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> "Frozen[K, V]":
        return self

    def __deepcopy__(self, memo: object) -> "Frozen[K, V]":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (dict(self),))


class _SignatureOfFields:
    """The signature of a class, computed on demand. A field without a default may follow one with a default."""

    def __get__(self, instance: object, owner: "type[FrozenObject]") -> Signature:
        if "__init__" in vars(owner):
            written = Signature.from_callable(owner.__init__)
            return written.replace(parameters=[*written.parameters.values()][1:])
        parameters = [
            Parameter(
                field.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=field.type,
            )
            for field in fields(owner)  # type: ignore[arg-type]
            if field.init
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
    _compared_fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)
        declared = fields(cls)  # type: ignore[arg-type]
        cls._arguments = tuple(field.name for field in declared if field.init)
        cls._defaults = {field.name: field.default for field in declared}
        cls._compared_fields = tuple(field.name for field in declared if field.compare)

    def __init__(self, *args: object, **kwargs: object) -> None:
        values = dict(zip(self._arguments, args, strict=False))
        wrong = [name for name in kwargs if name in values or name not in self._arguments]
        if wrong or len(args) > len(self._arguments):
            problem = f"an unknown or second `{wrong[0]}`" if wrong else f"{len(args)} arguments"
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._arguments)}, not {problem}")
        values = {**self._defaults, **values, **kwargs}
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
        if type(self) is not type(other):
            return NotImplemented
        return self is other or self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self._compared_fields)


def freeze(mapping: Mapping[K, V] | None) -> "Frozen[K, V]":
    """Return *mapping* as a `Frozen`; the same object if it already is a `Frozen`.

    Anything else is returned as it is; the validation reports it.
    """
    if isinstance(mapping, Frozen):
        return mapping
    return Frozen(mapping or {}) if mapping is None or isinstance(mapping, Mapping) else mapping


def freeze_items(value: object) -> object:
    """Return a text as a tuple of it, and any other sequence as a tuple.

    Anything else is returned as it is; the validation reports it.
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


Scalar = str | int | float | bool
Value = Annotated[object, "value"]
"""A text, a number, true, false, or a list of them."""


UNKNOWN_ARGUMENTS = "unknown_arguments"


class Key(NamedTuple):
    """The meaning of a key, and its form in a file.

    ``name`` is the key in a file if it differs from the field. ``file`` is a key of a workflow file that names a
    file with the same text. ``decides`` says whether a change can lead a session to another step: such keys are part of
    the fingerprint. ``rank`` is the position in the fingerprint of a nested part since the first format; new keys
    need none. ``in_file`` is false for keys that only Python and stored definitions have.
    ``schema`` adds to the JSON Schema of the key. Its `enum`, `minimum`, `exclusiveMinimum` and `maximum` are
    enforced: another value is the finding ``code``.
    """

    doc: str
    name: str = ""
    file: str = ""
    decides: bool = True
    rank: int = 0
    in_file: bool = True
    required: bool = False
    schema: Mapping[str, Any] = {}
    code: str = "FR130"
    is_name: bool = False
    """Findings quote the value: back quotes in it are replaced."""


class Shape(NamedTuple):
    """The values that a key takes.

    ``kind`` is text, integer, number, boolean, scalar, value, list, mapping, part or union.
    ``of`` holds the shape of the items of a list or mapping, or the members of a union.
    """

    kind: str
    of: "tuple[Shape, ...]" = ()
    part: type[Any] | None = None
    nullable: bool = False
    code: bool = False
    """Whether Python may give a function instead."""


class DeclaredKey(NamedTuple):
    """A field of a definition class with its key."""

    field: str
    name: str
    key: Key
    shape: Shape
    default: Any
    """The default of the field; `MISSING` if the key must be given."""


class DefinitionPart(FrozenObject):
    """A class whose fields declare keys.

    Unknown arguments are stored in ``unknown_arguments`` instead of raising `TypeError`, so that the validation
    lists a misspelt argument with all other findings.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        unknown = {name: kwargs.pop(name) for name in kwargs.keys() - set(self._arguments)}
        if unknown:
            object.__setattr__(self, UNKNOWN_ARGUMENTS, unknown)
        super().__init__(*args, **kwargs)


_known: dict[type[object], Mapping[str, DeclaredKey]] = {}


def keys_of(part: type[Any]) -> Mapping[str, DeclaredKey]:
    """Return the keys that the fields of *part* declare, by the name in a file."""
    if part not in _known:
        _known[part] = _keys_of(part)
    return _known[part]


def _keys_of(part: type[Any]) -> Mapping[str, DeclaredKey]:
    defaults = {field.name: field.default for field in fields(part)}
    declared: dict[str, DeclaredKey] = {}
    for field_name, hint in part.__annotations__.items():
        key = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Key)), None)
        if key is not None:
            name = key.name or field_name
            default = defaults[field_name]
            declared[name] = DeclaredKey(field_name, name, key, _shape(hint), default)
    return declared


_PLAIN = {bool: "boolean", str: "text", int: "integer", float: "number"}


def _shape(hint: Any) -> Shape:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Shape("value", nullable=True) if "value" in hint.__metadata__ else _shape(args[0])
    if origin in {Union, UnionType}:
        return _union(args)
    if isinstance(hint, type) and is_dataclass(hint):
        return Shape("part", part=hint)
    if origin is not None and issubclass(origin, Mapping):
        return Shape("mapping", (_shape(args[1]),))
    if origin is not None and issubclass(origin, Sequence):
        return Shape("list", (_shape(args[0]),))
    if hint is object:
        return Shape("value", nullable=True)
    return Shape(next(kind for plain, kind in _PLAIN.items() if issubclass(hint, plain)))


def _union(members: Sequence[object]) -> Shape:
    nullable = NoneType in members
    code = any(_is_code(member) for member in members)
    rest = [member for member in members if member is not NoneType and not _is_code(member)]
    if set(rest) == {str, int, float, bool}:
        return Shape("scalar", nullable=nullable, code=code)
    if set(rest) == {int, float}:
        return Shape("number", nullable=nullable, code=code)
    shapes = tuple(_shape(member) for member in rest)
    if len(shapes) == 1:
        nullable = nullable or shapes[0].nullable
        return shapes[0]._replace(nullable=nullable, code=code)
    return Shape("union", shapes, nullable=nullable, code=code)


def _is_code(member: object) -> bool:
    return get_origin(member) is collections.abc.Callable


def is_default(declared: DeclaredKey, value: object) -> bool:
    """Return whether *value* is the default of a key, so that it need not be written."""
    if declared.default is MISSING or declared.default is Parameter.empty or value is Parameter.empty:
        return value is declared.default
    if isinstance(value, bool) != isinstance(declared.default, bool):
        return False
    return bool(value == declared.default)
