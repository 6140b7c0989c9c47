"""The lifecycle of a handoff as a picture, made from its statechart."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.diagrams.extract import START
from flowrail.diagrams.model import Arrow, Node, NodeKind, Picture
from flowrail.handoff.handoff import DISCOVERY
from flowrail.handoff.lifecycle import CHECKS, TRANSITIONS, HandoffMachine


def lifecycle_picture() -> Picture:
    """Return the picture of the lifecycle: its phases, and every transition with its conditions."""
    nodes = [Node(START, NodeKind.START, "start")]
    for state in HandoffMachine().states:
        notes = ("ends the handoff",) if state.final else ()
        nodes.append(Node(str(state.value), NodeKind.STEP, str(state.value), notes=notes))
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in TRANSITIONS:
        words = f"{edge.event.replace('_', ' ')} {_condition_text(edge.conditions)}".strip()
        labels.setdefault((edge.source, edge.target), []).append(words)
    arrows = [Arrow(*ends, tuple(words)) for ends, words in labels.items()]
    description = "One piece of work on its way from one skill to another."
    return Picture("handoff", description, tuple(nodes), (Arrow(START, DISCOVERY), *arrows))


def _condition_text(conditions: Sequence[str]) -> str:
    """Return conditions in brackets, or an empty text without conditions."""
    if not conditions:
        return ""
    words = ["all checks pass"] if set(conditions) == set(CHECKS) else conditions
    return f"[{', '.join(word.replace('_', ' ') for word in words)}]"
