"""Sessions taken off the disk: old ones that have ended, and nothing that anybody still needs.

Never an open one that anybody can go on with, one whose parent is open, one with an open handoff, one of
another user, or one that cannot be read.
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
from flowrail.operations.running.child_sessions import Givers, is_lost
from flowrail.operations.running.world import World
from flowrail.storage import files
from flowrail.storage.file_store import JOURNAL, LOCK
from flowrail.storage.locking import LockTimeoutError
from flowrail.storage.ownership import OWNER_FILE

DAY = 86_400.0
UNBEGUN = "never begun"
LOST = "lost"
"""An agent's session whose work was given to another, called off or left behind."""
_STARTING = 3_600.0
"""A start that is younger may still be going on."""
_HANDOFFS = "handoffs"

Needs = Callable[[str], str]
"""Answers from a session's id why something else still needs it; with nothing where nothing does."""

Parting = Callable[[str], None]
"""Puts on record, where others rest on a session's files, that it goes; called before it does."""


class Item(NamedTuple):
    """A session that goes, or stays although it is old; ``why`` says why."""

    session: str
    status: str
    days: float
    why: str


class Pruned(NamedTuple):
    """What went, and what was old enough and stayed."""

    gone: tuple[Item, ...]
    kept: tuple[Item, ...]


def prune(
    world: World,
    *,
    older_than: float,
    statuses: Collection[str] = (),
    dry_run: bool = False,
    needs: Needs = lambda _: "",
    parting: Parting = lambda _: None,
) -> Pruned:
    """Delete sessions that ended more than *older_than* days ago, or only tell which with *dry_run*."""
    store, now = world.store, _seconds(world.now())
    if not dry_run:
        _sweep(store, now)
    gone: list[Item] = []
    kept: list[Item] = []
    for item in _old(store, now, older_than, statuses, needs):
        if item.why:
            kept.append(item)
            continue
        try:
            why = "" if dry_run else _remove(world, item, parting)
        except LockTimeoutError as error:
            why, world = error.message, world._replace(wait=0.0)  # so long is waited once, not for each
        (kept if why else gone).append(item._replace(why=why))
    return Pruned(tuple(gone), tuple(kept))


def _old(
    store: Store, now: float, older_than: float, statuses: Collection[str], needs: Needs
) -> Iterator[Item]:
    givers = Givers(store)
    for session_id in store.ids():
        try:
            kept = store.read(session_id)
            days = (now - _seconds(next(store.newest_first(session_id)).at)) / DAY
        except UnknownSessionError:
            days = _unbegun_for(store.folder(session_id), now) / DAY
            if foreign := _not_ours(store.folder(session_id)):
                yield Item(session_id, UNBEGUN, days, f"it holds {foreign}, which no start writes")
            elif days > max(older_than, _STARTING / DAY) and (not statuses or UNBEGUN in statuses):
                yield Item(session_id, UNBEGUN, days, "")
            continue
        except ForeignSessionError:
            yield Item(session_id, "foreign", 0.0, "it was not started by you")
            continue
        except FlowError as error:
            yield Item(session_id, "unreadable", 0.0, f"it cannot be read: {error.message}")
            continue
        session = kept.session
        status = LOST if is_lost(store, session, givers) else session.status
        ended = status == LOST or not session.is_open
        if ended and days > older_than and (not statuses or status in statuses):
            yield Item(session_id, status, days, _needed(store, kept, needs))


def _needed(store: Store, kept: StoredSession, needs: Needs) -> str:
    """Return why an old session has to stay, if it has."""
    if why := needs(kept.session.id):
        return why
    if not kept.session.parent:
        return ""
    parent = kept.session.parent.session
    try:
        return f"`{parent}`, which it works for, is open" if store.read(parent).session.is_open else ""
    except UnknownSessionError:
        return ""
    except FlowError as error:
        return f"`{parent}`, which it works for, cannot be read: {error.message}"


def _remove(world: World, item: Item, parting: Parting) -> str:
    """Take one session away under its lock; return why it stayed where somebody was quicker."""
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
                store.delete(item.session)
        except UnknownSessionError as error:
            return error.message
    return ""


def _sweep(store: Store, now: float) -> None:
    """Delete what an earlier run had moved out of sight when it died, and files that killed writers left."""
    files.sweep(store.path, now=now)  # it may be anybody's folder: what else lies in it is not looked at
    handoffs = os.path.join(store.path, _HANDOFFS)
    places = [each for each in (store.sessions, handoffs) if not os.path.islink(each)]
    inner = [folder for each in places for folder in _with_inner(each)]
    for place in (store.owner.folder, *inner):
        for folder in _with_inner(place):
            files.sweep(folder, now=now)
    store.delete_leftovers()


def _with_inner(folder: str) -> list[str]:
    """Return *folder* and those that lie in it, links aside."""
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
        raise ConflictError(f"`{stamp[:40]}` is no time", hint="prune this session by hand") from None
