"""Find a short path from a session's step to an end, in memory and with limited effort."""

from __future__ import annotations

import heapq
from collections import deque
from functools import lru_cache
from itertools import count

from flowrail.errors import FlowError
from flowrail.machines import graph
from flowrail.machines.session import Session
from flowrail.machines.walks.actions import Act, acts, perform
from flowrail.machines.workflow import Workflow

MOST_SESSIONS = 600
"""The search gives up after this many sessions."""
EFFORT = 1_500_000
"""For a workflow of a few steps, 20,000 moves: a hundred times what the bundled workflows need."""
MOVE = 75
"""The cost of a move, without the values that the session holds after it."""


class Effort:
    """The time and memory that are left to try one workflow."""

    def __init__(self) -> None:
        self.left = EFFORT

    def spend(self, session: Session) -> None:
        """Count a start, or a move that led to *session*."""
        self.left -= MOVE + len(session.visits) + len(session.state) + len(session.params)

    @property
    def is_used_up(self) -> bool:
        """Whether the limit is reached."""
        return self.left <= 0


def to_end(
    workflow: Workflow,
    session: Session,
    status: str | None = None,
    *,
    effort: Effort | None = None,
) -> list[tuple[Act, Session]] | None:
    """Return the acts that bring *session* to an end with that *status*, each with the session after it.

    Steps that are closer to an end in the graph are tried first. Returns `None` if no path was found.
    """
    distances = _distances(workflow)
    effort = effort or Effort()
    order = count()
    seen: set[str] = set()
    heap: list[tuple[int, int, Session, list[tuple[Act, Session]]]] = [(0, next(order), session, [])]
    while heap and len(seen) < MOST_SESSIONS and not effort.is_used_up:
        _, _, current, path = heapq.heappop(heap)
        if not current.is_open:
            if status in {None, current.status}:
                return path
            continue
        for act in acts(workflow, current):
            try:
                after = perform(workflow, current, act)
            except FlowError:
                effort.spend(current)
                continue
            effort.spend(after)
            mark = repr(
                (after.step, after.status, after.visits, after.state, after.questions, after.findings)
            )
            if mark not in seen:
                seen.add(mark)
                left = 0 if after.step is None else distances.get(after.step, len(workflow.steps))
                heapq.heappush(heap, (len(path) + 1 + left, next(order), after, [*path, (act, after)]))
    return None


@lru_cache(maxsize=64)
def _distances(workflow: Workflow) -> dict[str | None, int]:
    """Return the distance from each step to the nearest end."""
    _, before, ends = graph.adjacency(graph.edges(workflow))
    distances: dict[str | None, int] = dict.fromkeys(ends, 1)
    waiting = deque(ends)
    while waiting:
        step = waiting.popleft()
        for source in before.get(step, ()):
            if source not in distances:
                distances[source] = distances[step] + 1
                waiting.append(source)
    return distances
