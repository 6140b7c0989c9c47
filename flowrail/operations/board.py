"""The list of a store's sessions, in four groups: those that need a person come first.

`flow sessions`, `flow watch`, `flow ui`, `flow doctor` and Python programs show the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import FlowError
from flowrail.hosts.conversation import FLEET_OWNER
from flowrail.machines.evidence_results import StepEvidence
from flowrail.machines.frozen import INTERNAL, Frozen
from flowrail.machines.guidance.agent_work import PENDING, AgentCount
from flowrail.machines.guidance.guide import CurrentStep
from flowrail.machines.session import AskedQuestion, Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import ForeignSessionError, Store, UnknownSessionError
from flowrail.operations.steps.dispatched_work import lost_dispatch
from flowrail.session_status import OPEN
from flowrail.text.phrases import count, moment_after, seconds_between
from flowrail.text.placeholders import fill
from flowrail.text.report import Column, Line, Moment, Part, Report, Span, Style, Table
from flowrail.text.safe_text import one_line, shortened

STALLED_AFTER = 30 * 60
"""Seconds without a record after which an open session counts as stalled."""

SHOWN_SECONDS = 7 * 24 * 3600
"""Seconds for which the board shows a session of a database after its end."""

QUEUED = "queued, no worker has started it"
FOREIGN, UNREADABLE = "foreign", "unreadable"
"""The statuses of a session that another user or machine started, and of one whose journal is damaged."""


class Group(StrEnum):
    """The groups of the board, in the order in which a person looks at them."""

    NEEDS_YOU = "needs you"
    STALLED = "stalled"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True)
class ListedSession:
    """One session of a list. If it cannot be read, only its id, its status and the problem are known."""

    session: str
    """Its id."""
    skill: str
    topic: str = ""
    status: str = UNREADABLE
    group: Group = Group.NEEDS_YOU
    reason: str = ""
    """Why it needs a person."""
    position: CurrentStep | None = None
    """The current step; `None` if it has ended."""
    revision: int = 0
    head: str = ""
    params: Mapping[str, Any] = Frozen()
    started_at: str = ""
    moved_at: str = ""
    """The time of the last report."""
    active_at: str = ""
    """The time of the newest record."""
    conversation: str | None = None
    """The conversation that it belongs to, if any."""
    parent: str | None = None
    """The session that it works for, if any."""
    lost: bool = False
    """Whether it works for a session that no longer needs it."""
    questions: tuple[AskedQuestion, ...] = ()
    """The open questions."""
    children: tuple[str, ...] = ()
    """The ids of the child sessions of the current step."""
    agents: AgentCount = field(default_factory=AgentCount)
    findings: int = 0
    """The number of open findings."""
    evidence: str = ""
    """What a refused report lacks, such as `claimed ok, lacks evidence: tests`."""
    queued: bool = False
    """Whether it waits for a worker of a fleet to start its first agent."""
    command: Command | None = None
    """How to continue it, if it is open."""
    page: str = ""
    """Where a person decides, if `flow watch` shows it while the page is open."""
    record: Record | None = field(default=None, repr=False, metadata=INTERNAL)
    """Its newest record, if it can be read."""
    code: str = ""
    """The code of the problem, if it cannot be read."""
    hint: str | Hint = ""
    """What to do about the problem."""

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.status in OPEN

    @property
    def note(self) -> str:
        """Further information for a person: the open question or missing evidence, sub-agents, findings."""
        reason = self.reason if self.group is Group.NEEDS_YOU else QUEUED if self.queued else self.evidence
        findings = count(self.findings, "open finding") if self.findings else ""
        page = f"decide: {self.page}" if self.page else ""
        return "; ".join(part for part in (reason, page, self.agents.text, findings) if part)


def list_sessions(store: Store, now: str, *, every: bool = False) -> list[ListedSession]:
    """Return the open sessions, or *every* one, and those that cannot be read; by group, the most recent first."""
    listed = Board(store).of(store.ids() if every else store.open_ids(), now)
    return [row for row in listed if every or row.group is not Group.ENDED]


class Board:
    """The sessions of *store*; in a database, those that are open or ended in the last week.

    A session is read again only if its journal changed since the last call.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stamps: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, ListedSession | None] = {}

    def refresh(self, now: str) -> list[ListedSession]:
        """Return the sessions as they are *now*: by group, and within a group the most recent first."""
        stamps = self._store.stamps_since(moment_after(now, -SHOWN_SECONDS))
        same = {session_id for session_id, stamp in stamps.items() if self._stamps.get(session_id) == stamp}
        self._rows = {session_id: row for session_id, row in self._rows.items() if session_id in same}
        self._stamps = stamps
        return self.of(stamps, now)

    def of(self, session_ids: Iterable[str], now: str) -> list[ListedSession]:
        """Return these sessions, in the order of the board."""
        rows = [row for session_id in session_ids if (row := self.row(session_id, now)) is not None]
        by_time = sorted(rows, key=lambda row: row.active_at, reverse=True)
        return sorted(by_time, key=lambda row: list(Group).index(row.group))

    def row(self, session_id: str, now: str) -> ListedSession | None:
        """Return one session, even if it ended long ago; `None` if its start was interrupted."""
        row = self._read(session_id)
        if row is None or not row.is_open:
            return row
        lost = row.record is not None and lost_dispatch(self._store, row.record.session) is not None
        children = [self._read(name) for name in row.children]
        idle = seconds_between(row.active_at, now)
        is_stalled = row.group is Group.RUNNING and idle is not None and idle > STALLED_AFTER
        return replace(
            row,
            agents=AgentCount.of(child.status if child else PENDING for child in children),
            lost=lost,
            command=None if lost else row.command,
            group=Group.STALLED if is_stalled else row.group,
            reason="no report" if is_stalled else row.reason,
        )

    def _read(self, session_id: str) -> ListedSession | None:
        if session_id not in self._rows:
            self._rows[session_id] = self._from_store(session_id)
        return self._rows[session_id]

    def _from_store(self, session_id: str) -> ListedSession | None:
        skill = session_id.rpartition("-")[0]
        try:
            record = self._store.read(session_id)
        except UnknownSessionError:
            return None
        except ForeignSessionError as error:
            reason = "started by another user or on another machine"
            return ListedSession(
                session_id, skill, status=FOREIGN, reason=reason, code=error.code, hint=error.hint
            )
        except FlowError as error:
            return ListedSession(session_id, skill, reason=error.message, code=error.code, hint=error.hint)
        return _row(record, position_in(self._store, record.session), self._store.named)


def position_in(store: Store, session: Session) -> CurrentStep | None:
    """Return where *session* is in its stored workflow, or `None` if it has ended."""
    if session.step is None:
        return None
    try:
        steps = store.definition(session).steps
        number, step = next((n, step) for n, step in enumerate(steps, start=1) if step["id"] == session.step)
    except (FlowError, KeyError, TypeError, StopIteration):
        return CurrentStep(str(session.step), str(session.step), 0, 0, session.visit)
    limit = step.get("limit")
    values = {**session.params, **session.state, "visit": session.visit, "limit": limit or ""}
    title = shortened(fill(str(step.get("title") or step["id"]), values))
    bound = session.allowed(step["id"], limit) if isinstance(limit, int) else None
    return CurrentStep(step["id"], title, number, len(steps), session.visit, bound, step.get("phase"))


def _row(record: Record, position: CurrentStep | None, store: str | None) -> ListedSession:
    session, evidence = record.session, record.session.evidence
    questions = session.open_questions
    group, reason = Group.RUNNING, ""
    if not session.is_open:
        group = Group.ENDED
    elif questions:
        group, reason = Group.NEEDS_YOU, questions[0].text
    elif evidence is not None and evidence.awaited_approvals:
        group = Group.NEEDS_YOU
        reason = f"Your approval is needed: {', '.join(evidence.awaited_approvals)}"
    elif session.needs_person:
        group, reason = Group.NEEDS_YOU, f"The session is {session.status}"
    return ListedSession(
        record=record,
        session=session.id,
        skill=session.skill,
        topic=session.topic,
        status=session.status,
        group=group,
        reason=reason,
        position=position,
        revision=session.revision,
        head=record.head,
        params=session.params,
        started_at=session.started_at,
        moved_at=session.moved_at,
        active_at=record.at,
        conversation=session.owner,
        parent=session.parent.session if session.parent else None,
        questions=questions if session.is_open else (),
        children=tuple(dispatch.child for dispatch in session.dispatches) if session.is_open else (),
        findings=len(session.open_findings),
        evidence=_lacking(evidence) if session.is_open else "",
        queued=group is Group.RUNNING and session.owner == FLEET_OWNER,
        command=Command("resume", session.id, store=store) if session.is_open else None,
    )


def _lacking(evidence: StepEvidence | None) -> str:
    """Return a text about the evidence that the last claim lacks."""
    if evidence is None or not evidence.missing:
        return ""
    missing = ", ".join(result.check for result in evidence.missing)
    return f"claimed {evidence.claim}, lacks evidence: {missing}"


_TITLES = {
    Group.NEEDS_YOU: Style.TITLE,
    Group.STALLED: Style.WARNING,
    Group.RUNNING: Style.ACTIVE,
    Group.ENDED: Style.MUTED,
}
_COLUMNS = (Column(""), Column("", wraps=True), Column(""))


def board_report(
    rows: Sequence[ListedSession], *, conversation: str | None = None, height: int | None = None
) -> Report:
    """Return sessions by group, for a screen of so many lines if *height* is known.

    If the caller has a *conversation*, sessions of other ones say so.
    """
    groups = {group: [row for row in rows if row.group is group] for group in Group}
    groups = {group: members for group, members in groups.items() if members}
    if not groups:
        yield "No session here. `flow step SKILL` starts one, `flow list` shows the skills."
    for group, members in groups.items():  # a session has a second line for its note
        most = len(members) if height is None else max(1, (height // len(groups) - 2) // 2)
        yield Line((Span(f"{group.value.capitalize()} ({len(members)})", _TITLES[group]),))
        yield Table(_COLUMNS, [cells for row in members[:most] for cells in _cells(row, conversation)], 2)
        if len(members) > most:
            yield f"    {len(members) - most} more: flow sessions --all"


def _cells(row: ListedSession, conversation: str | None) -> Iterator[list[Part]]:
    topic = f": {one_line(row.topic)}" if row.topic else ""
    position = row.position.text if row.position and row.is_open else row.status
    yield [f"{row.session}{topic}", one_line(position), Moment(row.active_at)]
    is_others = conversation is not None and row.conversation not in {None, conversation}
    note = "; ".join(filter(None, ["of another conversation" * is_others, "lost" * row.lost, row.note]))
    if note:
        yield ["", one_line(note), ""]
