"""The current state of a store's sessions, in four groups: those that need a person come first."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.hosts.conversation import FLEET_OWNER
from flowrail.machines.engine.questions import moment_after
from flowrail.machines.sessions.evidence import StepEvidence
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import ABANDONED, COMPLETED, FAILED, OPEN, AskedQuestion, Session
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.text.phrases import count, seconds_between
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened

STALLED_AFTER = 30 * 60
"""Seconds without a record after which an open session counts as stalled."""


SHOWN_SECONDS = 7 * 24 * 3600
"""Seconds for which the board shows a session of a database after its end."""


QUEUED = "queued, no worker has started it"


class Group(StrEnum):
    """The groups of the board, in the order in which a person looks at them."""

    NEEDS_YOU = "needs you"
    STALLED = "stalled"
    RUNNING = "running"
    ENDED = "ended"


class Position(NamedTuple):
    """The current step of a session: its position in the workflow, and the number of the attempt."""

    id: str
    title: str
    number: int
    total: int
    attempt: int
    limit: int | None

    @property
    def text(self) -> str:
        """The position in words, such as `step 2 of 5: Investigate, attempt 2 of 3`."""
        prefix = f"step {self.number} of {self.total}: " if self.total else ""
        limit = f" of {self.limit}" if self.limit else ""
        attempt = f", attempt {self.attempt}{limit}" if self.attempt > 1 else ""
        return f"{prefix}{self.title}{attempt}"


class AgentCount(NamedTuple):
    """The child sessions of the current step by status."""

    done: int = 0
    failed: int = 0
    started: int = 0
    pending: int = 0

    @property
    def total(self) -> int:
        """All dispatches of the step."""
        return self.done + self.failed + self.started + self.pending

    @property
    def text(self) -> str:
        """The dispatches in words, such as `2 of 5 agents finished, 1 started`; empty without any."""
        if not self.total:
            return ""
        counts = ((self.failed, "failed"), (self.started, "started"), (self.pending, "not started"))
        others = [f"{number} {status}" for number, status in counts if number]
        return ", ".join([f"{self.done + self.failed} of {count(self.total, 'agent')} finished", *others])


class BoardEntry(NamedTuple):
    """One session on the board. ``active_at`` is the time of its newest record."""

    session: str
    skill: str
    topic: str
    status: str
    group: Group
    reason: str
    position: Position | None
    active_at: str
    revision: int
    questions: tuple[AskedQuestion, ...] = ()
    children: tuple[str, ...] = ()
    """The ids of the child sessions of the current step."""
    agents: AgentCount = AgentCount()
    findings: int = 0
    evidence: str = ""
    """What a refused claim lacks, such as `claimed ok, lacks evidence: tests`."""
    parent: str | None = None
    queued: bool = False
    """Whether it waits for a worker of a fleet to start its first agent."""

    @property
    def note(self) -> str:
        """Further information for a person: the open question or missing evidence, sub-agents, findings."""
        reason = self.reason if self.group is Group.NEEDS_YOU else QUEUED if self.queued else self.evidence
        findings = count(self.findings, "open finding") if self.findings else ""
        return "; ".join(part for part in (reason, self.agents.text, findings) if part)


class Board:
    """The sessions of *store*; in a database, those that are open or ended in the last week.

    A session is read again only if its journal changed since the last call.
    """

    def __init__(self, store: Store, *, stalled_after: float = STALLED_AFTER) -> None:
        self._store = store
        self._stalled_after = stalled_after
        self._stamps: dict[str, tuple[int, int]] = {}
        self._entries: dict[str, BoardEntry] = {}

    def refresh(self, now: str) -> list[BoardEntry]:
        """Return the sessions as they are *now*: by group, and within a group the most recent first."""
        stamps = self._store.stamps_since(moment_after(now, -SHOWN_SECONDS))
        entries: dict[str, BoardEntry] = {}
        for session_id, stamp in stamps.items():
            known = self._entries.get(session_id) if self._stamps.get(session_id) == stamp else None
            entry = known or self._read(session_id)
            if entry is not None:
                entries[session_id] = entry
        self._stamps, self._entries = stamps, entries
        shown = [self._shown(entry, now) for entry in entries.values()]
        by_time = sorted(shown, key=lambda entry: entry.active_at, reverse=True)
        return sorted(by_time, key=lambda entry: list(Group).index(entry.group))

    def entry(self, session_id: str, now: str) -> BoardEntry | None:
        """Return one session, even if it ended long ago."""
        entry = self._entries.get(session_id) or self._read(session_id)
        return self._shown(entry, now) if entry is not None else None

    def _read(self, session_id: str) -> BoardEntry | None:
        try:
            record = self._store.read(session_id)
            return _entry(record, position_in(self._store, record.session))
        except UnknownSessionError:
            return None
        except ForeignSessionError:
            reason = "started by another user or on another machine"
        except FlowError as error:
            reason = error.message
        skill = session_id.rpartition("-")[0]
        return BoardEntry(session_id, skill, "", "unreadable", Group.NEEDS_YOU, reason, None, "", 0)

    def _shown(self, entry: BoardEntry, now: str) -> BoardEntry:
        """Return an entry with what depends on its age and on its children."""
        entry = entry._replace(agents=self._agents(entry.children))
        if entry.group is not Group.RUNNING:
            return entry
        idle = seconds_between(entry.active_at, now)
        if idle is not None and idle > self._stalled_after:
            return entry._replace(group=Group.STALLED, reason="no report")
        return entry

    def _agents(self, children: tuple[str, ...]) -> AgentCount:
        entries = [self._entries.get(child) or self._read(child) for child in children]
        statuses = [entry.status if entry is not None else "" for entry in entries]
        done, failed = statuses.count(COMPLETED), statuses.count(FAILED) + statuses.count(ABANDONED)
        started = sum(status in OPEN for status in statuses)
        return AgentCount(done, failed, started, len(statuses) - done - failed - started)


def position_in(store: Store, session: Session) -> Position | None:
    """Return where *session* is in its stored workflow, or `None` if it has ended."""
    if session.step is None:
        return None
    try:
        steps = store.definition(session).steps
        number, step = next((n, step) for n, step in enumerate(steps, start=1) if step["id"] == session.step)
    except (FlowError, KeyError, TypeError, StopIteration):
        return Position(str(session.step), str(session.step), 0, 0, session.visit, None)
    limit = step.get("limit")
    values = {**session.params, **session.state, "visit": session.visit, "limit": limit or ""}
    title = shortened(fill(str(step.get("title") or step["id"]), values))
    bound = session.allowed(step["id"], limit) if isinstance(limit, int) else None
    return Position(step["id"], title, number, len(steps), session.visit, bound)


def _entry(record: Record, position: Position | None) -> BoardEntry:
    session = record.session
    questions = tuple(question for question in session.questions if question.is_open)
    evidence = session.evidence
    if not session.is_open:
        group, reason = Group.ENDED, session.status
    elif questions:
        group, reason = Group.NEEDS_YOU, questions[0].text
    elif evidence is not None and evidence.awaited_approvals:
        group = Group.NEEDS_YOU
        reason = f"Your approval is needed: {', '.join(evidence.awaited_approvals)}"
    else:
        group, reason = Group.RUNNING, ""
    return BoardEntry(
        session=session.id,
        skill=session.skill,
        topic=session.topic,
        status=session.status,
        group=group,
        reason=reason,
        position=position,
        active_at=record.at,
        revision=session.revision,
        questions=questions if session.is_open else (),
        children=tuple(dispatch.child for dispatch in session.dispatches) if session.is_open else (),
        findings=sum(finding.is_open for finding in session.findings),
        evidence=_lacking(evidence) if session.is_open else "",
        parent=session.parent.session if session.parent else None,
        queued=group is Group.RUNNING and session.owner == FLEET_OWNER,
    )


def _lacking(evidence: StepEvidence | None) -> str:
    """Return a text about the evidence that the last claim lacks."""
    if evidence is None or not evidence.missing:
        return ""
    missing = ", ".join(result.check for result in evidence.missing)
    return f"claimed {evidence.claim}, lacks evidence: {missing}"
