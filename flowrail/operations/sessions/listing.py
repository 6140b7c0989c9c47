"""`flow sessions`: the list of sessions, or one session with its state, its history, and the results of its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, FlowError, StorageError, TrustError
from flowrail.formatters.guidance import step_output
from flowrail.formatters.json_output import as_data
from flowrail.formatters.reports import history
from flowrail.formatters.reports.history import HistoryEntry
from flowrail.hosts.conversation import short_id
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.session_record import Record
from flowrail.operations.board import UNREADABLE, ListedSession, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.steps.shown_step import show_record
from flowrail.text.report import (
    Line,
    Moment,
    Part,
    Report,
    Span,
    Style,
    Table,
    columns,
    line,
    paragraphs,
    status,
)
from flowrail.text.safe_text import error_data, one_line


@dataclass(frozen=True)
class SessionList:
    """The sessions of a store."""

    sessions: tuple[ListedSession, ...]
    """Those that need a person first, then the most recent."""
    conversation: str | None
    """The conversation of the caller."""
    every: bool
    """Whether ended sessions are included."""

    def report(self) -> Report:
        """Return what a person reads: child sessions below the session that they work for."""
        if not self.sessions:
            none = (
                "no session here"
                if self.every
                else "no open session here; `flow list` shows what can be started"
            )
            return [none]
        titles = ["session", "status", "topic", "step", "active"]
        if any(row.conversation for row in self.sessions):
            titles.append("conversation")
        head = columns(*titles, wraps=("status", "topic", "step"), optional=("conversation",))
        rows = [self._cells(branch, row)[: len(titles)] for branch, row in _tree(self.sessions)]
        return [Table(head, rows)]

    def _cells(self, branch: str, row: ListedSession) -> list[Part]:
        name = f"{branch}{row.session}"
        if row.code:
            problem = "cannot be read" if row.status == UNREADABLE else row.status
            return [name, Span(problem, Style.BAD), one_line(row.reason), "", "", ""]
        position = row.position
        step = f"{position.number} of {position.total}: {position.id}" if position and position.total else "-"
        owner = short_id(row.conversation).removeprefix("conversation ") if row.conversation else ""
        if owner and self.conversation is not None:
            owner = "yours" if row.conversation == self.conversation else f"another: {owner}"
        shown_status = status(row.status, " (lost)" if row.lost else "")
        return [name, shown_status, one_line(row.topic or "-"), one_line(step), Moment(row.active_at), owner]


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

    The list shows the sessions of sub-agents below the session that they work for. In a conversation of a host, its own
    sessions are marked. A session that came with a clone is marked foreign, and a sub-agent's session that was replaced is
    marked lost. With ID, shows the state of one session, open or ended, each record of its journal, and the results of its
    checks. If the journal is damaged, shows the records before the damage and exits 3.
    """
    if session is None:
        rows = list_sessions(environment.store, environment.now, every=all_)
        return SessionList(tuple(rows), environment.conversation, all_)
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


def _tree(listed: Sequence[ListedSession]) -> Iterator[tuple[str, ListedSession]]:
    """Yield each session with the branch to it: sub-agents below the session that they work for, if it is listed."""
    children: dict[str, list[ListedSession]] = {}
    ids = {row.session for row in listed}
    for row in listed:
        children.setdefault(row.parent if row.parent and row.parent in ids else "", []).append(row)

    def below(parent: str, indent: str) -> Iterator[tuple[str, ListedSession]]:
        siblings = children.get(parent, [])
        for number, row in enumerate(siblings, start=1):
            is_last = number == len(siblings)
            yield f"{indent}{'└─ ' if is_last else '├─ '}" if parent else "", row
            yield from below(row.session, f"{indent}{'   ' if is_last else '│  '}" if parent else "")

    return below("", "")
