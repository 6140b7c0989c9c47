"""Verify every handoff of a store: its journal and its payload."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.handoff.checks import missing_parts
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.handoff import INVOCATION, Handoff
from flowrail.handoff.payload.document import NEWEST_PAYLOAD, PAYLOAD_FOLDER, digest_of
from flowrail.handoff.store import PRUNED, HandoffRecord, Handoffs, UnknownHandoffError
from flowrail.machines.guidance.guide import now_at
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import Store, UnknownSessionError


class HandoffFinding(NamedTuple):
    """Something that is wrong: with which handoff or session, and what."""

    id: str
    code: str
    message: str


class VerifiedHandoffs(NamedTuple):
    """What was verified, and everything that is wrong."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[HandoffFinding, ...]


def verify(context: HandoffContext) -> VerifiedHandoffs:
    """Verify that every journal is as it was written, and that each payload is the one that was sent.

    An open handoff whose payload, target or session is gone is a finding. A payload that was pruned with its session
    after the handoff ended is none.

    Sessions are read for what they say of handoffs; `operations.sessions.verify` verifies them.
    """
    store, handoffs = context.store, context.handoffs
    found: list[HandoffFinding] = []
    session_ids = store.ids()
    records = payloads = 0
    sent: dict[str, str] = {}
    readable: set[str] = set()
    sessions = 0
    for session_id in session_ids:
        read = _session_records(store, session_id, sent)
        sessions += read is not None
        if read:
            readable.add(session_id)
            records += len(read)
            if received := read[-1].session.received:
                payloads += 1
                found += _received(store, session_id, received)
    digests: set[str] = set()
    number = 0
    for handoff_id in handoffs.ids():
        entries = _handoff_records(handoffs, handoff_id, found)
        number += entries is not None
        if not entries:
            continue
        records += len(entries)
        handoff = entries[-1].handoff
        digests.add(handoff.digest)
        parts = [part for part in missing_parts(context.store, handoff) if part.name != "payload"]
        found += [HandoffFinding(handoff_id, f"{part.name.upper()}_GONE", part.message) for part in parts]
        if any(entry.handoff.phase == INVOCATION for entry in entries):
            payloads += 1
            pruned = not handoff.is_open and any(entry.kind == PRUNED for entry in entries)
            path = handoff.payload
            if handoff.session in readable and not handoff.foreign:
                path = now_at(path, os.path.join(store.folder(handoff.session), PAYLOAD_FOLDER))
            found += _payload(handoff, path, sent.get(handoff.id), pruned=pruned)
    for session_id in session_ids:
        found += _newest_payload(store.folder(session_id), session_id, digests)
    return VerifiedHandoffs(number, sessions, records, payloads, tuple(found))


def _session_records(store: Store, session_id: str, sent: dict[str, str]) -> list[Record] | None:
    """Return the records of a session, `None` if it never began, and add the payloads it handed over to *sent*."""
    try:
        records = list(store.records(session_id))
    except UnknownSessionError:
        return None
    except FlowError:
        return []  # verifying the session names what is wrong with it
    if not records:
        return None
    for record in records:
        if record.kind == "handoff":
            sent[str(record.note.get("handoff"))] = str(record.note.get("sha256"))
    return records


def _handoff_records(
    handoffs: Handoffs, handoff_id: str, found: list[HandoffFinding]
) -> list[HandoffRecord] | None:
    try:
        return list(handoffs.records(handoff_id)) or None
    except UnknownHandoffError:
        return None
    except FlowError as error:
        found.append(HandoffFinding(handoff_id, error.code, error.message))
        return []


def _payload(handoff: Handoff, path: str, sent: str | None, *, pruned: bool) -> Iterator[HandoffFinding]:
    digest = digest_of(path)
    if not handoff.foreign and sent is not None and sent != handoff.digest:
        message = "the session's journal has another digest of the payload than the handoff's"
        yield HandoffFinding(handoff.id, "DIGESTS_DIFFER", message)
    if not digest and not handoff.foreign and not pruned:  # of a received payload, the receiver has a copy
        yield HandoffFinding(handoff.id, "PAYLOAD_GONE", f"{path} cannot be read")
    elif digest and digest != handoff.digest:
        yield HandoffFinding(handoff.id, "PAYLOAD_CHANGED", f"{path} is not what was sent")


def _newest_payload(folder: str, session_id: str, digests: set[str]) -> Iterator[HandoffFinding]:
    """Yield a copy of the newest payload that was never sent."""
    for ending in ("yaml", "json"):
        path = os.path.join(folder, f"{NEWEST_PAYLOAD}.{ending}")
        if os.path.lexists(path) and digest_of(path) not in digests:
            yield HandoffFinding(session_id, "PAYLOAD_CHANGED", f"{path} is not a payload that was sent")


def _received(store: Store, session_id: str, received: ReceivedWork) -> Iterator[HandoffFinding]:
    path = now_at(received.payload, store.folder(session_id))
    digest = digest_of(path)
    if digest != received.sha256:
        what = "is not what was received" if digest else "cannot be read"
        yield HandoffFinding(session_id, "PAYLOAD_CHANGED", f"{path} {what}")
