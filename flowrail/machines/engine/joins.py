"""How many of the agents that work side by side must succeed before their step may be reported."""

from __future__ import annotations

from typing import NamedTuple


class Join(NamedTuple):
    """How far a step's dispatches are: how many must succeed, have succeeded, can still."""

    needed: int
    succeeded: int
    open: tuple[str, ...]
    total: int

    @property
    def met(self) -> bool:
        """Whether enough have succeeded."""
        return self.succeeded >= self.needed

    @property
    def hopeless(self) -> bool:
        """Whether too few are left to meet it."""
        return not self.met and self.succeeded + len(self.open) < self.needed
