"""Handoffs in a store, beside its sessions. Each has a journal with one record per phase.

    handoffs/<id>/journal.jsonl    the records, appended and flushed
    handoffs/<id>/handoff.json     snapshot of the newest record
    handoffs/<id>/owner            the mark of its owner
    handoffs/<id>/preserved.*      the payload of an attempt that failed

Every `RecordStore` has such a journal, snapshot, mark and lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, StorageError, TrustError, UsageError
from flowrail.handoff.handoff import ACKNOWLEDGMENT, Handoff
from flowrail.machines.sessions.store import Store
from flowrail.storage.file_store import (
    FileStore,
    HeldEntry,
    Kind,
    RecordStore,
    SideFiles,
    prepare_folder,
)
from flowrail.storage.journal import Encoding
from flowrail.storage.records import from_plain, to_plain
from flowrail.text.phrases import did_you_mean, moment

HANDOFF_ID = re.compile(r"handoff-[a-z0-9]{6}\Z")


class UnknownHandoffError(UsageError):
    """The store has no handoff with that id."""

    code = "UNKNOWN_HANDOFF"


class ForeignHandoffError(TrustError):
    """The handoff was not recorded by this user on this machine; it may have come with a clone."""

    code = "FOREIGN_HANDOFF"


class HandoffRecord(NamedTuple):
    """One line of a handoff's journal: kind, time, author, and the handoff after it.

    ``event`` is the event of the lifecycle that led to the handoff's phase; it is empty if the phase did not change.
    """

    seq: int
    kind: str
    at: str
    by: str
    handoff: Handoff
    note: Mapping[str, Any]
    prev: str
    hash: str = ""
    event: str = ""


class HandoffChange:
    """A handoff held under its lock, to which records can be added."""

    def __init__(self, held: HeldEntry[HandoffRecord], folder: str) -> None:
        self.handoff = held.newest.handoff
        self.folder = folder
        self._held = held
        self._seq, self._hash = held.newest.seq, held.newest.hash

    def commit(
        self,
        handoff: Handoff,
        *,
        kind: str,
        at: str,
        by: str,
        event: str = "",
        note: Mapping[str, object] | None = None,
    ) -> Handoff:
        """Add one record. It is stored before this returns."""
        record = HandoffRecord(self._seq + 1, kind, at, by, handoff, note or {}, self._hash, event=event)
        self._hash = self._held.append(record)
        self._seq, self.handoff = record.seq, handoff
        return handoff


class Handoffs:
    """The handoffs beside the sessions of *store*. ``entries`` are their records."""

    def __init__(self, store: Store) -> None:
        kind = Kind("handoff", HANDOFF_ID, _encoding, _id_of, _unknown, _foreign)
        self.entries: RecordStore[HandoffRecord] = (
            FileStore(store.path, kind, store.owner) if store.backend is None else store.backend.records(kind)
        )
        self.store = store
        self.path = f"{store.path}/handoffs"

    def create(
        self, handoff: Handoff, *, kind: str, at: str, by: str, note: Mapping[str, object] | None = None
    ) -> None:
        """Store a new handoff. Its id must be new, or its creation must have been interrupted."""
        if self.store.is_database:
            prepare_folder(self.store.path, self.folder(handoff.id))
        self.entries.create(handoff.id, HandoffRecord(0, kind, at, by, handoff, note or {}, ""), {})

    def folder(self, handoff_id: str) -> str:
        """Return the folder of a handoff; an invalid id is refused."""
        if not HANDOFF_ID.match(handoff_id):
            raise _unknown(handoff_id, list)
        return f"{self.path}/{handoff_id}"

    def all(self, lost: list[str] | None = None) -> Iterator[Handoff]:
        """Yield every handoff that can be read, and add the ids of the others to *lost*."""
        for handoff_id, newest in self.entries.newest_of_all():
            try:
                yield newest().handoff
            except UnknownHandoffError:
                continue  # its creation was interrupted
            except (StorageError, ForeignHandoffError):
                (lost if lost is not None else []).append(handoff_id)

    def own_ones(self) -> Iterator[Handoff]:
        """Yield every handoff of this user that can be read."""
        with suppress(StorageError):  # a linked folder of handoffs is not part of this store
            yield from self.all()

    def receivers(self) -> frozenset[str]:
        """Return the skills that received a handoff from this store. Foreign handoffs do not count."""
        return frozenset(handoff.target for handoff in self.own_ones() if handoff.phase == ACKNOWLEDGMENT)

    def read(self, handoff_id: str) -> Handoff:
        """Return a handoff as it is now, without waiting for a lock."""
        return self.entries.newest(handoff_id).handoff

    @contextmanager
    def change(self, handoff_id: str, *, wait: float = 10.0) -> Iterator[HandoffChange]:
        """Hold a handoff's lock, and yield the handoff for changes."""
        with self.entries.change(handoff_id, wait=wait) as held:
            yield HandoffChange(held, self.folder(handoff_id))

    def adopt_with(self, session_id: str) -> None:
        """Make the foreign handoffs that a session sent or received this user's own."""
        for handoff_id in self.entries.ids():
            with suppress(UnknownHandoffError, StorageError):
                *_, newest = self.entries.records(handoff_id, foreign=True)
                claim = newest.handoff.claim
                if session_id in {newest.handoff.session, claim.session if claim else ""}:
                    self.entries.adopt(handoff_id)


def _encoding(_: SideFiles) -> Encoding[HandoffRecord]:
    def encode(record: HandoffRecord) -> dict[str, object]:
        data: dict[str, object] = to_plain(record)
        del data["hash"]
        return data

    return Encoding(encode, lambda data, _: from_plain(data, HandoffRecord))


def _id_of(record: HandoffRecord) -> str:
    return record.handoff.id


def _unknown(handoff_id: str, others: Callable[[], list[str]]) -> UnknownHandoffError:
    return UnknownHandoffError(
        f"there is no handoff `{handoff_id[:80]}` here",
        hint=did_you_mean(handoff_id, others(), Hint("see all: ", Command("handoff status", all=True))),
        handoff=handoff_id[:80],
    )


def _foreign(handoff_id: str) -> ForeignHandoffError:
    return ForeignHandoffError(
        f"handoff `{handoff_id}` was not recorded by you on this machine",
        hint="have it sent again, from a session of your own",
        handoff=handoff_id,
    )


PRUNED = "pruned"
"""The kind of the record of a payload that was deleted with its session."""

KEPT_FOR = timedelta(hours=24)
"""How long an open handoff keeps its session."""


def open_handoffs(handoffs: Handoffs, now: str) -> Callable[[str], str]:
    """Return a function that says why a session must be kept, or returns an empty text.

    A handoff keeps its session until it is acknowledged or closed, for at most 24 hours. Foreign handoffs keep no
    session. If a handoff cannot be read, its session is unknown, so all sessions are kept.
    """
    current_time = moment(now)
    needed: set[str] = set()
    for handoff_id in handoffs.entries.ids():
        try:
            handoff = handoffs.read(handoff_id)
        except (UnknownHandoffError, ForeignHandoffError):
            continue  # its creation was interrupted, or another user recorded it
        except FlowError:
            reason = f"handoff `{handoff_id}` cannot be read and may belong to it"
            return lambda _: reason
        started = moment(handoff.started_at)
        is_recent = started is None or current_time is None or current_time - started < KEPT_FOR
        if handoff.is_open and is_recent:
            needed.add(handoff.session)
    return lambda session_id: "it has an open handoff" if session_id in needed else ""


def record_pruned(
    handoffs: Handoffs, *, now: Callable[[], str], by: str, wait: float = 10.0
) -> Callable[[str], None]:
    """Return a function that records, for each payload of a session, that it is deleted with the session."""

    def record(session_id: str) -> None:
        for handoff in handoffs.own_ones():
            if handoff.session != session_id or not handoff.payload:
                continue
            with handoffs.change(handoff.id, wait=wait) as change:
                note = {"session": session_id, "payload": handoff.payload}
                change.commit(change.handoff, kind=PRUNED, at=now(), by=by, note=note)

    return record
