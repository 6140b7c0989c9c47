"""One run as an immutable value: where it stands, what is known, what the last report did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.definition.frozen import Frozen

FORMAT = 1
"""The format of a session on disk. It is only ever added to."""

ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED = "active", "waiting", "completed", "failed", "abandoned"
STATUSES = (ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED)
OPEN = frozenset({ACTIVE, WAITING})
ENDED = frozenset(STATUSES) - OPEN


class Report(NamedTuple):
    """What was reported of a step: an outcome, or ``done`` where the step decides, and facts."""

    outcome: str
    facts: Mapping[str, Any] = Frozen()


class Move(NamedTuple):
    """One step taken: what was reported where, what it came to, and where it led.

    ``to`` is `None` where the run ended. ``passed`` are steps that did not apply, ``capped``
    says that the limit turned an `iterate` into the way of `ok`. ``said`` is what the user answered
    in that step, each as id, question, answer and reason.
    """

    step: str
    reported: str
    outcome: str
    to: str | None
    facts: Mapping[str, Any] = Frozen()
    passed: tuple[str, ...] = ()
    capped: bool = False
    at: str = ""
    said: tuple[Mapping[str, Any], ...] = ()

    @staticmethod
    def left_out_if_default() -> tuple[str, ...]:
        """Return the fields that are not written where they say nothing; see `_codec`."""
        return ("said",)


class Session(NamedTuple):
    """A run of a workflow.

    ``revision`` counts moves from 0. ``params`` are fixed at the start; ``state`` holds facts
    reported and values that handlers returned; ``visits`` how often each step was entered.
    ``graph`` and ``here`` are fingerprints of the workflow and of the current step's ways on,
    by which a change of the definition is judged.

    ``dispatches`` and ``questions`` are those of the current step, ``findings`` those of all reviews,
    as `dispatching`, `asking` and `reviewing` read them. ``entered`` tells at which revision a review
    was last entered, ``decided`` at which one a gate last decided, ``grants`` what the user allowed
    beyond a limit, ``parent`` whose work this is, ``received`` the handoff that it takes over.

    ``host`` tells which conversation of the agent's host goes on with it, as `hosted` reads it; a session
    that nobody of a host moved has none, and is written without.
    """

    id: str
    skill: str
    step: str | None
    source: str = "library"
    status: str = ACTIVE
    revision: int = 0
    params: Mapping[str, Any] = Frozen()
    state: Mapping[str, Any] = Frozen()
    visits: Mapping[str, int] = Frozen()
    started_at: str = ""
    moved_at: str = ""
    last: Move | None = None
    graph: str = ""
    here: str = ""
    format: int = FORMAT
    entered: Mapping[str, int] = Frozen()
    grants: Mapping[str, Any] = Frozen()
    dispatches: tuple[Mapping[str, Any], ...] = ()
    questions: tuple[Mapping[str, Any], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    parent: Mapping[str, Any] = Frozen()
    decided: Mapping[str, int] = Frozen()
    received: Mapping[str, Any] = Frozen()
    host: Mapping[str, Any] = Frozen()

    @staticmethod
    def left_out_if_default() -> tuple[str, ...]:
        """Return the fields that are not written where they say nothing; see `_codec`."""
        return ("host",)

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self.status in OPEN

    def allowed(self, step: str, bound: int) -> int:
        """Return how often *step* may be entered, the rounds that the user granted included."""
        return bound + int((self.grants.get(step) or {}).get("rounds", 0))

    @property
    def visit(self) -> int:
        """How often the current step has been entered, this time included."""
        return self.visits.get(self.step, 0) if self.step is not None else 0
