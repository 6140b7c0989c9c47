"""The sessions of a store as a list, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from flowrail.errors import FlowError, without_traceback
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store, StoredSession, UnknownSessionError
from flowrail.operations.running import child_sessions

if TYPE_CHECKING:
    from flowrail.operations.running.child_sessions import DispatchLookup


class Summary(NamedTuple):
    """One session of a list. ``problem`` says why it cannot be read."""

    id: str
    kept: StoredSession | None
    problem: FlowError | None = None
    lost: bool = False
    """Whether it is an agent's whose work was given to another, called off or left behind."""


def summaries(store: Store, *, every: bool = False, ids: Sequence[str] | None = None) -> list[Summary]:
    """Return the open sessions of a store, or *every* one, newest first; broken ones with the reason.

    *ids* are those to read, if the others are known not to matter.
    """
    found: list[Summary] = []
    is_lost = _lost_ones(store)
    if ids is None:
        ids = store.ids() if every else store.open_ids()
    for session_id in ids:
        try:
            kept = store.read(session_id)
        except UnknownSessionError:
            continue  # its start was interrupted: it never began
        except FlowError as error:
            found.append(Summary(session_id, None, without_traceback(error)))
            continue
        if every or kept.session.is_open:
            lost = is_lost(kept.session)
            found.append(Summary(session_id, kept, lost=lost))
    found.sort(key=lambda each: each.kept.session.moved_at if each.kept else "", reverse=True)
    return found


def _lost_ones(store: Store) -> Callable[[Session], bool]:
    """Return a function that says whether a session is lost; it reads each parent once."""
    givers: DispatchLookup | None = None

    def is_lost(session: Session) -> bool:
        nonlocal givers
        if not session.parent:
            return False

        givers = givers or child_sessions.DispatchLookup(store)
        return child_sessions.is_lost(store, session, givers)

    return is_lost
