"""Which sessions must be kept for an open handoff, and the record of a payload that is pruned."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from flowrail.errors import FlowError
from flowrail.handoff.payload.integrity import moment
from flowrail.handoff.store import ForeignHandoffError, Handoffs, UnknownHandoffError
from flowrail.storage.ownership import Owner

PRUNED = "pruned"
"""The kind of the record that says that a payload was deleted with its session."""

KEPT_FOR = timedelta(hours=24)
"""How long an open handoff keeps its session."""


def open_handoffs(store: str, owner: Owner, now: str) -> Callable[[str], str]:
    """Return a function that says why a session must be kept, or returns an empty text.

    A handoff keeps its session until it is acknowledged or closed, for at most 24 hours. Foreign handoffs keep
    none. If a handoff cannot be read, its session is unknown, so all of them are kept.
    """
    handoffs, current_time = Handoffs(store, owner), moment(now)
    needed: set[str] = set()
    for handoff_id in handoffs.ids():
        try:
            stored = handoffs.read(handoff_id)
        except (UnknownHandoffError, ForeignHandoffError):
            continue  # its creation was interrupted, or another user recorded it
        except FlowError:
            reason = f"handoff `{handoff_id}` cannot be read and may belong to it"
            return lambda _: reason
        handoff = stored.handoff
        started = moment(handoff.started_at)
        is_recent = started is None or current_time is None or current_time - started < KEPT_FOR
        if handoff.is_open and is_recent:
            needed.add(handoff.session)
    return lambda session_id: "it has an open handoff" if session_id in needed else ""


def record_pruned(
    store: str, owner: Owner, *, now: Callable[[], str], by: str, wait: float = 10.0
) -> Callable[[str], None]:
    """Return a function that records, for each payload of a session, that it is deleted with the session."""
    handoffs = Handoffs(store, owner)

    def record(session_id: str) -> None:
        for handoff in handoffs.own_ones():
            if handoff.session != session_id or not handoff.payload:
                continue
            with handoffs.change(handoff.id, wait=wait) as change:
                note = {"session": session_id, "payload": handoff.payload}
                change.commit(change.kept.handoff, kind=PRUNED, at=now(), by=by, note=note)

    return record
