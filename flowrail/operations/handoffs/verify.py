"""What is wrong with handoffs whose journals can be read: the order of their phases, and their payloads.

An open handoff whose payload, target or session is gone is a finding. A payload that was pruned with its session after the
handoff ended is not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from flowrail.handoff.handoff import DISCOVERY, INVOCATION
from flowrail.handoff.lifecycle import phases_after
from flowrail.handoff.payload.digest import digest_of
from flowrail.handoff.payload.document import NEWEST_PAYLOAD, render
from flowrail.handoff.store import PRUNED, HandoffRecord, missing_parts, payload_path
from flowrail.handoff.timelines import HandoffTimeline, JournalFinding
from flowrail.machines.session import Session
from flowrail.machines.session_store import Store
from flowrail.storage.files import sha256_hex


def handoff_findings(store: Store, timeline: HandoffTimeline) -> Iterator[JournalFinding]:
    """Yield the findings about a handoff."""
    handoff, records = timeline.handoff, timeline.records
    yield from _out_of_order(records)
    for part, message in missing_parts(store, handoff).items():
        if part != "payload":
            yield JournalFinding(handoff.id, f"{part.upper()}_GONE", message)
    if not timeline.was_sent or handoff.foreign:  # of a received payload, the receiver has a copy
        return
    path = payload_path(store, handoff)
    digest = digest_of(path)
    is_pruned = not handoff.is_open and any(record.kind == PRUNED for record in records)
    if not digest and not is_pruned:
        yield JournalFinding(handoff.id, "PAYLOAD_GONE", f"{path} cannot be read")
    elif digest and digest != handoff.sha256:
        yield JournalFinding(handoff.id, "PAYLOAD_CHANGED", f"{path} is not what was sent")
    if sha256_hex(render(handoff.schema, handoff.content)) != handoff.sha256:
        message = "the recorded content of the payload does not have the recorded digest"
        yield JournalFinding(handoff.id, "DIGESTS_DIFFER", message)


def _out_of_order(records: Sequence[HandoffRecord]) -> Iterator[JournalFinding]:
    """Yield the records that the lifecycle does not allow after the one before them."""
    phase = INVOCATION if records[0].handoff.foreign else DISCOVERY
    for record in records:
        if record.handoff.phase not in phases_after(phase, record.events):
            events = ", ".join(record.events) or "no event"
            message = f"record {record.seq}: {events} cannot lead from {phase} to {record.handoff.phase}"
            yield JournalFinding(record.handoff.id, "PHASES_OUT_OF_ORDER", message)
        phase = record.handoff.phase


def unsent_copies(store: Store, digests: Collection[str]) -> Iterator[JournalFinding]:
    """Yield the copies of newest payloads in the folders of sessions that were never sent with one of *digests*."""
    for session_id in store.ids():
        path = os.path.join(store.folder(session_id), NEWEST_PAYLOAD)
        if os.path.lexists(path) and digest_of(path) not in digests:
            yield JournalFinding(session_id, "PAYLOAD_CHANGED", f"{path} is not a payload that was sent")


def received_findings(store: Store, session: Session) -> Iterator[JournalFinding]:
    """Yield a finding if the payload that *session* received is not in its folder as it was."""
    if session.received is not None:
        path = os.path.join(store.folder(session.id), os.path.basename(session.received.payload))
        digest = digest_of(path)
        if digest != session.received.sha256:
            problem = "is not what was received" if digest else "cannot be read"
            yield JournalFinding(session.id, "PAYLOAD_CHANGED", f"{path} {problem}")
