"""Records in files: a folder for each session or handoff, with its journal and its lock.

Each line has the mark of the user who wrote it, made with a key outside every project from the id, the real path of the
store and the line. A session whose newest line has no such mark is *foreign*: it came with a clone, or was copied or
moved by hand. It is refused until its user accepts it, with a record of their own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TypeVar

from flowrail.storage import files, journal
from flowrail.storage.files import locked
from flowrail.storage.journal import DamagedError, Journal
from flowrail.storage.ownership import Owner
from flowrail.storage.record_store import NO_LABELS, Chained, HeldEntry, Kind, RecordStore, Stamp

JOURNAL, LOCK = "journal.jsonl", "lock"
_REMOVED = ".gone-"
"""The prefix of a folder that is being deleted."""
_LOCK_SECONDS = 10.0

T = TypeVar("T", bound=Chained)


class HeldFolder(HeldEntry[T]):
    """A folder under its lock."""

    def __init__(
        self,
        shown_name: str,
        newest: T,
        length: int,
        opened: Journal,
        encode: Callable[[T], tuple[bytes, str]],
    ) -> None:
        super().__init__(shown_name, newest, size=opened.size, last_length=length)
        self.torn = opened.torn
        self.is_changed = False
        self._journal = opened
        self._encode_line = encode

    def _encode(self, record: T) -> tuple[bytes, str]:
        return self._encode_line(record)

    def _write(self, record: T, text: bytes, digest: str) -> None:
        del record, digest
        self._journal.append(text)
        self.torn, self.is_changed = 0, True


class FileStore(RecordStore[T]):
    """All sessions, or all handoffs, below *path*."""

    def __init__(self, path: str, kind: Kind[T], owner: Owner) -> None:
        super().__init__(kind)
        self.path = path
        self.folders = os.path.join(path, f"{kind.noun}s")
        self.owner = owner
        self._first: tuple[str, bytes] = ("", b"")
        """The first line of the journal that was read last, so that its definition is read with it."""
        self._is_private = False

    def folder(self, key: str) -> str:
        """Return the folder of a session or handoff. Only a valid id becomes a path."""
        if not self._kind.id_pattern.match(key):
            raise self._kind.unknown(key, list)
        return f"{self.folders}/{key}"

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return all ids, in order: folders have no index."""
        del labels, since
        self._check_private()
        with files.failing(self.folders, "cannot be listed"):
            try:
                names = os.listdir(self.folders)
            except FileNotFoundError:
                return []
        return sorted(name for name in names if self._kind.id_pattern.match(name))

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return time and size of each journal, without reading it."""
        stamps: dict[str, Stamp] = {}
        for key in self.ids(labels, since):
            with suppress(OSError):  # its creation was interrupted
                status = os.stat(f"{self.folders}/{key}/{JOURNAL}")
                stamps[key] = (status.st_mtime_ns, status.st_size)
        return stamps

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""
        return os.path.lexists(f"{self.folders}/{key}")

    def create(self, key: str, record: T) -> str:
        """Store a first record and return its hash; the id must be new, or its creation was interrupted."""
        text, digest = self._encode(key, record)
        with self._created(key) as opened:
            opened.append(text)
        return digest

    def restore(self, key: str, lines: Sequence[bytes], *, at: str, by: str) -> None:
        """Store records that were written elsewhere, and one that accepts them; the id must be new."""
        records = list(self._kind.chained(lines, key, key))
        accepted, _ = self._encode(key, self._kind.accepted(records, at, by))
        with self._created(key) as opened:
            opened.append(b"".join([*lines, accepted]))

    @contextmanager
    def _created(self, key: str) -> Iterator[Journal]:
        """Yield the new journal of *key*, under its lock."""
        folder = self.folder(key)
        prepare_folder(self.path, folder)
        with (
            locked(f"{folder}/{LOCK}", wait=_LOCK_SECONDS, what=f"{self._kind.noun} `{key}`"),
            journal.opened(f"{folder}/{JOURNAL}", journal.CREATE) as opened,
        ):
            if opened.last_line():
                raise self._exists_already(key)
            yield opened
            journal.flush_names(folder)

    def newest(self, key: str) -> T:
        """Return the newest record."""
        with self._opened(key) as opened:
            return self._newest(opened, key)[0]

    def record(self, key: str, seq: int) -> T:
        """Return the record with this number; it must exist."""
        with ExitStack() as stack:
            if seq == 0 and self._first[0] == key:
                text, place = self._first[1], f"{self.folder(key)}/{JOURNAL}"
            else:
                opened = stack.enter_context(self._opened(key))
                text = next((line for number, line in enumerate(opened.lines()) if number == seq), b"")
                place = opened.path
            return self._decode(key, text, place, seq + 1)

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldFolder[T]]:
        """Hold the lock and yield the session or handoff.

        If nothing is added, the journal is flushed: the caller may repeat the answer to a record whose writer died.
        """
        shown_name = f"{self._kind.noun} `{key}`"
        with (
            self._opened(key, journal.CHANGE) as opened,
            locked(f"{self.folder(key)}/{LOCK}", wait=wait, what=shown_name),
        ):
            newest, length = self._newest(opened, key)
            held = HeldFolder(shown_name, newest, length, opened, partial(self._encode, key))
            yield held
            if not held.is_changed:
                opened.flush()

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it."""
        with self._opened(key) as opened:
            if not foreign and not self._is_own(opened, key):
                raise self._kind.foreign(key)
            yield from self._kind.chained(opened.lines(), key, opened.path)

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        with self._opened(key) as opened:
            newest, _ = self._newest(opened, key)
            older = opened.lines_backwards()
            next(older)
            yield from self._kind.chained_backwards(newest, older, key, opened.path)

    def lines(self, key: str) -> list[bytes]:
        """Return all records as they were written, oldest first."""
        with self._opened(key) as opened:
            self._newest(opened, key)
            return list(opened.lines())

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine wrote it."""
        with self._opened(key) as opened:
            return not self._is_own(opened, key)

    def accept(self, key: str, *, at: str, by: str) -> None:
        """Make records of another user this user's own, with a record that says so."""
        with (
            self._opened(key, journal.CHANGE) as opened,
            locked(f"{self.folder(key)}/{LOCK}", wait=_LOCK_SECONDS, what=f"{self._kind.noun} `{key}`"),
        ):
            records = list(self._kind.chained(opened.lines(), key, opened.path))
            opened.last_line()
            opened.append(self._encode(key, self._kind.accepted(records, at, by))[0])

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its files: rename its folder in one step, then remove it."""
        folder = self.folder(key)
        aside = os.path.join(self.folders, f"{_REMOVED}{key}-{os.urandom(4).hex()}")
        with files.writing(folder, "could not be deleted"):
            os.rename(folder, aside)
            files.sync_dir(self.folders)
            remove_folder(aside)

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""
        with suppress(OSError):
            for name in os.listdir(self.folders):
                if name.startswith(_REMOVED):
                    remove_folder(os.path.join(self.folders, name))

    def _check_private(self) -> None:
        if not self._is_private:
            files.check_private_dir(self.path)
            files.check_private_dir(self.folders)
            self._is_private = True

    @contextmanager
    def _opened(self, key: str, mode: int = journal.READ) -> Iterator[Journal]:
        """Open a journal and yield it."""
        folder = self.folder(key)
        self._check_private()
        with ExitStack() as stack:
            try:
                opened = stack.enter_context(journal.opened(f"{folder}/{JOURNAL}", mode))
            except FileNotFoundError:
                # the id of an interrupted start is spelt correctly, so suggest no other
                raise self._kind.unknown(key, list if os.path.lexists(folder) else self.ids) from None
            yield opened

    def _newest(self, opened: Journal, key: str) -> tuple[T, int]:
        """Return the newest record of an own session, and the length of its line."""
        text = opened.last_line() or self._missing(key)
        try:
            record = self._decode(key, text, opened.path, 0)
        except DamagedError as error:  # counting the lines takes long, so only a damaged journal pays for it
            raise DamagedError(opened.path, sum(1 for _ in opened.lines()), error.problem) from None
        self._first = (key, next(opened.lines()))
        return record, len(text)

    def _is_own(self, opened: Journal, key: str) -> bool:
        """Return whether this user wrote a journal. If its last line is damaged, the first one decides."""
        for text in (opened.last_line() or self._missing(key), next(opened.lines())):
            with suppress(DamagedError):
                line = journal.parse(text, opened.path, 0)
                return self.owner.owns(self.folder(key), line.body, line.mark)
        return True  # reading it reports the damage

    def _decode(self, key: str, text: bytes, place: str, number: int) -> T:
        """Return the record in a line that this user wrote; refuse any other line before it is read."""
        line = journal.parse(text, place, number)
        if not self.owner.owns(self.folder(key), line.body, line.mark):
            raise self._kind.foreign(key)
        return self._kind.decode(line, key, place, number)

    def _encode(self, key: str, record: T) -> tuple[bytes, str]:
        return self._kind.encode(record, partial(self.owner.mark, self.folder(key)))

    def _missing(self, key: str) -> bytes:
        raise self._kind.unknown(key, list)


def prepare_folder(store: str, folder: str) -> None:
    """Make the *folder* of a session or handoff below *store*, private and ignored by git."""
    folders = os.path.dirname(folder)
    files.make_private_dir(store)
    files.make_private_dir(folders)
    own = os.path.basename(os.path.abspath(store)) == ".flow"  # any other folder may hold other files
    ignore = os.path.join(store if own else folders, ".gitignore")
    if not os.path.lexists(ignore):
        files.write_atomic(ignore, b"*\n")
    if not _has_journal(folders):  # the process that created them may have died before it flushed them
        files.sync_dir(store)
        files.sync_dir(os.path.dirname(os.path.abspath(store)))
    with files.writing(folder, "could not be created"), suppress(FileExistsError):
        os.mkdir(folder, 0o700)  # flushed with the names of its files
    files.check_private_dir(folder)


def _has_journal(folders: str) -> bool:
    """Return whether a session or handoff was created before: its folders were then flushed."""
    with os.scandir(folders) as entries:
        return any(os.path.lexists(f"{entry.path}/{JOURNAL}") for entry in entries)


def remove_folder(path: str) -> None:
    """Delete a folder with everything in it; a link is deleted, not followed."""
    if os.path.islink(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
