"""A session as a trace: one span for it, each of its steps, the sessions that work for it, and its handoffs.

The spans are made from the records, so they can be written at any time, with the same result. A session that took over a
handoff is part of the trace of the session that sent it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowrail.errors import FlowError
from flowrail.formatters.reports.trace import Attribute, SpanEvent, TraceSpan
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import COMPLETED, Session
from flowrail.machines.sessions.store import Store
from flowrail.storage.files import sha256_hex

_SPAN_ID, _TRACE_ID = r"[0-9a-f]{16}\Z", r"[0-9a-f]{32}\Z"
_NO_EVENT = frozenset({"start", "move", "held", "claim", "finish"})
"""Kinds of records that are spans themselves, or do not help a reader of a trace."""


def spans_of(store: Store, session_id: str) -> Iterator[TraceSpan]:
    """Yield the spans of a session, of the sessions that worked for it, and of those that took over its handoffs."""
    handoffs = [*Handoffs(store).own_ones()]
    root = store.read(session_id).session
    yield from _Trace(store, handoffs, trace_id_of(store, root, handoffs)).spans(session_id)


def trace_id_of(store: Store, session: Session, handoffs: list[Handoff]) -> str:
    """Return the trace that a session belongs to: that of its handoff, of the session it works for, or its own."""
    while session.parent is not None:
        session = store.read(session.parent.session).session
    received = session.received.trace_id if session.received else ""
    sent = (handoff.trace_id for handoff in handoffs if handoff.session == session.id)
    for known in (received, *sent):
        identity = known.replace("-", "").lower()
        if re.match(_TRACE_ID, identity):
            return identity
    return sha256_hex(session.id.encode())[:32]


def session_span(session_id: str) -> str:
    """Return the id of the span of a session."""
    return sha256_hex(f"session {session_id}".encode())[:16]


def step_span(session_id: str, revision: int) -> str:
    """Return the id of the span of the step that a session left at *revision*."""
    return sha256_hex(f"step {session_id} {revision}".encode())[:16]


class _Trace:
    def __init__(self, store: Store, handoffs: list[Handoff], trace_id: str) -> None:
        self._store, self._handoffs, self._trace_id = store, handoffs, trace_id
        self._seen: set[str] = set()

    def spans(self, session_id: str) -> Iterator[TraceSpan]:
        """Yield the spans of one session, then those of the sessions that follow from it."""
        if session_id in self._seen:
            return
        self._seen.add(session_id)
        try:
            records = [*self._store.records(session_id)]
        except FlowError:
            return  # deleted, or of another user
        yield self._session(records)
        yield from self._steps(records)
        for child in dict.fromkeys(
            dispatch.child for record in records for dispatch in record.session.dispatches if dispatch.child
        ):
            yield from self.spans(child)
        for handoff in self._handoffs:
            if handoff.session == session_id:
                yield self._handoff(handoff)
                if handoff.claim is not None and handoff.claim.session:
                    yield from self.spans(handoff.claim.session)

    def _session(self, records: list[Record]) -> TraceSpan:
        session = records[-1].session
        attributes: dict[str, Attribute] = {
            "flow.session": session.id,
            "flow.skill": session.skill,
            "flow.status": session.status,
        }
        if session.topic:
            attributes["flow.topic"] = session.topic
        return TraceSpan(
            self._trace_id,
            session_span(session.id),
            _parent_of(session),
            session.skill,
            session.started_at,
            records[-1].at,
            attributes,
            None if session.is_open else session.status == COMPLETED,
        )

    def _steps(self, records: list[Record]) -> Iterator[TraceSpan]:
        """Yield a span for each step that was left, and for the current one."""
        entered, events = records[0], list[SpanEvent]()
        for record in records[1:]:
            before = entered.session
            if record.session.revision == before.revision and record.session.is_open:
                if record.kind not in _NO_EVENT:
                    events.append(SpanEvent(record.at, record.kind, {"flow.by": record.by}))
                continue
            yield self._step(before, entered.at, record, tuple(events))
            entered, events = record, []
        if entered.session.is_open:
            yield self._step(entered.session, entered.at, None, tuple(events))

    def _step(
        self, before: Session, since: str, end: Record | None, events: tuple[SpanEvent, ...]
    ) -> TraceSpan:
        attributes: dict[str, Attribute] = {
            "flow.session": before.id,
            "flow.step": str(before.step),
            "flow.attempt": before.visit,
        }
        outcome = end.session.last.outcome if end and end.kind == "move" and end.session.last else ""
        if end is not None:
            attributes |= {"flow.outcome": outcome or end.kind, "flow.by": end.by}
        return TraceSpan(
            self._trace_id,
            step_span(before.id, before.revision),
            session_span(before.id),
            str(before.step),
            since,
            end.at if end else since,
            attributes,
            None if end is None else outcome not in {"", "fail"},
            events,
        )

    def _handoff(self, handoff: Handoff) -> TraceSpan:
        ended_at = handoff.claim.at if handoff.claim is not None else handoff.started_at
        attributes: dict[str, Attribute] = {
            "flow.handoff": handoff.id,
            "flow.phase": handoff.phase,
            "flow.target": handoff.target,
        }
        return TraceSpan(
            self._trace_id,
            _span_id(handoff.span_id, handoff.id),
            session_span(handoff.session),
            f"handoff to {handoff.target}",
            handoff.started_at,
            ended_at,
            attributes,
            None if handoff.is_open else handoff.failure is None,
        )


def _parent_of(session: Session) -> str:
    """Return the span that a session belongs below: the step that dispatched it, or the handoff that it took over."""
    if session.parent is not None:
        numbers = re.match(r"d(\d+)-", session.parent.dispatch)
        if numbers:
            return step_span(session.parent.session, int(numbers[1]))
        return session_span(session.parent.session)
    if session.received is not None:
        return _span_id(session.received.span_id, session.received.handoff)
    return ""


def _span_id(known: str, name: str) -> str:
    return known if re.match(_SPAN_ID, known) else sha256_hex(name.encode())[:16]
