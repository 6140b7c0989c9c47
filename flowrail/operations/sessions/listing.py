"""`flow sessions`: the list of sessions, or one session with its state, its history, and the results of its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, FlowError, StorageError, TrustError
from flowrail.formatters.guidance import step_output
from flowrail.formatters.json_output import as_data
from flowrail.formatters.reports import history
from flowrail.formatters.reports.history import HistoryEntry
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.session_record import Record
from flowrail.operations.board import ListedSession, board_report, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.steps.shown_step import show_record
from flowrail.text.report import (
    Line,
    Report,
    Span,
    Style,
    line,
    paragraphs,
)
from flowrail.text.safe_text import error_data, one_line


@dataclass(frozen=True)
class SessionList:
    """The sessions of a store."""

    sessions: tuple[ListedSession, ...]
    """Those that need a person first, then the most recent."""
    conversation: str | None
    """The conversation of the caller."""

    def report(self) -> Report:
        """Return what a person reads."""
        return board_report(self.sessions, conversation=self.conversation)


@dataclass(frozen=True)
class SessionDetails:
    """One session: its state, and everything that happened in it."""

    session: str
    """Its id."""
    guidance: Guidance | None
    """Its state, unless it cannot continue."""
    history: tuple[HistoryEntry, ...]
    """Its records."""
    problem: FlowError | None = None
    """Why it cannot continue, or why later records cannot be read."""

    @property
    def exit_status(self) -> int:
        """The status of the problem; 0 without one."""
        return self.problem.exit_status if self.problem is not None else 0

    def report(self) -> Report:
        """Return what a person reads."""
        return paragraphs(
            step_output.state_report(self.guidance) if self.guidance is not None else [],
            history.report(self.history),
            history.checks_report(self.history),
            self._problem_lines(),
        )

    def _problem_lines(self) -> Iterator[str | Line]:
        if self.problem is not None:
            yield line(Span(f"[{self.problem.code}] ", Style.BAD), one_line(self.problem.message))
            yield f"  {one_line(str(self.problem.hint))}"

    def data(self) -> Mapping[str, Any]:
        """Return what a program reads."""
        state = as_data(self.guidance) if self.guidance is not None else {"session": self.session}
        problem = error_data(self.problem) if self.problem is not None else None
        return {**state, "history": self.history, "problem": problem}


@operation("sessions", "flow sessions", "flow sessions --all", "flow sessions problem-analysis-k3x9q2")
def sessions(
    environment: Environment,
    session: Annotated[str | None, Help("The session to show.", metavar="ID")] = None,
    *,
    all_: Annotated[bool, Help("Include sessions that have ended.")] = False,
) -> SessionList | SessionDetails:
    """List the open sessions, or show one with its history

    Those that need a person come first. In a conversation of a host, sessions of other ones are marked. A session that
    came with a clone is marked foreign, and a sub-agent's session that was replaced is marked lost. With ID, shows the
    state of one session, open or ended, each record of its journal, and the results of its checks. If the journal is
    damaged, shows the records before the damage and exits 3.
    """
    if session is None:
        rows = list_sessions(environment.store, environment.now, every=all_)
        return SessionList(tuple(rows), environment.conversation)
    return session_details(environment, session)


def session_details(environment: Environment, session_id: str) -> SessionDetails:
    """Return one session with its history. If it is damaged, the records before the damage."""
    records: list[Record] = []
    problem: FlowError | None = None
    guidance: Guidance | None = None
    try:
        for record in environment.store.records(session_id):
            records.append(record)  # noqa: PERF402 - those before a damage stay
        guidance = show_record(environment, environment.store.read(session_id))
    except (ChangedError, TrustError, StorageError) as error:
        if not records:
            raise  # the session itself is unknown or foreign
        problem = error
        if isinstance(error, StorageError):
            to, store = records[-1].session.revision, environment.shown_store
            again = Command("session rewind", session_id, to=to, as_new=True, store=store)
            error.hint = Hint(error.hint, "; continue from what is shown above: ", again)
    return SessionDetails(session_id, guidance, tuple(history.entries(records)), problem)
