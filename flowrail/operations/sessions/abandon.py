"""End a session that will not be completed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowrail.command import Command
from flowrail.formatters.guidance.agent_answers import ANSWER, result_lines
from flowrail.machines.guidance.agent_work import WorkResult, handed_back
from flowrail.machines.session_record import Record
from flowrail.operations.environment import Environment
from flowrail.operations.operation import operation
from flowrail.operations.parameters import Reason, SessionId
from flowrail.operations.steps.child_sessions import start_if_reserved
from flowrail.operations.steps.held_session import hold
from flowrail.session_status import ABANDONED
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line


@dataclass(frozen=True)
class AbandonedSession:
    """A session that has ended."""

    session: str
    """Its id."""
    status: str
    """How it ended: another status than `abandoned` if it had ended before."""
    reason: str = ""
    """The reason for the end."""
    result: WorkResult | None = None
    """For a sub-agent: the answer to the agent that launched it."""
    command: Command | None = None
    """The command that opens the session again."""

    def report(self) -> Report:
        """Return what a person reads."""
        yield f"{self.session} is {self.status}{f' because: {one_line(self.reason)}' if self.reason else ''}"
        if self.result is not None:
            yield from ("", ANSWER, *result_lines(self.result, str))
        if self.command is not None:
            yield f"continue it after all: {self.command}"


@operation("session abandon", "flow session abandon problem-analysis-k3x9q2 --reason 'solved otherwise'")
def abandon(environment: Environment, session: SessionId, *, reason: Reason = "") -> AbandonedSession:
    """End a session that will not be completed

    Its journal stays. Nothing more can be reported.
    """
    stored = abandon_session(environment, session, reason)
    after = stored.session
    result = handed_back(after, environment.store.address) if after.parent else None
    if after.status != ABANDONED:
        return AbandonedSession(session, after.status, result=result)
    recorded = str(stored.note.get("reason") or "")
    if result is not None:
        return AbandonedSession(session, after.status, recorded, result=result)
    undo = environment.command("session rewind", session, to=after.revision)
    return AbandonedSession(session, after.status, recorded, command=undo)


def abandon_session(environment: Environment, session_id: str, reason: str = "") -> Record:
    """End a session, and return its last record. The dispatch of a sub-agent's session has failed."""
    start_if_reserved(environment, session_id, is_given_up=True)
    with hold(environment, session_id) as held:
        session, now = held.session, environment.now
        if not session.is_open:
            return held.kept
        ended = replace(session, status=ABANDONED)
        if reason and session.parent:  # its parent reads the notes
            ended = ended.with_note(reason, step=str(session.step), at=now, source="abandon")
        return held.commit(ended, "abandon", at=now, reason=reason)
