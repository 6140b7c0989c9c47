"""Guidance and sessions as plain data for programs. Keys are only added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.formatters.guidance.content import FENCE, Keep, Show, around, own_pieces, plain
from flowrail.machines.guidance.guide import Guidance, OfferedTransition
from flowrail.machines.sessions.store import ForeignSessionError, StoredSession

if TYPE_CHECKING:
    from flowrail.machines.guidance.views import QuestionView


def render(guidance: Guidance, show: Show = str, keep: Keep = str) -> dict[str, Any]:
    """Return *guidance* as plain data.

    *keep* converts commands in the data, *show* those in texts.
    """
    return {name: plain(part, keep) for name, part in _parts(guidance, show).items()}


def _parts(guidance: Guidance, show: Show) -> dict[str, object]:
    step = guidance.step
    return {
        "session": guidance.session,
        "skill": guidance.skill,
        "topic": guidance.topic,
        "source": guidance.source,
        "status": guidance.status,
        "revision": guidance.revision,
        "head": guidance.head,
        "step": step._asdict() if step else None,
        "actions": _told(guidance, show),
        "dispatches": [each._asdict() for each in guidance.dispatches],
        "questions": [_question(each) for each in guidance.questions],
        "replayed": guidance.replayed,
        "resumed": guidance.resumed,
        "next": [_way(way) for way in guidance.next],
        "started_at": guidance.started_at,
        "params": guidance.params,
        "briefing": _briefing(guidance),
        "join": _join(guidance),
        "findings": [each._asdict() for each in guidance.findings],
        "parent": guidance.parent._asdict() if guidance.parent else None,
        "then_command": guidance.then_command,
        "finding_command": guidance.finding_command,
        "findings_command": guidance.findings_command,
        "loop": guidance.loop._asdict() if guidance.loop else None,
        "ask_command": guidance.ask_command,
        "launcher_command": guidance.launcher_command,
        "work_folder": guidance.work_folder,
        "results": [file._asdict() for file in guidance.results],
        "sent": [sent._asdict() for sent in guidance.sent],
        "working_files": [each._asdict() for each in guidance.working_files],
        "take_over_command": guidance.take_over_command,
        "answers": [answer._asdict() for answer in guidance.answers],
        "forbids": guidance.forbids,
        "claim": guidance.claim or None,
        "evidence": [check._asdict() for check in guidance.evidence],
    }


def _briefing(guidance: Guidance) -> dict[str, object] | None:
    briefing = guidance.briefing
    if briefing is None:
        return None
    return {
        "done": [step._asdict() for step in briefing.done],
        "earlier": briefing.earlier,
        "found": list(briefing.found),
        "remember": list(briefing.remember),
    }


def _question(question: QuestionView) -> dict[str, object]:
    return {**question._asdict(), "options": [option._asdict() for option in question.options]}


def _told(guidance: Guidance, show: Show) -> list[str]:
    before, after = around(guidance, show)
    if not any(FENCE in action for action in guidance.actions):
        return [*before, *guidance.actions, *after]
    return [*before, "\n".join(own_pieces(guidance, show)), *after]


def _join(guidance: Guidance) -> dict[str, object] | None:
    join = guidance.join
    if join is None:
        return None
    return {
        "needed": join.needed,
        "succeeded": join.succeeded,
        "total": join.total,
        "open": list(join.open),
        "met": join.met,
    }


def _way(way: OfferedTransition) -> dict[str, object]:
    return {
        "outcome": way.outcome,
        "facts": way.facts,
        "wants": [want._asdict() for want in way.wants],
        "to": way.to,
        "ends": way.ends,
        "capped": way.capped,
        "routes": [route._asdict() for route in way.routes],
        "waits_for": way.waits_for,
        "command": way.command,
    }


def session_item(
    kept: StoredSession, *, store: str | None = None, lost: bool = False, keep: Keep = str
) -> dict[str, object]:
    """Return one session of a list."""
    session = kept.session.shown
    return {
        "session": session.id,
        "skill": session.skill,
        "topic": session.topic,
        "source": session.source,
        "status": session.status,
        "revision": session.revision,
        "head": kept.head,
        "step": session.step,
        "started_at": session.started_at,
        "moved_at": session.moved_at,
        "active_at": kept.at,
        "conversation": session.owner,
        "params": plain(session.params),
        "foreign": False,
        "parent": session.parent.session if session.parent else None,
        "lost": lost,
        "command": keep(Command("resume", session.id, store=store)) if session.is_open and not lost else None,
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
