"""Guidance and sessions as plain data for programs. Keys are only added, never changed."""

from __future__ import annotations

from typing import Any

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.formatters.guidance.content import Show, around, own_pieces, plain
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.store import ForeignSessionError
from flowrail.text.placeholders import BLOCK_PREFIX

_NOT_IN_DATA = frozenset({"resources", "result"})
"""Parts of the guidance that are in its texts."""
_BRIEFING_FIELDS = ("done", "earlier", "found", "remember")


def render(guidance: Guidance, show: Show = str) -> dict[str, Any]:
    """Return *guidance* as plain data and commands. *show* converts the commands in texts."""
    briefing, join = guidance.briefing, guidance.join
    values = {
        **guidance._asdict(),
        "actions": _instructions(guidance, show),
        "briefing": {name: getattr(briefing, name) for name in _BRIEFING_FIELDS} if briefing else None,
        "join": {**plain(join), "met": join.met} if join else None,
        "claim": guidance.claim or None,
    }
    return {name: plain(value) for name, value in values.items() if name not in _NOT_IN_DATA}


def _instructions(guidance: Guidance, show: Show) -> list[str]:
    before, after = around(guidance, show)
    if not any(BLOCK_PREFIX in action for action in guidance.actions):
        return [*before, *guidance.actions, *after]
    return [*before, "\n".join(own_pieces(guidance)), *after]


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
