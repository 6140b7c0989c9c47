"""Timelines of handoffs and sessions, from their records.

They are read from the journals alone. A damaged journal is listed, and the others are still shown. Only the id of a
foreign journal is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
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
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.text.phrases import moment

R = TypeVar("R", HandoffRecord, Record)
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
        """The result in words: whether the work arrived."""
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


T = TypeVar("T", HandoffTimeline, SessionTimeline)


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
    """Return the timelines of one id or of all, limited to those that changed *since* a time.

    A session comes with the handoffs that it sent or received.
    """
    unreadable: list[UnreadableJournal] = []
    foreign: list[str] = []
    handoff_journals = _journals(handoffs.ids(), handoffs.records, unreadable, foreign)
    handoff_timelines = [_handoff_timeline(store, records) for records in handoff_journals]
    session_ids = [id_ for id_ in store.ids() if wanted in {None, id_}] if with_sessions else []
    session_journals = _journals(session_ids, store.records, unreadable, foreign)
    session_timelines = [_session_timeline(records) for records in session_journals]
    report = AuditReport(
        tuple(
            timeline
            for timeline in _recent(handoff_timelines, since)
            if wanted is None or _is_about(timeline, wanted)
        ),
        tuple(_recent(session_timelines, since)),
        tuple(journal for journal in unreadable if wanted in {None, journal.id}),
        tuple(id_ for id_ in foreign if wanted in {None, id_}),
    )
    if wanted is not None and not any(report):
        raise UnknownHandoffError(
            f"no handoff and no session has the id `{wanted[:80]}`",
            hint=Hint("see all: ", Command("audit", all=True)),
            id=wanted[:80],
        )
    return report


def _journals(
    ids: Iterable[str],
    records: Callable[[str], Iterable[R]],
    unreadable: list[UnreadableJournal],
    foreign: list[str],
) -> Iterator[list[R]]:
    """Yield the records of every journal, and add those that are foreign or cannot be read to the lists."""
    for journal_id in ids:
        try:
            journal = list(records(journal_id))
        except (UnknownHandoffError, UnknownSessionError):
            continue  # its creation was interrupted
        except (ForeignHandoffError, ForeignSessionError):
            foreign.append(journal_id)
        except FlowError as error:
            unreadable.append(UnreadableJournal(journal_id, error.code, error.message))
        else:
            if journal:
                yield journal


def _handoff_timeline(store: Store, records: Sequence[HandoffRecord]) -> HandoffTimeline:
    handoff, first, last = records[-1].handoff, records[0], records[-1]
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
        missing=tuple(missing_parts(store, handoff).values()),
        started_at=first.at,
        ended_at=last.at,
        seconds=_seconds(first, last),
        attempts=handoff.attempts,
        retries=sum(record.kind == "retry" for record in records),
        failures=tuple(
            RecordedFailure(record.at, record.handoff.failure.code, record.handoff.failure.message)
            for record in records
            if record.kind in {FAILED, REJECTED} and record.handoff.failure is not None
        ),
        checks=handoff.checks,
        events=tuple(
            HandoffEvent(
                record.at,
                record.by,
                record.kind,
                record.handoff.phase,
                TRACE_EVENTS.get(record.kind),
                _seconds(before, record),
                record.note,
                record.hash,
            )
            for before, record in pairwise((first, *records))
        ),
    )


def _session_timeline(records: Sequence[Record]) -> SessionTimeline:
    session, first, last = records[-1].session, records[0], records[-1]
    return SessionTimeline(
        session=session.id,
        skill=session.skill,
        topic=session.shown.topic,
        status=session.status,
        revision=session.revision,
        trace_id=session.received.trace_id if session.received else None,
        handoff=session.received.handoff if session.received else None,
        started_at=first.at,
        ended_at=last.at,
        seconds=_seconds(first, last),
        events=tuple(_session_event(*pair) for pair in pairwise((first, *records))),
    )


def _session_event(before: Record, record: Record) -> SessionEvent:
    session = record.session
    move = session.last if record.kind == "move" else None
    return SessionEvent(
        record.at,
        record.by,
        record.kind,
        move.step if move else session.step,
        move.outcome if move else None,
        session.step,
        _seconds(before, record),
        record.hash,
        _checked(record),
    )


def _checked(record: Record) -> str:
    """Return how much of an accepted or refused claim was checked."""
    refused = record.session.evidence.get(str(record.session.step))
    if record.kind == "refused":
        return f"refused {refused.claim}, {tally(refused.results)}" if refused is not None else ""
    return tally(record.session.last.evidence) if record.kind == "move" and record.session.last else ""


def _is_about(handoff: HandoffTimeline, wanted: str) -> bool:
    receiver = handoff.receiver.session if handoff.receiver is not None else ""
    return wanted in {handoff.handoff, handoff.session, receiver}


def _recent(timelines: Iterable[T], since: datetime | None) -> list[T]:
    """Return the timelines that changed since a time, in the order in which they started."""
    times = [(moment(timeline.ended_at), timeline) for timeline in timelines]
    recent = [timeline for ended, timeline in times if since is None or ended is None or ended >= since]
    return sorted(recent, key=lambda timeline: timeline.started_at)


def _seconds(before: R, after: R) -> float | None:
    start, end = moment(before.at), moment(after.at)
    return None if start is None or end is None else round(max(0.0, (end - start).total_seconds()), 3)
