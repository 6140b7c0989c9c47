"""The limit on what is tried in memory to plan the walks through a workflow, independent of its size.

Counted and not measured, so that one workflow has the same walks on every machine. A move counts one; what
the session then holds and, where it ends, what a new machine is made of count in parts, as they cost.
"""

from __future__ import annotations

from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.session import Session

MOST = 20_000
"""A hundred times what the bundled workflow with the most ways needs."""
_HELD, _WAYS = 500, 5
"""So many values or visits of a session, and ways of a workflow, cost as much as a move."""


class Effort:
    """The effort spent on one workflow."""

    def __init__(self, workflow: Workflow) -> None:
        self.left = MOST
        self._machine = sum(len(step.ways) for step in workflow.steps) // _WAYS

    def begin(self, session: Session) -> None:
        """Count a start, which needs a new machine."""
        self.left -= 1 + held_by(session) // _HELD + self._machine

    def move(self, after: Session) -> None:
        """Count a move that led to *after*. A machine that has ended cannot be used again, so a new one is made."""
        self.left -= 1 + held_by(after) // _HELD + (0 if after.is_open else self._machine)

    @property
    def is_used_up(self) -> bool:
        """Whether the limit is reached."""
        return self.left <= 0


def held_by(session: Session) -> int:
    """Return the number of attempts and values in a session."""
    return len(session.visits) + len(session.state) + len(session.params)
