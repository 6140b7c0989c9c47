"""A session that was begun by somebody else, taken over by this user and for nobody else."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from flowrail.command import Command
from flowrail.errors import StorageError
from flowrail.machines.sessions.stored_session import Kept
from flowrail.operations.running.steps import World


class Adopted(NamedTuple):
    """A session and what it is: who began it when, how much is on record, what it runs."""

    kept: Kept
    begun_by: str
    begun_at: str
    records: int
    folder: str
    code: bool
    was_foreign: bool
    command: Command | None


def adopt(world: World, session_id: str) -> Adopted:
    """Take a session over; every record of it is checked before, and nothing in it is changed."""
    first, foreign = world.store.origin(session_id)
    records = sum(1 for _ in world.store.records(session_id))
    kept = world.store.read(session_id, adopt=True)
    try:
        definition, spoilt = world.store.definition(session_id), False
    except StorageError:
        definition, spoilt = {}, True
    if foreign or (spoilt and world.store.owner.adopted(first.hash)):
        world.store.take_over(session_id, first.hash, kept.hash)
        with suppress(StorageError):
            definition, foreign = world.store.definition(session_id), True
    resume = Command("resume", session_id, store=world.shown_store)
    return Adopted(
        kept=kept._replace(foreign=False),
        begun_by=first.by,
        begun_at=first.at,
        records=records,
        folder=str(definition.get("folder", "unknown")),
        code=bool(definition.get("functions")),
        was_foreign=foreign,
        command=resume if kept.session.is_open else None,
    )
