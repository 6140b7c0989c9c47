"""Handoffs on disk: a journal each, beside the sessions of a store, its lines like those of a session's.

    handoffs/<id>/journal.jsonl    appended and flushed: what is there has happened
    handoffs/<id>/handoff.json     the newest record, readable; a witness of what the journal must hold
    handoffs/<id>/preserved.*      the payload of an attempt that failed
    handoffs/<id>/lock             held while a record is added

Every line carries the mark of its writer's key, so nobody else can write a journal anew, hashes and all.
A reader takes no lock: a line that is not whole yet is not there yet.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError, TrustError, UsageError
from flowrail.handoff.entries import Entry, read_line, written
from flowrail.handoff.handoff import Handoff
from flowrail.machines.sessions import journal, limits
from flowrail.machines.sessions.user_key import Owner
from flowrail.storage import files
from flowrail.storage import journal as storage_journal
from flowrail.storage.journal import DamagedError, Tail
from flowrail.storage.records import to_plain
from flowrail.text import json as strict_json
from flowrail.text.suggestions import did_you_mean

HANDOFF_ID = re.compile(r"handoff-[a-z0-9]{6}\Z")
JOURNAL, COPY, LOCK = journal.JOURNAL, "handoff.json", "lock"
"""So many commas are read of a copy: what a record of somebody else may hold, and more."""
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class UnknownHandoffError(UsageError):
    """There is no handoff of that id in this store."""

    code = "UNKNOWN_HANDOFF"


class ForeignHandoffError(TrustError):
    """The handoff was not recorded by this user; it may have come with a clone."""

    code = "FOREIGN_HANDOFF"


class RecordsLostError(StorageError):
    """The copy knows of records that the journal does not have."""

    code = "RECORDS_LOST"


class Kept(NamedTuple):
    """A handoff as it is on disk."""

    handoff: Handoff
    seq: int
    hash: str
    folder: str
    torn: int = 0
    foreign: bool = False


class Change:
    """A handoff held under its lock, to which records can be added."""

    def __init__(self, kept: Kept, fd: int, end: int, key: bytes) -> None:
        self.kept = kept
        self._key = key
        self._fd = fd
        self._end = end

    def commit(
        self, handoff: Handoff, *, kind: str, at: str, by: str, note: Mapping[str, Any] | None = None
    ) -> Handoff:
        """Add one record; when this returns, it has happened."""
        entry = Entry(self.kept.seq + 1, kind, at, by, handoff, note or {}, self.kept.hash, "")
        line, digest = written(entry, self._key)
        path = os.path.join(self.kept.folder, JOURNAL)
        if self.kept.torn:
            journal.cut(self._fd, self._end, path)
        journal.append(self._fd, line, self._end, path)
        self._end += len(line)
        self.kept = self.kept._replace(handoff=handoff, seq=entry.seq, hash=digest, torn=0)
        with suppress(StorageError):  # the record stands; the copy is made again by the next one
            _write_copy(self.kept)
        return handoff


class Handoffs:
    """The handoffs of one store, as *owner* may use them."""

    def __init__(self, store: str, owner: Owner) -> None:
        self.store = store
        self.path = os.path.join(store, "handoffs")
        self.owner = owner
        self._checked = False

    def create(
        self, handoff: Handoff, *, kind: str, at: str, by: str, note: Mapping[str, Any] | None = None
    ) -> Kept:
        """Keep a new handoff; its id must be new, or its beginning must have been interrupted."""
        files.make_private_dir(self.store)
        files.make_private_dir(self.path)
        ignore = os.path.join(self.store, ".gitignore")
        if not os.path.lexists(ignore):
            files.write_atomic(ignore, b"*\n")
        folder = self.folder(handoff.id)
        files.make_private_dir(folder)
        entry = Entry(0, kind, at, by, handoff, note or {}, "", "")
        line, digest = written(entry, self.owner.key())
        fd = journal.open_journal(folder, journal.CREATE)
        try:
            journal.append(fd, line, 0, os.path.join(folder, JOURNAL))
        finally:
            os.close(fd)
        journal.flush_names(folder)
        files.sync_dir(self.store)
        kept = Kept(handoff, 0, digest, folder)
        with suppress(StorageError):
            _write_copy(kept)
        return kept

    def new_id(self, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an id that is not taken."""
        while True:
            letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in random(6))
            if not os.path.lexists(os.path.join(self.path, f"handoff-{letters}")):
                return f"handoff-{letters}"

    def folder(self, handoff_id: str) -> str:
        """Return the folder of a handoff; nothing but an id of ours becomes a path."""
        if not HANDOFF_ID.match(handoff_id):
            raise UnknownHandoffError(
                f"`{handoff_id[:80]}` is no id of a handoff",
                hint=Hint("see all: ", Command("handoff status", all=True)),
                handoff=handoff_id[:80],
            )
        return os.path.join(self.path, handoff_id)

    def ids(self) -> list[str]:
        """Return the ids of all handoffs, in order of their names."""
        self._check_folder()
        try:
            return sorted(name for name in os.listdir(self.path) if HANDOFF_ID.match(name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise journal.unlisted(self.path, error) from None

    def all(self, lost: list[str] | None = None) -> Iterator[Kept]:
        """Yield every handoff that can be read, ids of the others to *lost*; an interrupted one never began."""
        for handoff_id in self._begun():
            try:
                yield self.read(handoff_id)
            except UnknownHandoffError:
                continue
            except StorageError:
                (lost if lost is not None else []).append(handoff_id)

    def own_ones(self) -> Iterator[Handoff]:
        """Yield every handoff of ours that can be read; of what others recorded the marks alone are read."""
        begun: list[str] = []
        with suppress(StorageError):  # what leads elsewhere holds none of this store
            begun = self._begun()
        for handoff_id in begun:
            kept: Kept | None = None
            with suppress(UnknownHandoffError, StorageError), self._opened(handoff_id) as (fd, folder):
                path = os.path.join(folder, JOURNAL)
                if self._is_ours(fd, path, storage_journal.tail(fd, path)):
                    kept, _ = self._load(fd, folder, handoff_id)
            if kept is not None and not kept.foreign:  # somebody may have written at it in between
                yield kept.handoff

    def read(self, handoff_id: str) -> Kept:
        """Return a handoff as it is now, without waiting for anybody."""
        with self._opened(handoff_id) as (fd, folder):
            return self._load(fd, folder, handoff_id)[0]

    def own(self, handoff_id: str) -> Kept:
        """Return a handoff as it is now; refused where somebody else wrote it, or its last record."""
        kept = self.read(handoff_id)
        _refuse_foreign(kept)
        return kept

    @contextmanager
    def change(self, handoff_id: str, *, wait: float = 10.0) -> Iterator[Change]:
        """Hold a handoff's lock, and give it as it is under that lock."""
        lock, what = os.path.join(self.folder(handoff_id), LOCK), f"handoff `{handoff_id}`"
        with (
            self._opened(handoff_id, journal.CHANGE) as (fd, folder),
            files.locked(lock, wait=wait, what=what),
        ):
            kept, end = self._load(fd, folder, handoff_id)
            _refuse_foreign(kept)
            yield Change(kept, fd, end, self.owner.key())

    def records(self, handoff_id: str) -> Iterator[Entry]:
        """Yield every record in order, each checked against the one before it, the last against the copy."""
        key, seen = self.owner.key(), witness(self.folder(handoff_id))
        with self._opened(handoff_id) as (fd, folder):
            path = os.path.join(folder, JOURNAL)
            before, number, read = "", 0, 0
            for number, line in enumerate(storage_journal.lines(fd, path), start=1):
                entry, read = read_line(line, path, number), read + len(line)
                if not storage_journal.signed_by(line, key):
                    _check_stranger(entry, path, number, read)
                if entry.prev != before or entry.seq != number - 1:
                    raise DamagedError(path, number, "the record does not follow the one before it")
                if entry.handoff.id != handoff_id:
                    raise DamagedError(path, number, "the record is that of another handoff")
                before = entry.hash
                yield entry
            _check_witness(folder, number - 1, before, seen)

    def unsigned(self, handoff_id: str) -> list[int]:
        """Return the numbers of the records that were not written with the owner's key."""
        key = self.owner.key()
        with self._opened(handoff_id) as (fd, folder):
            lines = enumerate(storage_journal.lines(fd, os.path.join(folder, JOURNAL)))
            return [number for number, line in lines if not storage_journal.signed_by(line, key)]

    def _check_folder(self) -> None:
        """Refuse a folder of handoffs that is a link, or another user's: what is written there lies elsewhere."""
        if not self._checked:
            files.check_private_dir(self.path)
            self._checked = True

    def _begun(self) -> list[str]:
        """Return the ids of those that have a journal: an interrupted one never began."""
        return [each for each in self.ids() if os.path.lexists(os.path.join(self.path, each, JOURNAL))]

    @contextmanager
    def _opened(self, handoff_id: str, how: int = journal.READ) -> Iterator[tuple[int, str]]:
        """Hold a handoff's journal open, and give it with the folder that it lies in."""
        folder = self.folder(handoff_id)
        self._check_folder()
        try:
            fd = journal.open_journal(folder, how)
        except FileNotFoundError:
            _check_witness(folder, -1, "", witness(folder))
            raise self._unknown(handoff_id) from None
        try:
            yield fd, folder
        finally:
            os.close(fd)

    def _unknown(self, handoff_id: str) -> UnknownHandoffError:
        is_there = os.path.lexists(self.folder(handoff_id))  # of one that never began no other name is meant
        names = [] if is_there else self.ids()
        return UnknownHandoffError(
            f"there is no handoff `{handoff_id}` here",
            hint=did_you_mean(handoff_id, names, Hint("see all: ", Command("handoff status", all=True))),
            handoff=handoff_id,
        )

    def _load(self, fd: int, folder: str, handoff_id: str) -> tuple[Kept, int]:
        path = os.path.join(folder, JOURNAL)
        seen = witness(folder)
        tail: Tail = storage_journal.tail(fd, path)
        if not tail.line:
            _check_witness(folder, -1, "", seen)
            raise self._unknown(handoff_id)
        entry = read_line(tail.line, path, 0)
        if entry.handoff.id != handoff_id:
            raise DamagedError(path, 1, f"the journal is that of `{entry.handoff.id}`")
        foreign = not self._is_ours(fd, path, tail)
        if foreign:
            _check_stranger(entry, path, 0)
        kept = Kept(entry.handoff, entry.seq, entry.hash, folder, tail.torn, foreign)
        _check_witness(folder, kept.seq, kept.hash, seen)
        return kept, tail.end

    def _is_ours(self, fd: int, path: str, tail: Tail) -> bool:
        """Return whether the first record and the last carry the owner's mark."""
        key = self.owner.key()
        first = tail.line if tail.end == len(tail.line) else storage_journal.first_line(fd, path)
        return all(storage_journal.signed_by(line, key) for line in {first, tail.line})


def _check_stranger(entry: Entry, path: str, number: int, read: int = 0) -> None:
    """Refuse a record that is not signed by us where it is none that we would write, or one of very many."""
    from flowrail.handoff import strangers  # brings what payloads are made of

    wrong = strangers.wrong_with(entry)
    if wrong:
        raise DamagedError(path, number, f"the record is of another form: {wrong}")
    if number > strangers.MOST_RECORDS or read > strangers.LARGEST_JOURNAL:
        raise DamagedError(path, number, "somebody else's journal goes on beyond all that is read of one")


def _refuse_foreign(kept: Kept) -> None:
    if kept.foreign:
        raise ForeignHandoffError(
            f"handoff `{kept.handoff.id}` was not recorded by you on this machine",
            hint="have it sent again, from a session of your own",
            handoff=kept.handoff.id,
        )


def witness(folder: str) -> dict[str, Any] | None:
    """Return what the copy in *folder* says, or `None` where it tells nothing."""
    path = os.path.join(folder, COPY)
    try:
        data = files.read_bounded(path, limit=4 * limits.LARGEST_LINE, what="the handoff's copy")
        copy = strict_json.parse(data.decode())
        return {"seq": int(copy["seq"]), "hash": str(copy["hash"]), "handoff": copy["handoff"]}
    except (DocumentError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _check_witness(folder: str, seq: int, digest: str, seen: Mapping[str, Any] | None) -> None:
    if seen is None or seen["seq"] < seq or (seen["seq"], seen["hash"]) == (seq, digest):
        return
    path = os.path.join(folder, COPY)
    raise RecordsLostError(
        f"{path} has seen record {seen['seq']}, which is not the last of the journal",
        hint="nothing was changed; restore journal.jsonl from a copy",
        place=path,
    )


def _write_copy(kept: Kept) -> None:
    copy = {"seq": kept.seq, "hash": kept.hash, "handoff": to_plain(kept.handoff)}
    data = json.dumps(copy, indent=1, ensure_ascii=True).encode() + b"\n"
    files.write_atomic(os.path.join(kept.folder, COPY), data, durable=False)
