"""A picture without a language: what every format is drawn from.

Nodes stand in the order of the definition, so the same workflow gives the same picture every time. An end
is a node of its own beside each step that leads to it: lines stay short, however many steps there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from flowrail.diagrams.words import times
from flowrail.machines.definition.frozen import Frozen


class Kind(StrEnum):
    """What a node stands for; each kind has a shape of its own."""

    START = "start"
    STEP = "step"
    DECIDE = "decide"
    ASK = "ask"
    GATE = "gate"
    AGENT = "agent"
    AGENTS = "agents"
    COMPLETED = "completed"
    FAILED = "failed"


ENDS = frozenset({Kind.COMPLETED, Kind.FAILED})
MARKS = ENDS | {Kind.START}
"""Nodes that are no steps."""

MEANING: Mapping[Kind, str] = {
    Kind.STEP: "the agent does it and names the outcome",
    Kind.DECIDE: "rules or a handler decide the outcome",
    Kind.ASK: "the user is asked, the answer decides",
    Kind.GATE: "a gate: findings of a review decide",
    Kind.AGENT: "work for one agent",
    Kind.AGENTS: "work for several agents, and a join",
}
"""What the shapes of steps mean, for a legend."""


class Node(NamedTuple):
    """A step or an end. ``notes`` are the short lines below its title, ``run`` the workflow its agent runs."""

    id: str
    kind: Kind
    title: str
    number: int | None = None
    phase: str | None = None
    limit: int | None = None
    when: str | None = None
    notes: tuple[str, ...] = ()
    run: str | None = None

    @property
    def is_step(self) -> bool:
        """Whether something is done here."""
        return self.kind not in MARKS


class Arrow(NamedTuple):
    """A way on, of one outcome or of several that lead to the same place.

    ``every`` has the outcomes that ``outcomes`` sums up as any other one too. ``limit`` says after how many
    visits it closes; ``taken`` is how often it was gone along, where that was counted.
    """

    source: str
    target: str
    outcomes: tuple[str, ...] = ()
    limit: int | None = None
    every: tuple[str, ...] = ()
    taken: int | None = None

    @property
    def label(self) -> str:
        """What is written on it."""
        said = " / ".join(self.outcomes)
        bound = f" (at most {times(self.limit)})" if self.limit is not None else ""
        return f"{said}{bound}"


class Stop(NamedTuple):
    """One record of a session: what was reported where, where it led, and how long it took.

    ``besides`` is what a record tells that is no move: of which work, question or finding it is. ``begun`` is
    how often each step had been entered then, where that does not follow from the records before.
    """

    seq: int
    kind: str
    at: str
    by: str
    revision: int
    step: str | None
    reported: str | None
    outcome: str | None
    to: str | None
    status: str
    way: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None
    capped: bool = False
    facts: Mapping[str, Any] = Frozen()
    besides: str = ""
    begun: Mapping[str, int] | None = None


class Work(NamedTuple):
    """One piece of work that a step handed out: what of, and what became of it."""

    id: str
    agent: str
    run: str | None
    item: str
    status: str
    outcome: str | None


class Trace(NamedTuple):
    """A session laid over its workflow: where it is, the way it took, what is left.

    ``taken`` counts the arrows that were followed, as pairs of nodes; ``left`` are steps that can still come.
    Where it is not ``counted``, counts are left out of what is written. ``work`` is what each step handed
    out last.
    """

    session: str
    status: str
    current: str | None
    visits: Mapping[str, int]
    seconds: Mapping[str, float]
    taken: Mapping[tuple[str, str], int]
    left: frozenset[str]
    stops: tuple[Stop, ...] = ()
    counted: bool = True
    work: Mapping[str, tuple[Work, ...]] = Frozen()

    def state(self, node: Node) -> str:
        """Return what *node* is to the session: here, done, left, or out of reach (`off`)."""
        if node.id == self.current:
            return "here"
        if node.kind is Kind.START or self.visits.get(node.id):
            return "done"
        return "left" if node.id in self.left else "off"

    def notes(self, node: Node) -> tuple[str, ...]:
        """Return what is said of *node*: how often it was entered and how long it took."""
        from flowrail.diagrams.words import took

        count = self.visits.get(node.id, 0)
        if not count or not node.is_step or not self.counted:
            return ()
        spent = f", {took(self.seconds[node.id])}" if node.id in self.seconds else ""
        here = "here now, " if node.id == self.current else ""
        return (f"{here}entered {times(count)}{spent}",)


class Picture(NamedTuple):
    """A workflow to be drawn; ``trace`` where a session is shown on it."""

    name: str
    description: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    trace: Trace | None = None

    @property
    def bands(self) -> tuple[tuple[str | None, tuple[Node, ...]], ...]:
        """The nodes in runs of the same phase, in order."""
        found: list[tuple[str | None, list[Node]]] = []
        for node in self.nodes:
            if found and found[-1][0] == node.phase:
                found[-1][1].append(node)
            else:
                found.append((node.phase, [node]))
        return tuple((phase, tuple(nodes)) for phase, nodes in found)

    def notes(self, node: Node) -> tuple[str, ...]:
        """Return the lines below the title of *node*, those of the session included."""
        return (*node.notes, *(self.trace.notes(node) if self.trace else ()))

    def count(self, arrow: Arrow) -> int:
        """Return how often *arrow* was gone along, by the session or as it was counted."""
        if self.trace is None:
            return arrow.taken or 0
        return self.trace.taken.get((arrow.source, arrow.target), 0)

    def never(self, arrow: Arrow) -> bool:
        """Return whether *arrow* was never gone along, where that was counted."""
        return self.trace is None and arrow.taken == 0

    def label(self, arrow: Arrow) -> str:
        """Return what is written on *arrow*, with the count of the session."""
        if not arrow.label:
            return ""
        if self.never(arrow):
            return f"{arrow.label} · never"
        count = self.count(arrow) if self.trace is None or self.trace.counted else 0
        return f"{arrow.label} · {times(count)}" if count else arrow.label

    @property
    def names(self) -> dict[str, str]:
        """A short name for every node, of letters and digits: steps by their number."""
        return {node.id: _name(node, place) for place, node in enumerate(self.nodes)}


def _name(node: Node, place: int) -> str:
    if node.kind is Kind.START:
        return "s0"
    if node.is_step:
        return f"s{place if node.number is None else node.number}"
    return f"e{place}"
