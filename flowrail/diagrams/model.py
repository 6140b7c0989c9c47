"""A picture of a workflow, independent of the format in which it is drawn.

Nodes are in the order of the definition, so the same workflow always gives the same picture. Each step that
leads to an end has its own end node beside it, which keeps the lines short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from flowrail.text.phrases import count, times


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


@dataclass(frozen=True)
class Node:
    """A step or an end."""

    id: str
    """The id of the step, or that of an end, which has a colon."""
    kind: NodeKind
    """What it means."""
    title: str
    """The title of the step."""
    number: int | None = None
    """The number of the step, from 1."""
    phase: str | None = None
    """The phase of the step."""
    limit: int | None = None
    """How many attempts the step may have."""
    when: str | None = None
    """The condition of the step."""
    notes: tuple[str, ...] = ()
    """The lines below the title."""
    runs: str | None = None
    """The workflow of its sub-agents."""
    state: str = ""
    """In a session: `here`, `done`, `left`, or `off` if it can no longer be reached."""
    entered: int = 0
    """How often the session entered it."""
    seconds: float | None = None
    """How long the session was in it."""

    @property
    def heading(self) -> str:
        """The title, with the number of a step before it."""
        return self.title if self.number is None else f"{self.number} · {self.title}"

    @property
    def is_step(self) -> bool:
        """Whether the node is a step."""
        return self.kind not in MARKS


@dataclass(frozen=True)
class Arrow:
    """The transitions from one node to another."""

    source: str
    """The id of the node where they begin."""
    target: str
    """The id of the node where they end."""
    outcomes: tuple[str, ...] = ()
    """The outcomes on the label, of which one may be "any other"."""
    limit: int | None = None
    """After how many attempts they close."""
    then: str = ""
    """What happens instead at the limit."""
    every: tuple[str, ...] = ()
    """All outcomes that lead along the arrow."""
    taken: int | None = None
    """How often they were taken, if that was counted."""

    @property
    def label(self) -> str:
        """The text on the arrow, with how often it was taken."""
        if not self.outcomes:
            return ""
        then = f", then {self.then}" if self.then else ""
        bound = f" (at most {count(self.limit, 'attempt')}{then})" if self.limit is not None else ""
        taken = "" if self.taken is None else f" · {times(self.taken) if self.taken else 'never'}"
        return f"{' / '.join(self.outcomes)}{bound}{taken}"


@dataclass(frozen=True)
class ShownSession:
    """The session that a picture shows."""

    id: str
    """Its id."""
    status: str
    """Its status."""
    step: str | None
    """Its current step, unless it has ended."""


@dataclass(frozen=True)
class Picture:
    """A workflow to draw, perhaps with a session on it."""

    name: str
    """The name of the workflow."""
    description: str
    """Its purpose, as its author wrote it."""
    nodes: tuple[Node, ...]
    """The steps and the ends, in the order of the definition."""
    arrows: tuple[Arrow, ...]
    """The transitions."""
    session: ShownSession | None = None
    """The session that is shown on it."""

    @property
    def bands(self) -> tuple[tuple[str | None, tuple[Node, ...]], ...]:
        """The nodes in runs of the same phase, in order."""
        runs = groupby(self.nodes, key=lambda node: node.phase)
        return tuple((phase, tuple(nodes)) for phase, nodes in runs)

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
