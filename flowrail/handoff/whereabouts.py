"""Where a payload is on record: in the store it was sent from, the receiver's own, and where it was taken before.

A store can be copied, and a payload be carried from one to another. So whoever is to take one leaves word in
the user's state folder of the store that has it on record; what counts is the record there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from flowrail.discovery.locations import find_project_root
from flowrail.errors import DocumentError, StorageError
from flowrail.handoff.context import Desk
from flowrail.handoff.handoff import ACKNOWLEDGMENT, Handoff
from flowrail.handoff.payload import file
from flowrail.handoff.payload.document import Payload
from flowrail.handoff.store import Handoffs
from flowrail.machines.guidance.received_work import now_at
from flowrail.storage import files
from flowrail.storage.locking import locked

WORD = "received"
_LONGEST_PATH = 4096


def record_of(desk: Desk, path: str, payload: Payload) -> tuple[Handoffs, str | None]:
    """Return where the handoff of that file is on record, and its id there, if it is.

    The bytes tell which one it is. Where no record knows them, it is one still open that was sent as that very
    file. Of records in several stores, one that is over or claimed comes first, then that of its sender, then
    the one that word was left of.
    """
    known: list[tuple[Handoffs, Handoff]] = []
    here: list[tuple[Handoffs, Handoff]] = []
    seen: set[str] = set()
    stores = list(_stores(desk, path, payload.digest))
    for store in stores:
        if os.path.realpath(store) in seen:
            continue
        seen.add(os.path.realpath(store))
        handoffs = Handoffs(store, desk.store.owner)
        for handoff in handoffs.own_ones():
            if handoff.digest == payload.digest:
                known.append((handoffs, handoff))
                stores.append(_store_of(handoff.payload))  # where the store is that this may be a copy of
            elif handoff.is_open and not handoff.foreign and _same_file(_sent_as(store, handoff), path):
                here.append((handoffs, handoff))
    if known or here:
        handoffs, handoff = max(known, key=_rank) if known else here[-1]
        return handoffs, handoff.id
    return desk.handoffs, None


@contextmanager
def alone(desk: Desk, digest: str) -> Iterator[None]:
    """Keep other receivers of the payload of that digest waiting, whatever their stores are."""
    with ExitStack() as held:
        with suppress(StorageError):  # the records have locks of their own
            folder = os.path.join(desk.state, WORD)
            files.make_private_dir(folder)
            lock = os.path.join(folder, f".{digest[:2]}.lock")  # a few files, and others seldom wait
            held.enter_context(locked(lock, wait=desk.wait, what="the payload"))
        yield


def leave_word(desk: Desk, digest: str, store: str) -> None:
    """Leave word that the payload of that digest is on record in *store*."""
    with suppress(StorageError):  # the record stands, and is found from most places
        files.make_private_dir(os.path.join(desk.state, WORD))
        files.write_atomic(os.path.join(desk.state, WORD, digest), os.fsencode(os.path.abspath(store)))


def _stores(desk: Desk, path: str, digest: str) -> Iterator[str]:
    with suppress(DocumentError):
        word = os.path.join(desk.state, WORD, digest)
        store = os.fsdecode(files.read_bounded(word, limit=_LONGEST_PATH, what="the word of a receipt"))
        if os.path.isabs(store) and "\0" not in store:
            yield store
    yield _store_of(path)
    yield desk.store.path
    yield os.path.join(find_project_root(desk.project), ".flow")


def _store_of(path: str) -> str:
    """Return the store that a payload lies in, in the folder of its session, if it does."""
    for _ in range(4):
        path = os.path.dirname(path)
    return path


def _sent_as(store: str, handoff: Handoff) -> str:
    return now_at(handoff.payload, os.path.join(store, "sessions", handoff.session, file.FOLDER))


def _rank(known: tuple[Handoffs, Handoff]) -> tuple[bool, bool, bool, bool]:
    handoffs, handoff = known
    home = os.path.realpath(_store_of(handoff.payload)) == os.path.realpath(handoffs.store)
    return handoff.phase == ACKNOWLEDGMENT, not handoff.is_open, bool(handoff.claim), home


def _same_file(known: str, path: str) -> bool:
    return bool(known) and os.path.realpath(known) == os.path.realpath(path)
