"""Find a short way from a session's step to an end, in memory, within a limit on what is tried."""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count

from flowrail.errors import FlowError
from flowrail.machines.definition import graph
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.exploration.actions import Act, acts, perform
from flowrail.machines.sessions.session import Session

MOST_LOOKED_AT = 600
"""After so many sessions the search gives up."""


def to_end(workflow: Workflow, session: Session, status: str | None = None) -> tuple[Act, ...] | None:
    """Return the acts that bring *session* to an end with that *status*; `None` if none were found."""
    found = way_out(workflow, session, status)
    return None if found is None else tuple(act for act, _ in found)


def way_out(
    workflow: Workflow,
    session: Session,
    status: str | None = None,
    call: Call = call_plainly,
    effort: Effort | None = None,
) -> list[tuple[Act, Session]] | None:
    """Return a short way to an end; steps that are closer to an end in the graph are tried first.

    Each try counts as *effort*; the search gives up at the limit.
    """
    far = _distances(workflow)
    effort = Effort(workflow) if effort is None else effort
    order = count()
    seen: set[object] = set()
    heap: list[tuple[int, int, Session, list[tuple[Act, Session]]]] = [(0, next(order), session, [])]
    while heap and len(seen) < MOST_LOOKED_AT and not effort.is_used_up:
        _, _, here, gone = heapq.heappop(heap)
        if not here.is_open:
            if status is None or here.status == status:
                return gone
            continue
        for act in acts(workflow, here):
            try:
                after = perform(workflow, here, act, call=call)
            except FlowError:
                effort.move(here)
                continue
            effort.move(after)
            mark = repr(
                (after.step, after.status, after.visits, after.state, after.questions, after.findings)
            )
            if mark not in seen:
                seen.add(mark)
                left = far.get(after.step, len(workflow.steps)) if after.step is not None else 0
                heapq.heappush(heap, (len(gone) + 1 + left, next(order), after, [*gone, (act, after)]))
    return None


def _distances(workflow: Workflow) -> dict[str | None, int]:
    """Return the distance from each step to the nearest end."""
    known: dict[str | None, int] | None = workflow.derived.get("distances")
    if known is not None:
        return known
    _, before, ends = graph.adjacency(graph.edges(workflow))
    far: dict[str | None, int] = dict.fromkeys(ends, 1)
    ahead = deque(ends)
    while ahead:
        step = ahead.popleft()
        for each in before.get(step, ()):
            if each not in far:
                far[each] = far[step] + 1
                ahead.append(each)
    workflow.derived["distances"] = far
    return far


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
