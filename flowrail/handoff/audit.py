"""What happened in handoffs and sessions: timelines of their records.

Read from the journals alone. A damaged journal is listed beside the others and hides none. Of foreign journals
only the id is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError
from flowrail.handoff.checks import missing_parts
from flowrail.handoff.handoff import (
    ACKNOWLEDGMENT,
    DISCOVERY,
    FAILED,
    INVOCATION,
    REJECTED,
    TRANSFER,
    UNSENT,
    CheckResult,
    HandoffClaim,
)
from flowrail.handoff.store import ForeignHandoffError, HandoffRecord, Handoffs, UnknownHandoffError
from flowrail.machines.definition.evidence import tally
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.text.phrases import moment

T = TypeVar("T")
TRACE_EVENTS = {
    DISCOVERY: "created",
    "arrival": "received",
    TRANSFER: "validated",
    INVOCATION: "transmitted",
    "claim": "received",
    ACKNOWLEDGMENT: "processed",
    FAILED: "error",
    REJECTED: "error",
    "cancel": "error",
    "expired": "error",
}
"""The kinds of records, as the event types of a 3.0 payload's trace."""


class HandoffEvent(NamedTuple):
    """A record of a handoff, and the seconds since the one before it."""

    at: str
    by: str
    kind: str
    phase: str
    event_type: str | None
    seconds: float | None
    note: Mapping[str, Any]
    hash: str


class RecordedFailure(NamedTuple):
    """A failure that a handoff recorded."""

    at: str
    code: str
    message: str


class HandoffTimeline(NamedTuple):
    """A handoff and all its records."""

    handoff: str
    phase: str
    source: str
    target: str
    session: str
    receiver: HandoffClaim | None
    schema: str
    chain: tuple[str, ...]
    hops: int
    foreign: bool
    reason: str
    trace_id: str
    span_id: str
    parent_span_id: str | None
    payload: str | None
    sha256: str | None
    payload_hash: str | None
    missing: tuple[str, ...]
    started_at: str
    ended_at: str
    seconds: float | None
    attempts: int
    retries: int
    failures: tuple[RecordedFailure, ...]
    checks: tuple[CheckResult, ...]
    events: tuple[HandoffEvent, ...]

    @property
    def result(self) -> str:
        """Whether the work arrived, in words."""
        if self.phase == ACKNOWLEDGMENT:
            return "taken over and confirmed"
        if self.receiver is not None:
            return "taken over, not confirmed yet"
        if self.phase == INVOCATION:
            return "sent, not taken over yet"
        if self.phase in UNSENT:
            return "interrupted before it was sent"
        return f"{self.phase}: {self.failures[-1].message}" if self.failures else self.phase

    @property
    def cancellations(self) -> tuple[str, ...]:
        """The reasons that were given for cancelling it."""
        notes = (event.note for event in self.events if event.kind == "cancel")
        return tuple(str(note["reason"]) for note in notes if note.get("reason"))


class SessionEvent(NamedTuple):
    """A record of a session, and the seconds since the one before it."""

    at: str
    by: str
    kind: str
    step: str | None
    outcome: str | None
    to: str | None
    seconds: float | None
    hash: str
    evidence: str = ""
    """How much of a claim was checked."""


class SessionTimeline(NamedTuple):
    """A session and all its records."""

    session: str
    skill: str
    topic: str
    status: str
    revision: int
    trace_id: str | None
    handoff: str | None
    started_at: str
    ended_at: str
    seconds: float | None
    events: tuple[SessionEvent, ...]


class UnreadableJournal(NamedTuple):
    """A journal that cannot be read, and why."""

    id: str
    code: str
    message: str


class AuditReport(NamedTuple):
    """Timelines, journals that cannot be read, and the ids of foreign journals."""

    handoffs: tuple[HandoffTimeline, ...]
    sessions: tuple[SessionTimeline, ...]
    unreadable: tuple[UnreadableJournal, ...]
    foreign: tuple[str, ...]


def audit(
    store: Store,
    handoffs: Handoffs,
    *,
    wanted: str | None = None,
    with_sessions: bool = True,
    since: datetime | None = None,
) -> AuditReport:
    """Return what the journals of the store say about one id or about all, limited to what changed *since* a time.

    A session comes with the handoffs that it sent or received.
    """
    reader = _JournalReader(store, handoffs, wanted)
    found = [h for h in reader.handoffs() if wanted is None or _is_about(h, wanted)]
    found = sorted((h for h in found if _is_recent(h.ended_at, since)), key=lambda h: h.started_at)
    sessions = list(reader.sessions()) if with_sessions else []
    sessions = sorted((s for s in sessions if _is_recent(s.ended_at, since)), key=lambda s: s.started_at)
    if wanted is not None and not (found or sessions or reader.unreadable or reader.foreign):
        raise UnknownHandoffError(
            f"no handoff and no session has the id `{wanted[:80]}`",
            hint=Hint("see all: ", Command("audit", all=True)),
            id=wanted[:80],
        )
    return AuditReport(tuple(found), tuple(sessions), tuple(reader.unreadable), tuple(reader.foreign))


class _JournalReader:
    """Reads the timelines of a store, and collects the ids of journals that are unreadable or foreign."""

    def __init__(self, store: Store, handoffs: Handoffs, wanted: str | None) -> None:
        self._store = store
        self._handoffs = handoffs
        self._wanted = wanted
        self.unreadable: list[UnreadableJournal] = []
        self.foreign: list[str] = []

    def handoffs(self) -> Iterator[HandoffTimeline]:
        """Yield the timeline of every handoff. The caller selects, since a session's id selects handoffs too."""
        return self._timelines(
            self._handoffs.ids(),
            lambda handoff_id: _handoff_timeline(self._store, self._handoffs.records(handoff_id)),
        )

    def sessions(self) -> Iterator[SessionTimeline]:
        """Yield the timeline of every wanted session."""
        wanted = (session_id for session_id in self._store.ids() if self._wanted in {None, session_id})
        return self._timelines(wanted, lambda session_id: _session_timeline(self._store.records(session_id)))

    def _timelines(self, ids: Iterable[str], read: Callable[[str], T | None]) -> Iterator[T]:
        for journal_id in ids:
            is_wanted = self._wanted in {None, journal_id}
            try:
                timeline = read(journal_id)
            except (UnknownHandoffError, UnknownSessionError):
                continue  # its creation was interrupted
            except (ForeignHandoffError, ForeignSessionError):
                self.foreign += [journal_id] if is_wanted else []
                continue
            except FlowError as error:
                if is_wanted:
                    self.unreadable.append(UnreadableJournal(journal_id, error.code, error.message))
                continue
            if timeline is not None:
                yield timeline


def _handoff_timeline(store: Store, entries: Iterable[HandoffRecord]) -> HandoffTimeline | None:
    events: list[HandoffEvent] = []
    failures: list[RecordedFailure] = []
    handoff = None
    for entry in entries:
        handoff = entry.handoff
        before = moment(events[-1].at) if events else moment(entry.at)
        if entry.kind in {FAILED, REJECTED} and handoff.failure is not None:
            failures.append(RecordedFailure(entry.at, handoff.failure.code, handoff.failure.message))
        events.append(
            HandoffEvent(
                entry.at,
                entry.by,
                entry.kind,
                handoff.phase,
                TRACE_EVENTS.get(entry.kind),
                _seconds(before, moment(entry.at)),
                entry.note,
                entry.hash,
            )
        )
    if handoff is None:
        return None
    return HandoffTimeline(
        handoff=handoff.id,
        phase=handoff.phase,
        source=handoff.source,
        target=handoff.target,
        session=handoff.session,
        receiver=handoff.claim,
        schema=handoff.schema,
        chain=(*handoff.chain, handoff.target),
        hops=handoff.hops,
        foreign=handoff.foreign,
        reason=handoff.reason,
        trace_id=handoff.trace_id,
        span_id=handoff.span_id,
        parent_span_id=handoff.parent_span or None,
        payload=handoff.payload or None,
        sha256=handoff.digest or None,
        payload_hash=handoff.payload_hash or None,
        missing=tuple(part.message for part in missing_parts(store, handoff)),
        started_at=events[0].at,
        ended_at=events[-1].at,
        seconds=_seconds(moment(events[0].at), moment(events[-1].at)),
        attempts=handoff.attempts,
        retries=sum(event.kind == "retry" for event in events),
        failures=tuple(failures),
        checks=handoff.checks,
        events=tuple(events),
    )


def _checked(record: Record) -> str:
    """Return how much of a claim was checked, be it accepted or refused."""
    known = record.session.evidence.get(str(record.session.step))
    if record.kind == "refused":
        return f"refused {known.claim}, {tally(known.results)}" if known is not None else ""
    return tally(record.session.last.evidence) if record.kind == "move" and record.session.last else ""


def _session_timeline(records: Iterable[Record]) -> SessionTimeline | None:
    events: list[SessionEvent] = []
    session: Session | None = None
    for record in records:
        session = record.session
        before = moment(events[-1].at) if events else moment(record.at)
        move = session.last if record.kind == "move" else None
        events.append(
            SessionEvent(
                record.at,
                record.by,
                record.kind,
                move.step if move else session.step,
                move.outcome if move else None,
                session.step,
                _seconds(before, moment(record.at)),
                record.hash,
                _checked(record),
            )
        )
    if session is None:
        return None
    return SessionTimeline(
        session=session.id,
        skill=session.skill,
        topic=session.shown.topic,
        status=session.status,
        revision=session.revision,
        trace_id=session.received.trace_id if session.received else None,
        handoff=session.received.handoff if session.received else None,
        started_at=events[0].at,
        ended_at=events[-1].at,
        seconds=_seconds(moment(events[0].at), moment(events[-1].at)),
        events=tuple(events),
    )


def _is_about(handoff: HandoffTimeline, wanted: str) -> bool:
    receiver = handoff.receiver.session if handoff.receiver is not None else ""
    return wanted in {handoff.handoff, handoff.session, receiver}


def _is_recent(ended_at: str, since: datetime | None) -> bool:
    ended = moment(ended_at)
    return since is None or ended is None or ended >= since


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round(max(0.0, (end - start).total_seconds()), 3)
