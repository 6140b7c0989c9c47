"""Verify every handoff of a store: its journal, the order of its phases, and its payload."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.handoff.audit import JournalFinding
from flowrail.handoff.checks import missing_parts, payload_path
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.handoff import INVOCATION
from flowrail.handoff.lifecycle import TRANSITIONS
from flowrail.handoff.payload.document import NEWEST_PAYLOAD, digest_of
from flowrail.handoff.store import PRUNED, HandoffRecord, UnknownHandoffError
from flowrail.machines.guidance.guide import now_at
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import Store, UnknownSessionError


class VerifiedHandoffs(NamedTuple):
    """The number of verified handoffs, sessions, records and payloads, and all findings."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[JournalFinding, ...]


def verify(context: HandoffContext) -> VerifiedHandoffs:
    """Verify that every journal is as it was written, and that each payload is the one that was sent.

    An open handoff whose payload, target or session is gone is a finding. A payload that was pruned with its session
    after the handoff ended is not.

    Sessions are read only for their notes about handoffs; `operations.sessions.verify` verifies sessions.
    """
    store, handoffs = context.store, context.handoffs
    findings: list[JournalFinding] = []
    session_ids = store.ids()
    sessions = number = records = payloads = 0
    sent: dict[str, str] = {}
    for session_id in session_ids:
        try:
            journal = list(store.records(session_id))
        except UnknownSessionError:
            continue
        except FlowError:  # verifying the session reports the problem
            sessions += 1
            continue
        sessions += bool(journal)
        records += len(journal)
        sent.update(
            (str(record.note.get("handoff")), str(record.note.get("sha256")))
            for record in journal
            if record.kind == "handoff"
        )
        if journal and (received := journal[-1].session.received):
            payloads += 1
            findings += _received(store, session_id, received)
    digests: set[str] = set()
    for handoff_id in handoffs.entries.ids():
        try:
            entries = list(handoffs.entries.records(handoff_id))
        except UnknownHandoffError:
            continue
        except FlowError as error:
            findings.append(JournalFinding(handoff_id, error.code, error.message))
            number += 1
            continue
        if not entries:
            continue
        number += 1
        records += len(entries)
        digests.add(entries[-1].handoff.digest)
        payloads += any(entry.handoff.phase == INVOCATION for entry in entries)
        findings += [*_out_of_order(entries), *_handoff(store, entries, sent)]
    for session_id in session_ids:
        findings += _newest_payload(store.folder(session_id), session_id, digests)
    return VerifiedHandoffs(number, sessions, records, payloads, tuple(findings))


def _out_of_order(entries: Sequence[HandoffRecord]) -> Iterator[JournalFinding]:
    """Yield the records that the lifecycle does not allow after the one before them."""
    allowed = {(transition.source, transition.event, transition.target) for transition in TRANSITIONS}
    for before, after in pairwise(entries):
        source, event, target = before.handoff.phase, after.event, after.handoff.phase
        if (source, event, target) not in allowed and (event or source != target):
            message = f"record {after.seq}: the lifecycle does not allow `{event}` from {source} to {target}"
            yield JournalFinding(after.handoff.id, "PHASES_OUT_OF_ORDER", message)


def _handoff(
    store: Store, entries: Sequence[HandoffRecord], sent: Mapping[str, str]
) -> Iterator[JournalFinding]:
    """Yield the findings about a handoff; *sent* are the digests of payloads in the journals of sessions."""
    handoff = entries[-1].handoff
    for part, message in missing_parts(store, handoff).items():
        if part != "payload":
            yield JournalFinding(handoff.id, f"{part.upper()}_GONE", message)
    if all(entry.handoff.phase != INVOCATION for entry in entries):
        return
    path = payload_path(store, handoff)
    digest = digest_of(path)
    pruned = not handoff.is_open and any(entry.kind == PRUNED for entry in entries)
    if not handoff.foreign and sent.get(handoff.id, handoff.digest) != handoff.digest:
        message = "the session's journal has another digest of the payload than the handoff's"
        yield JournalFinding(handoff.id, "DIGESTS_DIFFER", message)
    if not digest and not handoff.foreign and not pruned:  # of a received payload, the receiver has a copy
        yield JournalFinding(handoff.id, "PAYLOAD_GONE", f"{path} cannot be read")
    elif digest and digest != handoff.digest:
        yield JournalFinding(handoff.id, "PAYLOAD_CHANGED", f"{path} is not what was sent")


def _newest_payload(folder: str, session_id: str, digests: set[str]) -> Iterator[JournalFinding]:
    """Yield a copy of the newest payload that was never sent."""
    for ending in ("yaml", "json"):
        path = os.path.join(folder, f"{NEWEST_PAYLOAD}.{ending}")
        if os.path.lexists(path) and digest_of(path) not in digests:
            yield JournalFinding(session_id, "PAYLOAD_CHANGED", f"{path} is not a payload that was sent")


def _received(store: Store, session_id: str, received: ReceivedWork) -> Iterator[JournalFinding]:
    path = now_at(received.payload, store.folder(session_id))
    digest = digest_of(path)
    if digest != received.sha256:
        problem = "is not what was received" if digest else "cannot be read"
        yield JournalFinding(session_id, "PAYLOAD_CHANGED", f"{path} {problem}")
