"""How many of the agents that work side by side must succeed before their step may be reported."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST = 200
"""How many pieces of work a step hands out at most."""
_JOIN = re.compile(r"(?:all|any|at least (?P<least>[1-9][0-9]{0,2}))\Z")


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


def needed_by(join: str, total: int) -> int:
    """Return how many must succeed; `ValueError` where *join* says nothing that is known."""
    found = _JOIN.match(join)
    if found is None:
        raise ValueError(f"`{join}` is no join; write all, any or at least N")
    if join == "all":
        return total
    return int(found.group("least") or 1)
