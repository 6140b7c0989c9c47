"""The values of a parameter or fact, if they are few enough to try all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flowrail.machines.frozen import freeze_deep, put
from flowrail.machines.values import Arg

LARGEST_DOMAIN = 1_000


@dataclass(frozen=True)
class BoundedInt:
    """All whole numbers from ``lo`` to ``hi``, both included."""

    lo: int
    hi: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lo, self.hi + 1))

    def __len__(self) -> int:
        return max(0, self.hi - self.lo + 1)


@dataclass(frozen=True)
class ChoiceSet:
    """The choices, in the order in which they were declared."""

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        put(self, choices=freeze_deep(tuple(self.choices)))

    def __iter__(self) -> Iterator[object]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)


@dataclass(frozen=True)
class Constant:
    """Exactly one value."""

    value: Any

    def __post_init__(self) -> None:
        put(self, value=freeze_deep(self.value))

    def __iter__(self) -> Iterator[object]:
        return iter((self.value,))

    def __len__(self) -> int:
        return 1


Domain: TypeAlias = BoundedInt | ChoiceSet | Constant


def domain_of(arg: Arg) -> Domain | None:
    """Return all values, or one that is valid if there are too many; `None` if none is known."""
    if arg.choices is not None and arg.kind != "list":
        return ChoiceSet(tuple(arg.choices))
    if arg.kind == "boolean":
        return ChoiceSet((False, True))
    low, high = arg.min, arg.max
    if (
        arg.kind == "integer"
        and isinstance(low, int)
        and isinstance(high, int)
        and high - low < LARGEST_DOMAIN
    ):
        return BoundedInt(low, high)
    if arg.example is None and arg.has_default:
        return Constant(arg.default)
    is_known = arg.example is not None or arg.kind == "list" or {low, high} != {None}
    return Constant(arg.sample()) if is_known else None
