"""Sessions of a list as plain data."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.formatters.guidance.content import plain
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.store import ForeignSessionError


def session_item(record: Record, *, store: str | None = None, lost: bool = False) -> dict[str, object]:
    """Return one session of a list."""
    session = record.session
    return {
        "session": session.id,
        "skill": session.skill,
        "topic": session.topic,
        "source": session.source,
        "status": session.status,
        "revision": session.revision,
        "head": record.head,
        "step": session.step,
        "started_at": session.started_at,
        "moved_at": session.moved_at,
        "active_at": record.at,
        "conversation": session.owner,
        "params": plain(session.params),
        "foreign": False,
        "parent": session.parent.session if session.parent else None,
        "lost": lost,
        "command": Command("resume", session.id, store=store) if session.is_open and not lost else None,
        "error": None,
    }


def broken_item(session_id: str, problem: FlowError | None) -> dict[str, object]:
    """Return a session of a list that cannot be read."""
    return {
        "session": session_id,
        "foreign": isinstance(problem, ForeignSessionError),
        "error": str(problem.message) if problem else "unknown",
        "code": problem.code if problem else None,
    }
