"""Delete old sessions that have ended.

A session stays if it is open, if its parent is open, if it has an open handoff, if it belongs to another user, or if it
cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from flowrail.errors import ConflictError, FlowError
from flowrail.machines.sessions.record import TEXTS_FOLDER
from flowrail.machines.sessions.session import WORK
from flowrail.machines.sessions.store import (
    DEFINITION,
    ForeignSessionError,
    Store,
    StoredSession,
    UnknownSessionError,
)
from flowrail.operations.environment import World
from flowrail.operations.running import session_files
from flowrail.operations.running.child_sessions import DispatchLookup, is_lost
from flowrail.storage import files
from flowrail.storage.file_store import JOURNAL, LOCK
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.ownership import OWNER_FILE

DAY = 86_400.0
UNBEGUN = "never begun"
LOST = "lost"
"""The status of a sub-agent's session whose dispatch was reassigned, cancelled or abandoned."""
_STARTING = 3_600.0
"""A session that is younger may still be starting."""
_HANDOFFS = "handoffs"

Needs = Callable[[str], str]
"""Returns why a session is still needed, by its id; an empty text if it is not."""

Parting = Callable[[str], None]
"""Records that the files of a session will be deleted; called before they are."""


class OldSession(NamedTuple):
    """An old session; ``why`` is the reason it stays, if it does."""

    session: str
    status: str
    days: float
    why: str


class PruneResult(NamedTuple):
    """The deleted sessions, and those that are old enough but stayed."""

    gone: tuple[OldSession, ...]
    kept: tuple[OldSession, ...]


def prune(
    world: World,
    *,
    older_than: float,
    statuses: Collection[str] = (),
    dry_run: bool = False,
    needs: Needs = lambda _: "",
    parting: Parting = lambda _: None,
) -> PruneResult:
    """Delete sessions that ended more than *older_than* days ago; with *dry_run*, only return them."""
    store, now = world.store, _seconds(world.now())
    if not dry_run:
        _sweep(store, now)
    gone: list[OldSession] = []
    kept: list[OldSession] = []
    for item in _old(store, now, older_than, statuses, needs):
        if item.why:
            kept.append(item)
            continue
        try:
            why = "" if dry_run else _remove(world, item, parting)
        except LockTimeoutError as error:
            why, world = error.message, world._replace(wait=0.0)  # wait once, not for each session
        (kept if why else gone).append(item._replace(why=why))
    return PruneResult(tuple(gone), tuple(kept))


def _old(
    store: Store, now: float, older_than: float, statuses: Collection[str], needs: Needs
) -> Iterator[OldSession]:
    givers = DispatchLookup(store)
    for session_id in store.ids():
        try:
            kept = store.read(session_id)
            days = (now - _seconds(next(store.newest_first(session_id)).at)) / DAY
        except UnknownSessionError:
            days = _unbegun_for(store.folder(session_id), now) / DAY
            if foreign := _not_ours(store.folder(session_id)):
                yield OldSession(
                    session_id, UNBEGUN, days, f"it contains {foreign}, which flow did not write"
                )
            elif days > max(older_than, _STARTING / DAY) and (not statuses or UNBEGUN in statuses):
                yield OldSession(session_id, UNBEGUN, days, "")
            continue
        except ForeignSessionError:
            yield OldSession(session_id, "foreign", 0.0, "you did not start it")
            continue
        except FlowError as error:
            yield OldSession(session_id, "unreadable", 0.0, f"it cannot be read: {error.message}")
            continue
        session = kept.session
        status = LOST if is_lost(store, session, givers) else session.status
        ended = status == LOST or not session.is_open
        if ended and days >= older_than and (not statuses or status in statuses):
            yield OldSession(session_id, status, days, _needed(store, kept, needs))


def _needed(store: Store, kept: StoredSession, needs: Needs) -> str:
    """Return why an old session must stay, or an empty text."""
    if why := needs(kept.session.id):
        return why
    if not kept.session.parent:
        return ""
    parent = kept.session.parent.session
    try:
        return f"its parent session `{parent}` is open" if store.read(parent).session.is_open else ""
    except UnknownSessionError:
        return ""
    except FlowError as error:
        return f"its parent session `{parent}` cannot be read: {error.message}"


def _remove(world: World, item: OldSession, parting: Parting) -> str:
    """Delete one session under its lock; return why it stayed, if it changed meanwhile."""
    store = world.store
    if item.status == UNBEGUN:
        store.delete(item.session)
    else:
        try:
            with store.change(item.session, wait=world.wait) as change:
                now = change.kept.session
                if now.is_open and not (item.status == LOST and is_lost(store, now)):
                    return "it was opened again"
                parting(item.session)
                session_files.remove(world, now)
                store.delete(item.session)
        except UnknownSessionError as error:
            return error.message
    return ""


def _sweep(store: Store, now: float) -> None:
    """Delete what an interrupted run left behind, and temporary files of killed writers."""
    files.sweep(
        store.path, now=now
    )  # the folder may belong to something else: only temporary files of ours are deleted
    handoffs = os.path.join(store.path, _HANDOFFS)
    places = [each for each in (store.sessions, handoffs) if not os.path.islink(each)]
    inner = [folder for each in places for folder in _with_inner(each)]
    for place in (store.owner.folder, *inner):
        for folder in _with_inner(place):
            files.sweep(folder, now=now)
    store.delete_leftovers()


def _with_inner(folder: str) -> list[str]:
    """Return *folder* and the folders in it, without links."""
    inner: list[str] = []
    with suppress(OSError), os.scandir(folder) as found:
        inner = [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    return [folder, *inner]


def _not_ours(folder: str) -> str:
    """Return the name of something in *folder* that the start of a session does not write."""
    ours = {DEFINITION, JOURNAL, LOCK, OWNER_FILE, TEXTS_FOLDER, WORK}
    with suppress(OSError):
        return next(
            (
                name
                for name in sorted(os.listdir(folder))
                if name not in ours and not files.is_temporary(name)
            ),
            "",
        )
    return ""


def _unbegun_for(folder: str, now: float) -> float:
    try:
        return now - os.lstat(folder).st_mtime
    except OSError:
        return 0.0


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        raise ConflictError(f"`{stamp[:40]}` is not a time", hint="delete this session by hand") from None
