"""Which sessions have to stay for the work that they handed over, and what is recorded when one goes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from flowrail.errors import FlowError
from flowrail.handoff.payload.integrity import moment
from flowrail.handoff.store import ForeignHandoffError, Handoffs, UnknownHandoffError
from flowrail.storage.ownership import Owner

PRUNED = "pruned"
"""The record that a payload was deleted with the session that it lay in."""

KEPT_FOR = timedelta(hours=24)
"""How long an open handoff holds the session that it came from."""


def waiting(store: str, owner: Owner, now: str) -> Callable[[str], str]:
    """Return what answers, from a session's id, why it has to stay for a handoff; with nothing where it need not.

    A handoff holds its session until it is acknowledged or closed, and for 24 hours at most; one that somebody
    else recorded holds none. Where a handoff cannot be read, nobody knows which session it is of, so all of
    them stay.
    """
    handoffs, today = Handoffs(store, owner), moment(now)
    held: set[str] = set()
    for handoff_id in handoffs.ids():
        try:
            kept = handoffs.read(handoff_id)
        except (UnknownHandoffError, ForeignHandoffError):
            continue  # its beginning was interrupted, or another user recorded it
        except FlowError:
            why = f"handoff `{handoff_id}` cannot be read, and may be of it"
            return lambda _: why
        handoff = kept.handoff
        begun = moment(handoff.started_at)
        young = begun is None or today is None or today - begun < KEPT_FOR
        if handoff.is_open and young:
            held.add(handoff.session)
    return lambda session_id: "a handoff of it is open" if session_id in held else ""


def gone_with(
    store: str, owner: Owner, *, now: Callable[[], str], by: str, wait: float = 10.0
) -> Callable[[str], None]:
    """Return what records, for every payload that a session handed over, that it goes with that session."""
    handoffs = Handoffs(store, owner)

    def record(session_id: str) -> None:
        for known in handoffs.own_ones():
            if known.session != session_id or not known.payload:
                continue
            with handoffs.change(known.id, wait=wait) as change:
                note = {"session": session_id, "payload": known.payload}
                change.commit(change.kept.handoff, kind=PRUNED, at=now(), by=by, note=note)

    return record
