"""The keys of a workflow: declared once, as annotations of the definition classes.

    limit: Annotated[int | None, Key("How often the step may be entered.")] = None

The schema, the reader of files and stored definitions, the fingerprint and the comparison of two versions
derive from these annotations. A new key needs its field and the code that uses it, nothing else.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import collections.abc
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from flowrail.machines.definition.frozen import FrozenObject

Scalar = str | int | float | bool
Value = Annotated[object, "value"]
"""A text, a number, true, false, or a list of them."""


Part = TypeVar("Part")
UNKNOWN_ARGUMENTS = "unknown_arguments"


class Key(NamedTuple):
    """What a key means, and how it is written.

    ``name`` is the key in a file if it differs from the field. ``file`` is a key of a workflow file that names a
    file with the same text. ``decides`` says whether a change can lead a run elsewhere: such keys are part of the
    fingerprint. ``rank`` is the position in the fingerprint of a nested part since the first format; new keys
    need none. ``in_file`` is false for keys that only Python and stored definitions have.
    ``schema`` adds to the JSON Schema of the key.
    """

    doc: str
    name: str = ""
    file: str = ""
    decides: bool = True
    rank: int = 0
    in_file: bool = True
    required: bool = False
    schema: Mapping[str, Any] = {}
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


def keeps_unknown_arguments(part: type[Part]) -> type[Part]:
    """Let a definition class keep arguments that it does not have, instead of raising `TypeError`.

    They are in ``unknown_arguments``, so that the validation lists a misspelt argument with everything else.
    """
    original: Any = part.__init__
    code = original.__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    @wraps(original)
    def init(self: Part, *args: object, **given: object) -> None:
        if given.keys() <= known:
            original(self, *args, **given)
            return
        unknown = {name: given.pop(name) for name in given.keys() - known}
        object.__setattr__(self, UNKNOWN_ARGUMENTS, unknown)
        original(self, *args, **given)

    setattr(part, "__init__", init)  # noqa: B010 - mypy refuses the assignment
    return part


class DefinitionPart(FrozenObject):
    """A class whose fields declare keys.

    Arguments that it does not have are kept in ``unknown_arguments`` instead of raising `TypeError`, so that the
    validation lists a misspelt argument with everything else.
    """

    def __init__(self, *args: object, **given: object) -> None:
        unknown = {name: given.pop(name) for name in given.keys() - set(self._arguments)}
        if unknown:
            object.__setattr__(self, UNKNOWN_ARGUMENTS, unknown)
        super().__init__(*args, **given)


_known: dict[type[object], Mapping[str, DeclaredKey]] = {}


def keys_of(part: type[object]) -> Mapping[str, DeclaredKey]:
    """Return the keys that the fields of *part* declare, by the name in a file."""
    if part not in _known:
        _known[part] = _keys_of(part)
    return _known[part]


def _keys_of(part: type[Any]) -> Mapping[str, DeclaredKey]:
    defaults: dict[str, object] = (
        {field.name: field.default for field in fields(part)} if is_dataclass(part) else dict(part.defaults)
    )
    declared: dict[str, DeclaredKey] = {}
    for field_name, hint in get_type_hints(part, include_extras=True).items():
        key = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Key)), None)
        if key is not None:
            name = key.name or field_name
            default = defaults.get(field_name, MISSING)
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
