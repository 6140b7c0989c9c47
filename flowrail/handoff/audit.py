"""What was handed over and done, afterwards: timelines, and traces across skills.

Read from the journals and from nothing else. A broken journal is told beside the others and hides none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, alone
from flowrail.handoff.handoff import (
    ACKNOWLEDGMENT,
    DISCOVERY,
    FAILED,
    INVOCATION,
    REJECTED,
    TRANSFER,
)
from flowrail.handoff.payload.integrity import moment
from flowrail.handoff.store import HandoffRecord, Handoffs, UnknownHandoffError
from flowrail.handoff.telling import MOST_CHECKS, MOST_TOLD, in_short, plain
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store, UnknownSessionError

T = TypeVar("T")
MOST_RECORDS, MOST_OF_A_HANDOFF = 2_000, 100
"""So many are told of a session, or a handoff, that somebody else wrote: there may be many such, all told at once."""
EVENTS = {
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
"""What the records of a handoff are in the words of a 3.0 payload's trace."""


class Broken(NamedTuple):
    """A journal that is not what was written."""

    id: str
    problem: FlowError

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"id": self.id, "code": self.problem.code, "message": self.problem.message}


class Report(NamedTuple):
    """Timelines of handoffs and sessions, their traces, and journals that cannot be read."""

    handoffs: tuple[Mapping[str, Any], ...]
    sessions: tuple[Mapping[str, Any], ...]
    traces: tuple[Mapping[str, Any], ...]
    broken: tuple[Broken, ...]

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "handoffs": list(self.handoffs),
            "sessions": list(self.sessions),
            "traces": list(self.traces),
            "broken": [each.data() for each in self.broken],
        }


def report(
    store: Store,
    handoffs: Handoffs,
    *,
    wanted: str | None = None,
    with_sessions: bool = True,
    since: datetime | None = None,
) -> Report:
    """Return what the journals of a store tell, of one id or of all, of what moved *since* then.

    With a session come the handoffs that it sent or took over.
    """
    broken: list[Broken] = []
    theirs: set[str] = set()

    def session_of(each: str) -> dict[str, Any]:
        return _session(store.records(each), theirs=False)

    def handoff_of(each: str) -> dict[str, Any]:
        return _handoff(handoffs.records(each), theirs=False)

    handed = [
        told
        for told in _read(handoffs.ids(), handoff_of, broken, wanted)
        if wanted is None or _is_about(told, wanted)
    ]
    named = [each for each in store.ids() if wanted in {None, each}]
    sessions = list(_read(named, session_of, broken, wanted)) if with_sessions else []
    handed = [each for each in handed if _recent(each, since)]
    sessions = [each for each in sessions if _recent(each, since)]
    handed.sort(key=lambda each: str(each["started_at"]))
    sessions.sort(key=lambda each: str(each["started_at"]))
    if wanted is not None and not handed and not sessions and not broken:
        raise UnknownHandoffError(
            f"there is no handoff and no session `{wanted[:80]}` here",
            hint=Hint("see all: ", Command("audit", all=True)),
            id=wanted[:80],
        )
    return Report(tuple(handed), tuple(sessions), tuple(_traces(handed, theirs)), tuple(broken))


def _handoff(entries: Iterable[HandoffRecord], *, theirs: bool) -> dict[str, Any]:
    """Return what the records of a handoff tell, one of them held at a time; what is *theirs* is cut short."""
    told = in_short if theirs else plain
    events: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    first: datetime | None = None
    stamp: datetime | None = None
    started = ""
    retries = 0
    last: HandoffRecord | None = None
    for each in entries:
        before, stamp = stamp, moment(each.at)
        if last is None:
            first, before, started = stamp, stamp, each.at
        last = each
        retries += each.kind == "retry"
        if each.kind in {FAILED, REJECTED}:
            problem = each.handoff.problem
            failures.append(
                {"at": each.at, "code": told(problem.get("code")), "message": told(problem.get("message"))}
            )
        events.append(
            {
                "at": each.at,
                "by": told(each.by),
                "kind": each.kind,
                "phase": each.handoff.phase,
                "event_type": EVENTS.get(each.kind),
                "seconds": _seconds(before, stamp),
                "note": told(each.note),
                "hash": each.hash,
            }
        )
    if last is None:
        return {}
    handoff = last.handoff
    return {
        "handoff": handoff.id,
        "phase": handoff.phase,
        "source": told(handoff.source),
        "target": told(handoff.target),
        "session": told(handoff.session),
        "receiver": told(handoff.claim) or None,
        "schema": told(handoff.schema),
        "chain": told(
            [*handoff.chain[:MOST_TOLD], handoff.target] if theirs else [*handoff.chain, handoff.target]
        ),
        "hops": handoff.hops,
        "foreign": handoff.foreign or theirs,
        "reason": told(handoff.reason),
        "trace_id": told(handoff.trace_id),
        "span_id": told(handoff.span_id),
        "parent_span_id": told(handoff.parent_span) or None,
        "payload": told(handoff.payload) or None,
        "sha256": told(handoff.digest) or None,
        "payload_hash": told(handoff.payload_hash) or None,
        "started_at": started,
        "ended_at": last.at,
        "seconds": _seconds(first, stamp),
        "attempts": handoff.attempts,
        "retries": retries,
        "failures": failures,
        "checks": [told(each) for each in (handoff.checks[:MOST_CHECKS] if theirs else handoff.checks)],
        "events": events,
    }


def _session(records: Iterable[Record], *, theirs: bool) -> dict[str, Any]:
    """Return what the records of a session tell, one of them held at a time; nothing where there are none."""
    events: list[dict[str, Any]] = []
    stamps: list[datetime | None] = []
    last: Session | None = None
    for each in records:
        last, stamp = each.session, moment(each.at)
        move = last.last if each.kind == "move" else None
        events.append(
            {
                "at": each.at,
                "by": each.by,
                "kind": each.kind,
                "step": move.step if move else last.step,
                "outcome": move.outcome if move else None,
                "to": last.step,
                "seconds": _seconds(stamps[-1] if stamps else stamp, stamp),
                "hash": each.hash,
            }
        )
        stamps.append(stamp)
    if last is None:
        return {}
    return {
        "session": last.id,
        "skill": last.skill,
        "status": last.status,
        "revision": last.revision,
        "trace_id": last.received.get("trace_id"),
        "handoff": last.received.get("handoff"),
        "foreign": theirs,
        "started_at": events[0]["at"],
        "ended_at": events[-1]["at"],
        "seconds": _seconds(stamps[0], stamps[-1]),
        "events": events,
    }


def _traces(handed: Iterable[Mapping[str, Any]], theirs: Collection[str]) -> Iterator[dict[str, Any]]:
    by_trace: dict[str, list[Mapping[str, Any]]] = {}
    for each in handed:
        by_trace.setdefault(str(each["trace_id"]), []).append(each)
    for trace_id, spans in by_trace.items():
        yield {
            "trace_id": trace_id,
            "spans": [
                {
                    "span_id": each["span_id"],
                    "parent_span_id": each["parent_span_id"],
                    "handoff": each["handoff"],
                    "source": each["source"],
                    "target": each["target"],
                    "phase": each["phase"],
                    "foreign": each["foreign"],
                    "started_at": each["started_at"],
                    "seconds": each["seconds"],
                }
                for each in spans
            ],
            "skills": _longest(spans, theirs),
        }


def _longest(spans: Iterable[Mapping[str, Any]], theirs: Collection[str]) -> list[str]:
    """Return the longest chain, one that somebody else wrote only where there is none of ours."""
    longest: list[str] = max(spans, key=lambda each: (each["handoff"] not in theirs, len(each["chain"])))[
        "chain"
    ]
    return longest


def _read(ids: Iterable[str], load: Any, broken: list[Broken], wanted: str | None) -> Iterator[Any]:
    for each in ids:
        try:
            lines = load(each)
        except (UnknownHandoffError, UnknownSessionError):
            continue  # its beginning was interrupted: it never began
        except FlowError as error:
            if wanted in {None, each}:
                broken.append(Broken(each, alone(error)))
            continue
        if lines:
            yield lines


def _is_about(told: Mapping[str, Any], wanted: str) -> bool:
    return wanted in {told["handoff"], told["session"], (told["receiver"] or {}).get("session")}


def _recent(told: Mapping[str, Any], since: datetime | None) -> bool:
    ended = moment(str(told["ended_at"]))
    return since is None or ended is None or ended >= since


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round(max(0.0, (end - start).total_seconds()), 3)
