"""Handoffs in a store, beside its sessions, in the same kind of journal.

handoffs/<id>/journal.jsonl    the records: two of a send, one of each later event
handoffs/<id>/preserved.*      the payload of a send that was refused
handoffs/<id>/handoffs/        the payload, if a skill without a session sent it
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, StorageError, TrustError, UsageError
from flowrail.handoff.handoff import ACKNOWLEDGMENT, EXPIRED, INVOCATION, Handoff
from flowrail.handoff.lifecycle import NO_ANSWERS, next_phase
from flowrail.handoff.payload.digest import digest_of
from flowrail.machines.session_store import Store, UnknownSessionError
from flowrail.storage import files
from flowrail.storage.file_store import prepare_folder
from flowrail.storage.files import sha256_hex
from flowrail.storage.lock import locked
from flowrail.storage.record_store import HeldEntry, Kind, RecordStore
from flowrail.text.phrases import did_you_mean, moment, this_moment

PRUNED = "pruned"
"""The kind of the record of a payload that was deleted with its session."""
HANDOFF_ID = re.compile(r"handoff-[a-z0-9]{6}\Z")


class UnknownHandoffError(UsageError):
    """The store has no handoff with that id."""

    code = "UNKNOWN_HANDOFF"


class ForeignHandoffError(TrustError):
    """The handoff was not recorded by this user on this machine; it may have come with a clone."""

    code = "FOREIGN_HANDOFF"


@dataclass(frozen=True)
class HandoffRecord:
    """One line of a handoff's journal: what happened, and the handoff after it."""

    seq: int
    kind: str
    """The status of the handoff after the record, or `pruned` or `released`."""
    at: str
    by: str
    handoff: Handoff
    events: tuple[str, ...]
    """The events of the lifecycle that led to the handoff's phase."""
    prev: str
    hash: str = ""


class HandoffChange:
    """A handoff to which records can be added: a new one, or one that is held under its lock."""

    def __init__(
        self, handoffs: Handoffs, handoff: Handoff, held: HeldEntry[HandoffRecord] | None = None
    ) -> None:
        self.handoff = handoff
        self.folder = handoffs.folder(handoff.id)
        self._handoffs = handoffs
        self._held = held
        self._newest = held.newest if held else None

    def commit(self, handoff: Handoff, *, events: Sequence[str] = (), kind: str = "") -> Handoff:
        """Add one record. It is stored before this returns."""
        handoffs = self._handoffs
        seq, before = (self._newest.seq + 1, self._newest.hash) if self._newest else (0, "")
        at, by, kind = handoffs.clock(), handoffs.by, kind or handoff.status
        record = HandoffRecord(seq, kind, at, by, handoff, tuple(events), before)
        if self._held is not None:
            self._newest = self._held.append(record)
        elif self._newest is None:
            self._newest = handoffs.create(record)
        else:
            with handoffs.entries.hold(handoff.id, wait=0) as held:
                self._newest = held.append(record)
        self.handoff = handoff
        return handoff

    def advance(
        self, handoff: Handoff, events: Sequence[str], answers: Mapping[str, bool] = NO_ANSWERS
    ) -> Handoff:
        """Send *events* to the lifecycle, and record *handoff* in the phase that it enters."""
        phase = next_phase(self.handoff.phase, events, answers)
        return self.commit(replace(handoff, phase=phase), events=events)


class Handoffs:
    """The handoffs beside the sessions of *store*. ``entries`` are their records.

    A new record has the time of *clock* and the author *by*. A change waits *wait* seconds for a handoff that another process
    holds.
    """

    def __init__(
        self, store: Store, clock: Callable[[], str] = this_moment, by: str = "", wait: float = 10.0
    ) -> None:
        self.clock = clock
        self.by = by
        self.wait = wait
        kind = Kind("handoff", HandoffRecord, HANDOFF_ID, ("handoff", "id"), _unknown, _foreign, _accepted)
        self.entries = RecordStore(store.backend.lines(kind), kind)
        self.store = store
        self.path = f"{store.path}/handoffs"

    def create(self, record: HandoffRecord) -> HandoffRecord:
        """Store the first record of a handoff, and return it with its hash."""
        if self.store.is_database:
            prepare_folder(self.store.path, self.folder(record.handoff.id))
        return self.entries.create(record.handoff.id, record)

    def new_id(self) -> str:
        """Return an unused id."""
        return self.entries.new_id("handoff")

    @contextmanager
    def locked(self, source: str) -> Iterator[None]:
        """Hold the lock of everything that a skill without a session sends, or that comes from elsewhere."""
        files.make_private_dir(self.store.path)
        files.make_private_dir(self.path)
        name = f".lock-{sha256_hex(source.encode('utf-8', 'surrogatepass'))[:8]}"
        with locked(os.path.join(self.path, name), wait=self.wait, what=f"the handoffs of `{source[:80]}`"):
            yield

    def folder(self, handoff_id: str) -> str:
        """Return the folder of a handoff; an invalid id is refused."""
        if not HANDOFF_ID.match(handoff_id):
            raise _unknown(handoff_id, list)
        return f"{self.path}/{handoff_id}"

    def all(self, lost: list[str] | None = None) -> Iterator[Handoff]:
        """Yield every handoff that can be read, and add the ids of the others to *lost*."""
        for handoff_id in self.entries.ids():
            try:
                yield self.read(handoff_id)
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
    def change(self, handoff_id: str) -> Iterator[HandoffChange]:
        """Hold a handoff's lock, and yield the handoff for changes."""
        with self.entries.hold(handoff_id, wait=self.wait) as held:
            yield HandoffChange(self, held.newest.handoff, held)

    def record_pruned(self, session_id: str) -> None:
        """Record, for each payload of a session, that it is deleted with the session."""
        for handoff in self.own_ones():
            if handoff.session == session_id and handoff.payload:
                with self.change(handoff.id) as change:
                    change.commit(change.handoff, kind=PRUNED)

    def accept_of(self, session_id: str) -> None:
        """Make the foreign handoffs that a session sent or received this user's own."""
        for handoff_id in self.entries.ids():
            with suppress(UnknownHandoffError, StorageError):
                *_, newest = self.entries.records(handoff_id, foreign=True)
                if session_id in newest.handoff.sessions and self.entries.is_foreign(handoff_id):
                    self.entries.accept(handoff_id, at=self.clock(), by=self.by)


def _accepted(records: Sequence[HandoffRecord], at: str, by: str) -> HandoffRecord:
    newest = records[-1]
    return HandoffRecord(newest.seq + 1, "accept", at, by, newest.handoff, (), newest.hash)


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


_SENT = frozenset({INVOCATION, ACKNOWLEDGMENT, EXPIRED})
"""The phases in which a payload must exist."""
KEPT_FOR = timedelta(hours=24)
"""How long an open handoff keeps its session."""


def open_handoffs(handoffs: Handoffs) -> Callable[[str], str]:
    """Return a function that says why a session must be kept, or returns an empty text.

    A handoff keeps its session until it is acknowledged or closed, for at most 24 hours. Foreign handoffs keep no
    session. If a handoff cannot be read, its session is unknown, so all sessions are kept.
    """
    current_time = moment(handoffs.clock())
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


def payload_path(store: Store, handoff: Handoff) -> str:
    """Return the path of the payload. It follows from store and id: a path in a record is not believed."""
    if not handoff.payload or handoff.foreign:
        return handoff.payload
    return os.path.join(work_folder(store, handoff), "handoffs", os.path.basename(handoff.payload))


def work_folder(store: Store, handoff: Handoff) -> str:
    """Return the folder of the source's session; a skill without one uses the folder of the handoff."""
    return store.folder(handoff.session) if handoff.session else f"{store.path}/handoffs/{handoff.id}"


def missing_parts(store: Store, handoff: Handoff) -> dict[str, str]:
    """Return the missing parts of a handoff, `payload`, `session` or `target`, each with a message.

    The target and the session only matter while the handoff is open.
    """
    parts: dict[str, str] = {}
    path = payload_path(store, handoff)
    if handoff.phase in _SENT and path and not handoff.foreign:
        digest = digest_of(path)
        if digest != handoff.sha256:
            problem = "has changed since it was written" if digest else "is gone"
            parts["payload"] = f"the payload {path} {problem}"
    if handoff.is_open and handoff.session:
        try:
            store.read(handoff.session)
        except UnknownSessionError:
            parts["session"] = f"the session `{handoff.session}` is gone"
    is_local = bool(handoff.target_digest)  # a remote target has no digest
    if handoff.is_open and not handoff.foreign and is_local and not os.path.exists(handoff.target_path):
        parts["target"] = f"the target `{handoff.target}` is gone: {handoff.target_path}"
    return parts
