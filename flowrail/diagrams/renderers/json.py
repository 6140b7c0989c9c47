"""A picture as plain data for JSON."""

from __future__ import annotations

from typing import Any

from flowrail.diagrams.model import Picture, Trace


def as_data(picture: Picture) -> dict[str, Any]:
    """Return *picture* as plain data: nodes, arrows and the session."""
    return {
        "workflow": picture.name,
        "description": picture.description,
        "nodes": [node._asdict() for node in picture.nodes],
        "edges": [
            {
                "from": arrow.source,
                "to": arrow.target,
                "outcomes": list(arrow.outcomes),
                "limit": arrow.limit,
                "label": arrow.label,
            }
            for arrow in picture.arrows
        ],
        "session": _session_data(picture, picture.trace) if picture.trace is not None else None,
    }


def _session_data(picture: Picture, trace: Trace) -> dict[str, object]:
    return {
        "session": trace.session,
        "status": trace.status,
        "step": trace.current,
        "steps": [
            {
                "id": node.id,
                "state": trace.state(node),
                "visits": trace.visits.get(node.id, 0),
                "seconds": trace.seconds.get(node.id),
            }
            for node in picture.nodes
            if node.is_step
        ],
        "taken": [
            {"from": source, "to": target, "times": times} for (source, target), times in trace.taken.items()
        ],
    }
