"""A picture as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from flowrail.diagrams.model import Picture, Trace


def as_data(picture: Picture) -> dict[str, Any]:
    """Return *picture* as plain data: nodes, arrows, phases, and the session where one is shown."""
    return {
        "workflow": picture.name,
        "description": picture.description,
        "nodes": [
            {
                "id": node.id,
                "kind": str(node.kind),
                "number": node.number,
                "title": node.title,
                "phase": node.phase,
                "limit": node.limit,
                "when": node.when,
                "notes": list(node.notes),
                "runs": node.run,
            }
            for node in picture.nodes
        ],
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
        "session": trace_data(picture, picture.trace) if picture.trace is not None else None,
    }


def trace_data(picture: Picture, trace: Trace) -> dict[str, Any]:
    """Return what a session did, as plain data."""
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
            {"from": source, "to": target, "times": count} for (source, target), count in trace.taken.items()
        ],
        "path": [
            {
                "seq": stop.seq,
                "kind": stop.kind,
                "at": stop.at,
                "revision": stop.revision,
                "step": stop.step,
                "reported": stop.reported,
                "outcome": stop.outcome,
                "to": stop.to,
                "status": stop.status,
                "capped": stop.capped,
                "seconds": stop.seconds,
            }
            for stop in trace.stops
        ],
    }
