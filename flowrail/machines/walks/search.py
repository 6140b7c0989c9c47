"""Search the sessions that can follow from a step, in memory, with the real machine and with limited effort."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from flowrail.errors import FlowError
from flowrail.machines import graph
from flowrail.machines.frozen import Frozen
from flowrail.machines.session import Session
from flowrail.machines.transition_table import TransitionKey, followed_transitions
from flowrail.machines.walks.actions import Act, acts, perform
from flowrail.machines.workflow import Workflow

MOST_SESSIONS = 600
"""A search for an end gives up after this many sessions."""
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


@dataclass(frozen=True, eq=False)
class Node:
    """A session that the search has reached, and how."""

    session: Session | None
    """`None` if the act was refused."""
    before: Node | None = None
    act: Act | None = None
    """What was done in the session before."""
    transitions: tuple[TransitionKey, ...] = ()
    """The transitions that the act took."""
    error: str | None = None
    """The code of the refusal."""
    depth: int = 0
    """The number of acts."""
    params: Mapping[str, object] = Frozen()
    """At a start: the parameters that are given."""

    def path(self) -> list[Node]:
        """Return the nodes from the start to this one."""
        nodes, node = [self], self.before
        while node is not None:
            nodes.append(node)
            node = node.before
        return nodes[::-1]


def search(
    workflow: Workflow,
    starts: Iterable[Node],
    is_new: Callable[[Node], bool],
    effort: Effort,
    distance: Callable[[Node], int] = lambda _: 0,
) -> Iterator[Node]:
    """Yield what can follow from *starts*, the fewest acts first. Only nodes that are new are followed further.

    *distance* estimates how far a node is from the goal.
    """
    order = count()
    heap: list[tuple[int, int, Node]] = []

    def put(node: Node) -> None:
        if is_new(node):
            heapq.heappush(heap, (node.depth + distance(node), next(order), node))

    for node in starts:
        put(node)
        if effort.is_used_up:
            break
    while heap and not effort.is_used_up:
        node = heapq.heappop(heap)[2]
        yield node
        if node.session is not None and node.session.is_open:
            for act in acts(workflow, node.session):
                put(_after(workflow, node, node.session, act, effort))


def to_end(workflow: Workflow, session: Session, effort: Effort) -> list[Node] | None:
    """Return the nodes from *session* to an end, the session's own first.

    Steps that are closer to an end in the graph are tried first. Returns `None` if no path was found.
    """
    distances = _distances(workflow)
    seen: set[str] = set()

    def is_new(node: Node) -> bool:
        after = node.session
        if after is None:
            return False
        mark = repr((after.step, after.status, after.visits, after.state, after.questions, after.findings))
        known = len(seen)
        seen.add(mark)
        return len(seen) > known

    def distance(node: Node) -> int:
        step = node.session.step if node.session is not None else None
        return 0 if step is None else distances.get(step, len(workflow.steps))

    for node in search(workflow, [Node(session)], is_new, effort, distance):
        reached = node.session
        if len(seen) >= MOST_SESSIONS:
            return None
        if reached is not None and not reached.is_open:
            return node.path()
    return None


def transitions_between(before: Session, after: Session, workflow: Workflow) -> tuple[TransitionKey, ...]:
    """Return the transitions that one report took."""
    if after.revision == before.revision or after.last is None:
        return ()
    return followed_transitions(workflow, after.last)


def _after(workflow: Workflow, node: Node, session: Session, act: Act, effort: Effort) -> Node:
    try:
        after = perform(workflow, session, act)
    except FlowError as error:
        effort.spend(session)
        return Node(None, node, act, error=error.code, depth=node.depth + 1)
    effort.spend(after)
    return Node(after, node, act, transitions_between(session, after, workflow), depth=node.depth + 1)


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
