"""Verify every handoff of a store: its journal, the order of its phases, and its payload."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flowrail.handoff.audit import HandoffTimeline, JournalFinding, audit
from flowrail.handoff.handoff import DISCOVERY, INVOCATION
from flowrail.handoff.lifecycle import phases_after
from flowrail.handoff.payload.digest import digest_of
from flowrail.handoff.payload.document import NEWEST_PAYLOAD, render
from flowrail.handoff.store import (
    PRUNED,
    HandoffRecord,
    Handoffs,
    missing_parts,
    payload_path,
)
from flowrail.machines.session import ReceivedWork
from flowrail.machines.session_store import Store
from flowrail.storage.files import sha256_hex

_FOREIGN = "it was not recorded by you on this machine"


@dataclass(frozen=True)
class VerifiedHandoffs:
    """The number of verified handoffs, sessions, records and payloads, and all findings."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[JournalFinding, ...]


def verify_handoffs(store: Store, wanted: str | None = None) -> VerifiedHandoffs:
    """Verify that every journal, or that of the *wanted* id, is as it was written, and its payload the one that was sent.

    An open handoff whose payload, target or session is gone is a finding. A payload that was pruned with its session
    after the handoff ended is not.

    Sessions are read only for their notes about handoffs; `operations.journal_audit` verifies sessions.
    """
    report = audit(store, Handoffs(store), wanted=wanted)
    ids = [id_ for id_ in store.ids() if wanted in {None, id_}]
    findings = [found for found in report.unreadable if found.id not in ids]
    received = {journal[-1].session.id: journal[-1].session.received for journal in report.sessions}
    for session_id, work in received.items():
        findings += _received(store, session_id, work) if work else ()
    for timeline in report.handoffs:
        findings += [*_out_of_order(timeline.records), *_handoff(store, timeline)]
    digests = {timeline.handoff.sha256 for timeline in report.handoffs}
    if wanted is None:
        findings += _unsent_copies(store, ids, digests)
    foreign = set(report.foreign) - set(ids)
    findings += [JournalFinding(id_, "FOREIGN_HANDOFF", _FOREIGN) for id_ in sorted(foreign)]
    records = [*report.sessions, *(timeline.records for timeline in report.handoffs)]
    unread = [*(found.id for found in report.unreadable), *report.foreign]
    return VerifiedHandoffs(
        len(report.handoffs) + sum(id_ not in ids for id_ in unread),
        len(report.sessions) + sum(id_ in ids for id_ in unread),
        sum(map(len, records)),
        sum(map(bool, received.values())) + sum(_was_sent(t.records) for t in report.handoffs),
        tuple(findings),
    )


def _out_of_order(entries: Sequence[HandoffRecord]) -> Iterator[JournalFinding]:
    """Yield the records that the lifecycle does not allow after the one before them."""
    phase = INVOCATION if entries[0].handoff.foreign else DISCOVERY
    for entry in entries:
        if entry.handoff.phase not in phases_after(phase, entry.events):
            events = ", ".join(entry.events) or "no event"
            message = f"record {entry.seq}: {events} cannot lead from {phase} to {entry.handoff.phase}"
            yield JournalFinding(entry.handoff.id, "PHASES_OUT_OF_ORDER", message)
        phase = entry.handoff.phase


def _handoff(store: Store, timeline: HandoffTimeline) -> Iterator[JournalFinding]:
    """Yield the findings about a handoff."""
    handoff, entries = timeline.handoff, timeline.records
    for part, message in missing_parts(store, handoff).items():
        if part != "payload":
            yield JournalFinding(handoff.id, f"{part.upper()}_GONE", message)
    if not _was_sent(entries) or handoff.foreign:  # of a received payload, the receiver has a copy
        return
    path = payload_path(store, handoff)
    digest = digest_of(path)
    pruned = not handoff.is_open and any(entry.kind == PRUNED for entry in entries)
    if not digest and not pruned:
        yield JournalFinding(handoff.id, "PAYLOAD_GONE", f"{path} cannot be read")
    elif digest and digest != handoff.sha256:
        yield JournalFinding(handoff.id, "PAYLOAD_CHANGED", f"{path} is not what was sent")
    content = sha256_hex(render(handoff.schema, handoff.content))
    if content != handoff.sha256:
        message = "the recorded content of the payload does not have the recorded digest"
        yield JournalFinding(handoff.id, "DIGESTS_DIFFER", message)


def _was_sent(entries: Sequence[HandoffRecord]) -> bool:
    return any(entry.handoff.phase == INVOCATION for entry in entries)


def _unsent_copies(store: Store, session_ids: Sequence[str], digests: set[str]) -> Iterator[JournalFinding]:
    """Yield the copies of newest payloads that were never sent."""
    for session_id in session_ids:
        path = os.path.join(store.folder(session_id), NEWEST_PAYLOAD)
        if os.path.lexists(path) and digest_of(path) not in digests:
            yield JournalFinding(session_id, "PAYLOAD_CHANGED", f"{path} is not a payload that was sent")


def _received(store: Store, session_id: str, received: ReceivedWork) -> Iterator[JournalFinding]:
    path = os.path.join(store.folder(session_id), os.path.basename(received.payload))
    digest = digest_of(path)
    if digest != received.sha256:
        problem = "is not what was received" if digest else "cannot be read"
        yield JournalFinding(session_id, "PAYLOAD_CHANGED", f"{path} {problem}")
