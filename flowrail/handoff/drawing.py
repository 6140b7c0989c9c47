"""The lifecycle as a picture, made from the machine itself."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.handoff.lifecycle import CHECKS, Edge, edges
from flowrail.handoff.record import DISCOVERY, ENDED

ALL_CHECKS = "all checks hold"


def mermaid() -> str:
    """Return the machine in the language of Mermaid, the same each time."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield f"    [*] --> {DISCOVERY}"
    for edge in edges():
        yield f"    {edge.source} --> {edge.target}: {_label(edge)}"
    seen = dict.fromkeys(edge.target for edge in edges())
    for phase in seen:
        if phase in ENDED:
            yield f"    {phase} --> [*]"


def _label(edge: Edge) -> str:
    if not edge.conditions:
        return edge.event
    if set(edge.conditions) == set(CHECKS):
        return f"{edge.event} [{ALL_CHECKS}]"
    return f"{edge.event} [{', '.join(each.replace('_', ' ') for each in edge.conditions)}]"
