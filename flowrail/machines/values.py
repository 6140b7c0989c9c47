"""Declared parameters and reported facts: the values that they accept."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from flowrail.machines.frozen import TEXT, Definition, Scalar, Value, freeze_deep, freeze_items, put
from flowrail.text import json as strict_json
from flowrail.text.phrases import count
from flowrail.text.safe_text import in_quotes
from flowrail.text.validation import Bounds

Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "list"]


BOOLEANS = {
    **dict.fromkeys(("true", "yes", "1", "on"), True),
    **dict.fromkeys(("false", "no", "0", "off"), False),
}
"""What words mean."""
NO_DEFAULT: Any = inspect.Parameter.empty
"""The default of an `Arg` without a default. `None` is a value."""
LARGEST_LEAST = 10_000
"""The largest minimum length. Examples and trials generate texts and lists of the minimum length."""
MOST_NAMED = 40
"""Choices that the message about an invalid value lists."""


@dataclass(frozen=True)
class Arg(Definition):
    """A parameter or fact: its meaning and the values that it accepts.

    Without a ``type``, the type follows from the choices, the default or the bounds; otherwise it
    is text. ``min`` and ``max`` bound numbers, ``min_length`` and ``max_length`` texts and lists.
    """

    description: str = field(default="", metadata=TEXT)
    """The meaning, shown with the value."""
    default: Value = NO_DEFAULT
    """The value if none is given."""
    min: int | float | None = None
    """The smallest number."""
    max: int | float | None = None
    """The largest number."""
    choices: Sequence[Scalar] | None = None
    """The only values it takes. For a list, the only items, each at most once."""
    required: bool = False
    """Whether a value must be given. A text must not be empty then, unless `min_length` is 0."""
    type: Kind | None = None
    """The type of the value. By default, the type of the choices or the default."""
    example: Value = field(default=None, metadata=TEXT)
    """A valid value, shown where one is needed."""
    min_length: Annotated[int, Bounds(ge=0)] | None = None
    """The shortest text or list."""
    max_length: Annotated[int, Bounds(ge=0)] | None = None
    """The longest text or list."""
    source: str | None = field(default=None, metadata={"alias": "from"})
    """For a fact: the COMMAND.FACT of the step whose output it is taken from."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.choices, str):  # a text is reported as a mistake
            put(self, choices=freeze_deep(freeze_items(self.choices)))

    @cached_property
    def kind(self) -> Kind:
        """The type, or the one that follows from the other fields."""
        return self.type or self._guess_kind()

    def _guess_kind(self) -> Kind:
        values = [*self.choices] if isinstance(self.choices, tuple) else []
        if self.has_default and self.default is not None:
            values.append(self.default)
        for value in values:
            return kind_of(value)
        if self.min is not None or self.max is not None:
            whole = all(isinstance(bound, int) for bound in (self.min, self.max) if bound is not None)
            return "integer" if whole else "number"
        return "string"

    @property
    def has_default(self) -> bool:
        """Whether there is a default."""
        return self.default is not NO_DEFAULT

    def as_written(self) -> Arg:
        """Return the same with an explicit type."""
        return self if self.type else replace(self, type=self.kind)

    def read(self, text: str) -> object:
        """Return the value that *text* from a command line means.

        Raises `ValueError` with a message that continues a sentence after the parameter's name.
        """
        value = _KINDS[self.kind].read(text)
        problem = self.problem(value)
        if problem:
            raise ValueError(problem)
        return value

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*, or `None`. Values are not converted."""
        if self.choices is not None and is_kind(self.kind, value):
            items = value if isinstance(value, (list, tuple)) else (value,)
            for number, item in enumerate(items):
                if not self._is_choice(item):
                    named = ", ".join(_short(choice) for choice in self.choices[:MOST_NAMED])
                    more = len(self.choices) - MOST_NAMED
                    return (
                        f"takes one of {named}{f' and {more} more' if more > 0 else ''}, not {_short(item)}"
                    )
                if any(same(item, earlier) for earlier in items[:number]):
                    return f"has {_short(item)} twice"
        return misfit(self, value)

    def _is_choice(self, value: object) -> bool:
        if isinstance(value, _SCALAR):
            return (isinstance(value, bool), value) in self._scalars
        return any(same(value, choice) for choice in self.choices or ())

    @cached_property
    def _scalars(self) -> frozenset[tuple[bool, object]]:
        return frozenset(
            (isinstance(choice, bool), choice) for choice in self.choices or () if isinstance(choice, _SCALAR)
        )

    def sample(self) -> object:
        """Return one accepted value: the example, the default, or a simple one."""
        for value in (self.example, self.default if self.has_default else None, *(self.choices or ())):
            if value is not None and self.problem(value) is None:
                return value
        if self.kind == "boolean":
            return True
        if self.kind in {"integer", "number"}:
            return self.min if self.min is not None else (self.max if self.max is not None else 1)
        if self.kind == "string":
            return "x" * least_of(self)
        return [*self.choices][: least_of(self)] if self.choices else ["x"] * least_of(self)


def misfit(arg: Arg, value: Any) -> str | None:
    """Return why *arg* does not accept *value*, choices aside, or `None`."""
    if not is_kind(arg.kind, value):
        return f"takes {_KINDS[arg.kind].words}, not {_short(value)}"
    odd = None if isinstance(value, str) else strict_json.problem(value)
    if odd is not None:
        return odd
    if arg.kind in {"integer", "number"}:
        if arg.min is not None and value < arg.min:
            return f"is at least {arg.min}, not {_short(value)}"
        if arg.max is not None and value > arg.max:
            return f"is at most {arg.max}, not {_short(value)}"
    if arg.kind in {"string", "list"}:
        unit = "character" if arg.kind == "string" else "item"
        is_required_text = (
            arg.kind == "string" and arg.required and (arg.choices, arg.min_length) == (None, None)
        )
        if is_required_text and not value.strip():
            return "is empty"
        if arg.min_length is not None and len(value) < arg.min_length:
            return f"must have at least {count(arg.min_length, unit)}, not {len(value)}"
        if arg.max_length is not None and len(value) > arg.max_length:
            return f"must have at most {count(arg.max_length, unit)}, not {len(value)}"
    return None


def range_text(arg: Arg) -> str:
    """Return the bounds of *arg* in words, such as `0 to 10` or `at least 4 characters`; empty if it has none."""
    units = {"string": "character", "list": "item"}
    unit = units.get(arg.kind, "")
    least, most = (arg.min_length or None, arg.max_length) if unit else (arg.min, arg.max)
    if least is not None and most is not None:
        return f"{least} to {most}{f' {unit}s' if unit else ''}"
    bounds = [("at least", least), ("at most", most)]
    return "".join(
        f"{word} {count(int(bound), unit) if unit else bound}" for word, bound in bounds if bound is not None
    )


def least_of(arg: Arg) -> int:
    """Return the length of a generated text or list for *arg*: its minimum, but not more than `LARGEST_LEAST`."""
    return min(max(1, arg.min_length or 1), LARGEST_LEAST) if arg.max_length != 0 else 0


def is_kind(kind: Kind, value: object) -> bool:
    """Return whether *value* is of that kind; true and false are not numbers."""
    return isinstance(value, _KINDS[kind].types) and isinstance(value, bool) == (kind == "boolean")


def kind_of(value: object) -> Kind:
    """Return the kind of *value*."""
    return next((kind for kind in _KINDS if is_kind(kind, value)), "string")


def kind_of_type(annotation: object) -> Kind | None:
    """Return the kind of the values of a type; `None` if it has none."""
    return next((kind for kind, row in _KINDS.items() if annotation in row.types), None)


def same(left: object, right: object) -> bool:
    """Return whether two plain values are equal; true is not 1 here."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _read_number(text: str) -> object:
    """Return the number that *text* means, otherwise the text, which is then refused."""
    for convert in (int, float):
        with suppress(ValueError):
            number = convert(text)
            return number if math.isfinite(number) else text
    return text


def _read_list(text: str) -> list[object]:
    stripped = text.strip()
    if not stripped.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        raise ValueError(f'takes a list as JSON, such as \'["a", "b"]\', not {_short(text)}') from None
    return list(value)


class _Row(NamedTuple):
    """One kind of values."""

    words: str
    types: tuple[type, ...]
    read: Callable[[str], object]
    """Returns the value that a text means; the text itself if it means none."""


_KINDS: Mapping[Kind, _Row] = {
    "boolean": _Row("true or false", (bool,), lambda text: BOOLEANS.get(text.lower(), text)),
    "integer": _Row("a whole number", (int,), _read_number),
    "number": _Row("a number", (int, float), _read_number),
    "list": _Row("a list", (list, tuple), _read_list),
    "string": _Row("text", (str,), str),
}
_SCALAR = (str, int, float, bool, type(None))


def _short(value: object, longest: int = 60) -> str:
    text = f"`{in_quotes(value)}`" if isinstance(value, str) else repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
