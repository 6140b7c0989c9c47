"""A session that came from elsewhere, taken over by this user and nobody else."""

from __future__ import annotations

from flowrail.machines.kept import Kept
from flowrail.machines.store import Store


def adopt(store: Store, session_id: str) -> Kept:
    """Take over a session; every record of it is checked before, and nothing in it is changed."""
    for _ in store.records(session_id):
        pass
    first, foreign = store.origin(session_id)
    if foreign:
        store.owner.adopt(first.hash)
    return store.read(session_id)
