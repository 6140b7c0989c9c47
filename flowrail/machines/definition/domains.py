"""Domains: sets of values small enough to try them all. Iterable, frozen, hashable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from flowrail.machines.definition.frozen import freeze_deep


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

    choices: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(freeze_deep(each) for each in self.choices))

    def __iter__(self) -> Iterator[object]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)


@dataclass(frozen=True)
class Constant:
    """One value and no other."""

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", freeze_deep(self.value))

    def __iter__(self) -> Iterator[object]:
        return iter((self.value,))

    def __len__(self) -> int:
        return 1


Domain: TypeAlias = BoundedInt | ChoiceSet | Constant
