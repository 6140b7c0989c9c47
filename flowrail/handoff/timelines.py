"""What happened in handoffs and sessions: their records, in the order in which they started.

They are read from the journals alone. A damaged journal is listed, and the others are still shown. Only the id of a
foreign journal is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flowrail.command import Command, Hint
from flowrail.errors import FlowError
from flowrail.handoff.handoff import (
    ACKNOWLEDGED,
    CANCELLED,
    EXPIRED,
    FAILED,
    INVOCATION,
    PREPARED,
    RECEIVED,
    REJECTED,
    SENT,
    Handoff,
)
from flowrail.handoff.store import (
    ForeignHandoffError,
    HandoffRecord,
    Handoffs,
    UnknownHandoffError,
)
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import ForeignSessionError, Store, UnknownSessionError

R = TypeVar("R", HandoffRecord, Record)
TRACE_EVENTS = {
    PREPARED: "validated",
    SENT: "transmitted",
    RECEIVED: "received",
    ACKNOWLEDGED: "processed",
    FAILED: "error",
    REJECTED: "error",
    CANCELLED: "error",
    EXPIRED: "error",
}
"""The kinds of records, as the event types of a 3.0 payload's trace."""
_RESULTS = {
    PREPARED: "interrupted before it was sent",
    SENT: "sent, not taken over yet",
    RECEIVED: "taken over, not confirmed yet",
    ACKNOWLEDGED: "taken over and confirmed",
}


@dataclass(frozen=True)
class HandoffTimeline:
    """The records of a handoff."""

    records: tuple[HandoffRecord, ...]

    @property
    def handoff(self) -> Handoff:
        """The handoff as it is now."""
        return self.records[-1].handoff

    @property
    def was_sent(self) -> bool:
        """Whether its payload was written."""
        return any(record.handoff.phase == INVOCATION for record in self.records)

    @property
    def result(self) -> str:
        """The result in words: whether the work arrived."""
        status, failure = self.handoff.status, self.handoff.failure
        return _RESULTS.get(status) or (f"{status}: {failure.message}" if failure else status)


@dataclass(frozen=True)
class JournalFinding:
    """A problem of the handoff or session with this id."""

    id: str
    code: str
    message: str


@dataclass(frozen=True)
class AuditReport:
    """Handoffs and sessions with all their records."""

    handoffs: tuple[HandoffTimeline, ...]
    sessions: tuple[tuple[Record, ...], ...]
    unreadable: tuple[JournalFinding, ...]
    """Journals that cannot be read."""
    foreign: tuple[JournalFinding, ...]
    """Journals that another user or machine wrote."""


def audit(
    store: Store,
    handoffs: Handoffs,
    *,
    wanted: str | None = None,
    with_sessions: bool = True,
) -> AuditReport:
    """Return the records of one id or of all, in the order in which they started.

    A session comes with the handoffs that it sent or received.
    """
    unreadable: list[JournalFinding] = []
    foreign: list[JournalFinding] = []
    handoff_journals = _journals(handoffs.entries.ids(), handoffs.entries.records, unreadable, foreign)
    session_ids = [id_ for id_ in store.ids() if wanted in {None, id_}] if with_sessions else []
    session_journals = _journals(session_ids, store.records, unreadable, foreign)
    report = AuditReport(
        tuple(
            HandoffTimeline(records)
            for records in sorted(handoff_journals, key=_start)
            if wanted is None or _is_about(records[-1].handoff, wanted)
        ),
        tuple(sorted(session_journals, key=_start)),
        tuple(journal for journal in unreadable if wanted in {None, journal.id}),
        tuple(journal for journal in foreign if wanted in {None, journal.id}),
    )
    if wanted is not None and not (report.handoffs or report.sessions or report.unreadable or report.foreign):
        raise UnknownHandoffError(
            f"no handoff and no session has the id `{wanted[:80]}`",
            hint=Hint("see all: ", Command("audit")),
            id=wanted[:80],
        )
    return report


def _journals(
    ids: Iterable[str],
    records: Callable[[str], Iterable[R]],
    unreadable: list[JournalFinding],
    foreign: list[JournalFinding],
) -> Iterator[tuple[R, ...]]:
    """Yield the records of every journal, and add those that are foreign or cannot be read to the lists."""
    for journal_id in ids:
        try:
            journal = tuple(records(journal_id))
        except (UnknownHandoffError, UnknownSessionError):
            continue  # its creation was interrupted
        except (ForeignHandoffError, ForeignSessionError) as error:
            foreign.append(JournalFinding(journal_id, error.code, f"{error.message}; {error.hint}"))
        except FlowError as error:
            unreadable.append(JournalFinding(journal_id, error.code, error.message))
        else:
            if journal:
                yield journal


def _is_about(handoff: Handoff, wanted: str) -> bool:
    return wanted in {handoff.id, *handoff.sessions}


def _start(records: Sequence[HandoffRecord | Record]) -> str:
    return records[0].at
