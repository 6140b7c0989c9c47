"""The conventions of the classes that make up a workflow: frozen dataclasses, which pydantic reads from files.

    @dataclass(frozen=True)
    class StepDef(Definition):

        limit: Annotated[int, Bounds(ge=1)] | None = None
        \"\"\"How often the step may be entered.\"\"\"

The JSON Schema, the reader of files, the stored form and the fingerprint derive from the fields. A new key needs its
field and the code that uses it, nothing else. Constructors accept anything; the validation reports wrong values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")

TEXT = {"decides": False}
"""The metadata of a field that cannot lead a session to another step. It is not part of the fingerprint."""
FILLED = {"kind": "text"}
"""The metadata of a field with texts whose placeholders are filled."""
CONDITION = {"kind": "condition"}
"""The metadata of a field with an expression."""
INTERNAL = {"internal": True}
"""The metadata of a field that only flowrail needs; JSON leaves it out."""

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | Sequence[Scalar | None] | None
"""A text, a number, true, false, or a list of them."""


class NotInFiles:
    """Marks a field that only Python has: a file that contains it has an unknown key."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """Return a schema that refuses every value of a file."""
        from pydantic_core import core_schema  # only pydantic calls this

        refuse = core_schema.no_info_plain_validator_function(_refuse)
        return core_schema.json_or_python_schema(refuse, core_schema.any_schema())


def _refuse(_: object) -> NoReturn:
    raise ValueError("only Python has this key")


class Frozen(dict[K, V]):
    """A mapping that cannot be changed. As a ``dict``, it is JSON, and it can be pickled."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __deepcopy__(self, memo: object) -> Frozen[K, V]:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (dict(self),))


STRICT: Any = Frozen({"extra": "forbid", "strict": True, "revalidate_instances": "always"})
"""How pydantic reads a definition and its parts."""


@dataclass(frozen=True)
class Definition:
    """A part of a workflow as its author writes it. Lists become tuples, mappings read-only, at any depth.

    A field whose default is an empty list also takes a single text. A value of another type is kept as it is, so that
    the validation can report it.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value, default = getattr(self, field.name), field.default
            if value is None and isinstance(default, (tuple, Frozen)):
                value = default
            if value is not default:
                value = freeze_deep(freeze_items(value) if default == () else value)
            object.__setattr__(self, field.name, value)


def freeze_items(value: object) -> Any:
    """Return a text as a tuple of it, and any other sequence as a tuple; anything else as it is."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else value


def freeze_deep(value: object) -> Any:
    """Return plain data with its mappings read-only and its lists as tuples."""
    if isinstance(value, Mapping):
        return Frozen({key: freeze_deep(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(freeze_deep(item) for item in value)
    return value


def put(part: object, **values: object) -> None:
    """Set attributes of *part* while it is made."""
    for name, value in values.items():
        object.__setattr__(part, name, value)
