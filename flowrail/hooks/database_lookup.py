"""Sessions in a database, for a hook: those of a conversation, found by their labels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from flowrail.errors import FlowError
from flowrail.hooks.fast_lookup import SessionFolder, SessionGlance
from flowrail.machines.sessions.session import COMPLETED, FAILED, Session
from flowrail.machines.sessions.store import Store
from flowrail.storage.ownership import Owner
from flowrail.storage.records import to_plain
from flowrail.storage.sql_store import SqlBackend


def _store_of(folder: SessionFolder) -> Store:
    """Return the store in the database of *folder*. Owner marks are not used there."""
    backend = SqlBackend.at(folder.address, folder=os.path.dirname(folder.path))
    return Store(folder.path, Owner(""), named=folder.named, backend=backend)


def sessions_of(folder: SessionFolder, conversations: Sequence[str]) -> Iterator[SessionGlance]:
    """Yield the open sessions that belong to one of *conversations*, in their order."""
    sessions = _sessions(folder, conversations)
    for conversation in conversations:
        for session in sessions:
            if session.is_open and session.belongs_to((conversation,)):
                yield _glance(folder, session)


def ended_sessions_of(folder: SessionFolder, conversation: str) -> Iterator[SessionGlance]:
    """Yield the sessions of a conversation that ended, well or not."""
    for session in _sessions(folder, (conversation,)):
        if session.status in {COMPLETED, FAILED} and not session.parent:
            yield _glance(folder, session)


def session_at(folder: SessionFolder, session_id: str) -> tuple[SessionGlance, Mapping[str, object]] | None:
    """Return an open session by its id, with its content."""
    with suppress(FlowError):
        session = _store_of(folder).read(session_id).session
        return (_glance(folder, session), to_plain(session)) if session.is_open else None
    return None


def _sessions(folder: SessionFolder, conversations: Sequence[str]) -> list[Session]:
    store = _store_of(folder)
    sessions = []
    for session_id in store.ids_of_conversations(conversations):
        with suppress(FlowError):
            sessions.append(store.read(session_id).session)
    return sessions


def _glance(folder: SessionFolder, session: Session) -> SessionGlance:
    return SessionGlance(
        folder, session.id, session.status, str(session.step), session.moved_at, bool(session.parent)
    )
