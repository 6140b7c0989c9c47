"""A picture of a workflow, independent of the format in which it is drawn.

Nodes are in the order of the definition, so the same workflow always gives the same picture. Each step that
leads to an end has its own end node beside it, which keeps the lines short.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from flowrail.machines.definition.parts import Frozen
from flowrail.text.phrases import count, duration, times


class NodeKind(StrEnum):
    """What a node means; each kind has its own shape."""

    START = "start"
    STEP = "step"
    DECIDE = "decide"
    ASK = "ask"
    GATE = "gate"
    AGENT = "agent"
    AGENTS = "agents"
    COMPLETED = "completed"
    FAILED = "failed"


ENDS = frozenset({NodeKind.COMPLETED, NodeKind.FAILED})
MARKS = ENDS | {NodeKind.START}
"""Kinds of nodes that are not steps."""

MEANING: Mapping[NodeKind, str] = {
    NodeKind.STEP: "the agent does it and reports the outcome",
    NodeKind.DECIDE: "rules or a handler decide the outcome",
    NodeKind.ASK: "the user is asked; the answer decides",
    NodeKind.GATE: "a gate: the findings of a review decide",
    NodeKind.AGENT: "work for one sub-agent",
    NodeKind.AGENTS: "work for several sub-agents",
}
"""What the shapes of steps mean, for a legend."""


class Node(NamedTuple):
    """A step or an end; ``notes`` are the lines below its title, ``runs`` is the workflow of its sub-agents."""

    id: str
    kind: NodeKind
    title: str
    number: int | None = None
    phase: str | None = None
    limit: int | None = None
    when: str | None = None
    notes: tuple[str, ...] = ()
    runs: str | None = None

    @property
    def heading(self) -> str:
        """The title, with the number of a step before it."""
        return self.title if self.number is None else f"{self.number} · {self.title}"

    @property
    def is_step(self) -> bool:
        """Whether the node is a step."""
        return self.kind not in MARKS


class Arrow(NamedTuple):
    """The transitions from one node to another.

    ``outcomes`` are the labels, of which one may be "any other"; ``every`` lists all outcomes. After ``limit``
    attempts the transition closes. ``taken`` is how often it was taken, if that was counted.
    """

    source: str
    target: str
    outcomes: tuple[str, ...] = ()
    limit: int | None = None
    every: tuple[str, ...] = ()
    taken: int | None = None

    @property
    def label(self) -> str:
        """The text on the arrow."""
        outcomes = " / ".join(self.outcomes)
        bound = f" (at most {count(self.limit, 'attempt')})" if self.limit is not None else ""
        return f"{outcomes}{bound}"


class Trace(NamedTuple):
    """A session on its workflow: its current step, the transitions that it took, and the steps that are left.

    ``taken`` counts how often each arrow was followed, by its pair of nodes. ``left`` are the steps that can
    still be reached. ``claims`` has the last outcome of each step with how much of it was checked.
    """

    session: str
    status: str
    current: str | None
    visits: Mapping[str, int]
    seconds: Mapping[str, float]
    taken: Mapping[tuple[str, str], int]
    left: frozenset[str]
    claims: Mapping[str, str] = Frozen()

    def state(self, node: Node) -> str:
        """Return `here`, `done`, `left`, or `off` for a node that can no longer be reached."""
        if node.id == self.current:
            return "here"
        if node.kind is NodeKind.START or self.visits.get(node.id):
            return "done"
        return "left" if node.id in self.left else "off"

    def notes(self, node: Node) -> tuple[str, ...]:
        """Return the lines about *node*: how often it was entered and how long it took."""
        visits = self.visits.get(node.id, 0)
        if not visits or not node.is_step:
            return ()
        spent = f", {duration(self.seconds[node.id])}" if node.id in self.seconds else ""
        current = "here now, " if node.id == self.current else ""
        claims = (self.claims[node.id],) if node.id in self.claims else ()
        return (f"{current}entered {times(visits)}{spent}", *claims)


class Picture(NamedTuple):
    """A workflow to draw; ``trace`` is the session that is shown on it."""

    name: str
    description: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    trace: Trace | None = None

    @property
    def bands(self) -> tuple[tuple[str | None, tuple[Node, ...]], ...]:
        """The nodes in runs of the same phase, in order."""
        runs = groupby(self.nodes, key=lambda node: node.phase)
        return tuple((phase, tuple(nodes)) for phase, nodes in runs)

    def notes(self, node: Node) -> tuple[str, ...]:
        """Return the lines below the title of *node*, those of the session included."""
        return (*node.notes, *(self.trace.notes(node) if self.trace else ()))

    def count(self, arrow: Arrow) -> int:
        """Return how often *arrow* was taken."""
        if self.trace is None:
            return arrow.taken or 0
        if arrow.source == self.nodes[0].id and self.nodes[0].kind is NodeKind.START:
            return 1
        return self.trace.taken.get((arrow.source, arrow.target), 0)

    def never(self, arrow: Arrow) -> bool:
        """Return whether *arrow* was counted and never taken."""
        return self.trace is None and arrow.taken == 0

    def label(self, arrow: Arrow) -> str:
        """Return the text on *arrow*, with how often it was taken."""
        if not arrow.label:
            return ""
        if self.never(arrow):
            return f"{arrow.label} · never"
        taken = self.count(arrow)
        return f"{arrow.label} · {times(taken)}" if taken else arrow.label

    @property
    def names(self) -> dict[str, str]:
        """A short name of letters and digits for every node: `s` and the number of a step, `e` for ends."""
        return {node.id: _name(node, position) for position, node in enumerate(self.nodes)}


def _name(node: Node, position: int) -> str:
    if node.kind is NodeKind.START:
        return "s0"
    if node.is_step:
        return f"s{position if node.number is None else node.number}"
    return f"e{position}"
