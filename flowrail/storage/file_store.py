"""Records in files: a folder for each session or handoff, with its journal, snapshot, mark and lock."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from flowrail.errors import DocumentError, FlowError, StorageError
from flowrail.storage import files, journal
from flowrail.storage.files import locked, sha256_hex
from flowrail.storage.journal import Chained, DamagedError, Encoding, Journal, JournalFullError, JournalLine
from flowrail.storage.ownership import Owner
from flowrail.text import limits

JOURNAL, LOCK = "journal.jsonl", "lock"
_REMOVED = ".gone-"
"""The prefix of a folder that is being deleted."""
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"

T = TypeVar("T", bound=Chained)
Stamp = tuple[int, int]
"""A value that changes with each record."""
NO_LABELS: Mapping[str, Collection[str]] = {}


class SideFiles(Protocol):
    """Files that belong to a session or handoff and are not records."""

    def read(self, name: str, limit: int, what: str) -> bytes:
        """Return a file of at most *limit* bytes, or raise `DocumentError`."""

    def write(self, name: str, data: bytes) -> None:
        """Replace a file, durably."""

    def size(self, name: str) -> int:
        """Return the size of a file, or -1 if it does not exist."""

    def names(self) -> list[str]:
        """Return the names of the files that belong to records: the definition and long texts."""


class HeldEntry(ABC, Generic[T]):
    """A session or handoff under its lock.

    ``size`` is the length of all its records together, ``last_length`` that of the newest, and ``torn`` how many bytes of
    an interrupted write follow them.
    """

    torn = 0

    def __init__(
        self,
        shown_name: str,
        newest: T,
        encoding: Encoding[T],
        side_files: SideFiles,
        *,
        size: int,
        last_length: int,
    ) -> None:
        self.newest = newest
        self._shown_name = shown_name
        self._encoding = encoding
        self._side_files = side_files
        self._size = size
        self._last_length = last_length

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash.

        Its records leave *reserve* bytes of their limit free.
        """
        line = self._encoding.prepare(record)
        if self._size + len(line.text) > limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"{self._shown_name} has {self._size} bytes and no room for another record",
                hint="start again",
                bytes=self._size,
            )
        for name, data in line.side_files.items():
            if self._side_files.size(name) != len(data):
                self._side_files.write(name, data)
        self._add(record, line)
        self._size += len(line.text)
        self._last_length = len(line.text)
        return line.hash

    def has_room(self, reserve: int) -> bool:
        """Return whether another record like the newest one fits twice and leaves *reserve* bytes free."""
        return self._size + 2 * self._last_length <= limits.JOURNAL_BYTES - reserve

    @abstractmethod
    def _add(self, record: T, line: JournalLine) -> None:
        """Store a record."""


class WrittenRecords(NamedTuple):
    """A session or handoff as it was written: the lines of its journal, and the files that they name."""

    lines: tuple[bytes, ...]
    side_files: Mapping[str, bytes]


class RecordStore(ABC, Generic[T]):
    """All sessions, or all handoffs, of a store."""

    def __init__(self, kind: "Kind[T]") -> None:
        self._kind = kind

    @abstractmethod
    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return a value that changes with each record, by id.

        With *labels*, only ids that may have one of the values of each label; with *since*, only those whose label
        `moved_at` is not earlier. A store without an index returns all ids, so the caller checks the records.
        """

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return the ids that `stamps` would return, in order."""
        return sorted(self.stamps(labels, since))

    def new_id(self, stem: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an unused id that begins with *stem*."""
        while True:
            key = f"{stem}-{''.join(_ALPHABET[byte % len(_ALPHABET)] for byte in random(6))}"
            if not self._exists(key):
                return key

    @abstractmethod
    def _exists(self, key: str) -> bool:
        """Return whether an id is in use."""

    @abstractmethod
    def create(self, key: str, record: T, side_files: Mapping[str, bytes]) -> str:
        """Store a first record and return its hash; the id must be new, or its creation was interrupted."""

    @abstractmethod
    def newest(self, key: str) -> T:
        """Return the newest record."""

    def newest_of_all(self) -> Iterator[tuple[str, Callable[[], T]]]:
        """Yield each id with a function that reads its newest record."""
        return ((key, partial(self.newest, key)) for key in self.ids())

    @abstractmethod
    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it. *foreign* is for adopting only."""

    @abstractmethod
    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""

    @abstractmethod
    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""

    def written(self, key: str) -> WrittenRecords:
        """Return what is stored under *key*, each record checked against the one before it."""
        for _ in self.records(key):
            pass
        files_of_key = self.side_files(key)
        content = {
            name: files_of_key.read(name, limits.DEFINITION_BYTES, "a file of the session")
            for name in files_of_key.names()
        }
        return WrittenRecords(tuple(self.lines(key)), content)

    @abstractmethod
    def restore(self, key: str, written: WrittenRecords) -> None:
        """Store records that were written elsewhere, and this user as their owner; the id must be new."""

    @abstractmethod
    def change(self, key: str, *, wait: float) -> AbstractContextManager[HeldEntry[T]]:
        """Hold the lock and yield the session or handoff."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its files."""

    @abstractmethod
    def side_files(self, key: str) -> SideFiles:
        """Return the files of a session or handoff that are not records."""

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine wrote it. Databases control this with their own permissions."""
        del key
        return False

    def adopt(self, key: str) -> None:
        """Make it this user's."""

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""

    def _restored(self, key: str, written: WrittenRecords) -> T:
        """Return the newest of records that were written elsewhere and are not stored yet."""
        *_, newest = journal.chained(self._kind.encoding(self.side_files(key)), written.lines, key)
        self._check_id(key, newest, key)
        return newest

    def _check_id(self, path: str, record: T, key: str) -> None:
        if self._kind.id_of(record) != key:
            raise DamagedError(path, record.seq + 1, f"the record belongs to `{self._kind.id_of(record)}`")

    def _exists_already(self, key: str) -> StorageError:
        return StorageError(
            f"{self._kind.noun} `{key}` exists already",
            hint="nothing was changed; name another store to have it twice",
        )


class Kind(NamedTuple, Generic[T]):
    """What differs between sessions and handoffs.

    ``noun`` is the key of the value in a record. ``encoding`` gets the side files of a session or handoff.
    ``id_of`` returns the id of the session or handoff that a record belongs to. ``unknown`` and ``foreign``
    make the errors, the first from an id and a function that lists the known ids. ``labels`` returns the labels by
    which a database finds a session or handoff.
    """

    noun: str
    id_pattern: re.Pattern[str]
    encoding: Callable[[SideFiles], Encoding[T]]
    id_of: Callable[[T], str]
    unknown: Callable[[str, Callable[[], list[str]]], FlowError]
    foreign: Callable[[str], FlowError]
    labels: Callable[[T], Mapping[str, str]] = lambda _: {}


class FolderFiles:
    """The side files in one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, name: str, limit: int, what: str) -> bytes:
        """Return a file of at most *limit* bytes, or raise `DocumentError`."""
        return files.read_bounded(os.path.join(self._folder, name), limit=limit, what=what)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file, durably."""
        path = os.path.join(self._folder, name)
        if os.path.dirname(name):
            files.make_private_dir(os.path.dirname(path))
        files.write_atomic(path, data)

    def size(self, name: str) -> int:
        """Return the size of a file, or -1 if it does not exist."""
        try:
            return os.lstat(os.path.join(self._folder, name)).st_size
        except OSError:
            return -1

    def names(self) -> list[str]:
        """Return the names of the files that belong to records: the definition and long texts."""
        texts = os.path.join(self._folder, "texts")
        long_texts = [f"texts/{name}" for name in sorted(os.listdir(texts))] if os.path.isdir(texts) else []
        return ["definition.json", *long_texts] if self.size("definition.json") >= 0 else long_texts


class HeldFolder(HeldEntry[T]):
    """A folder under its lock."""

    def __init__(self, shown_name: str, opened: Journal[T], newest: T, folder: str, noun: str) -> None:
        super().__init__(
            shown_name,
            newest,
            opened.encoding,
            FolderFiles(folder),
            size=opened.size,
            last_length=opened.last_length,
        )
        self.torn = opened.torn
        self._journal = opened
        self._snapshot = f"{folder}/{noun}.json"
        self._noun = noun

    def _add(self, record: T, line: JournalLine) -> None:
        self._journal.append(line)
        self.torn = 0
        with suppress(StorageError):  # the record counts; the next one renews the snapshot
            write_snapshot(self._snapshot, self._noun, line.data[self._noun], record.seq, line.hash)


class FileStore(RecordStore[T]):
    """All sessions, or all handoffs, below *path*."""

    def __init__(self, path: str, kind: Kind[T], owner: Owner) -> None:
        super().__init__(kind)
        self.path = path
        self.folders = os.path.join(path, f"{kind.noun}s")
        self.owner = owner
        self._owned: set[str] = set()  # checked once per command
        self._is_private = False

    def folder(self, key: str) -> str:
        """Return the folder of a session or handoff. Only a valid id becomes a path."""
        if not self._kind.id_pattern.match(key):
            raise self._kind.unknown(key, list)
        return f"{self.folders}/{key}"

    def side_files(self, key: str) -> FolderFiles:
        """Return the files of a session or handoff that are not records."""
        return FolderFiles(self.folder(key))

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return all ids, in order: folders have no index."""
        del labels, since
        self._check_private()
        try:
            return sorted(name for name in os.listdir(self.folders) if self._kind.id_pattern.match(name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(
                f"{self.folders} cannot be listed ({error.strerror})",
                hint="check its permissions",
                place=self.folders,
            ) from None

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return time and size of each journal, without reading it."""
        stamps: dict[str, Stamp] = {}
        for key in self.ids(labels, since):
            with suppress(OSError):  # its creation was interrupted
                status = os.stat(f"{self.folders}/{key}/{JOURNAL}")
                stamps[key] = (status.st_mtime_ns, status.st_size)
        return stamps

    def _exists(self, key: str) -> bool:
        return os.path.lexists(f"{self.folders}/{key}")

    def create(self, key: str, record: T, side_files: Mapping[str, bytes]) -> str:
        """Store a first record and return its hash; the id must be new, or its creation was interrupted."""
        folder, noun = self.folder(key), self._kind.noun
        encoding = self._kind.encoding(FolderFiles(folder))
        line = encoding.prepare(record)
        self._prepare(folder, {**side_files, **line.side_files}, line.hash)
        with journal.opened(f"{folder}/{JOURNAL}", encoding, journal.CREATE) as opened:
            opened.append(line)
        journal.flush_names(folder)
        with suppress(StorageError):
            write_snapshot(self._snapshot(folder), noun, line.data[noun], 0, line.hash)
        return line.hash

    def restore(self, key: str, written: WrittenRecords) -> None:
        """Store records that were written elsewhere, and this user as their owner; the id must be new."""
        folder = self.folder(key)
        self._prepare(folder, written.side_files, journal.hash_of(written.lines[0], key))
        try:
            self._restored(key, written)
        except StorageError:
            remove_folder(folder)
            raise
        files.write_atomic(f"{folder}/{JOURNAL}", b"".join(written.lines))
        journal.flush_names(folder)

    def _prepare(self, folder: str, side_files: Mapping[str, bytes], first_hash: str) -> None:
        """Make a folder with everything except its journal, without which it is ignored."""
        if os.path.lexists(f"{folder}/{JOURNAL}"):
            raise self._exists_already(os.path.basename(folder))
        prepare_folder(self.path, folder)
        for name, data in side_files.items():
            FolderFiles(folder).write(name, data)
        self.owner.claim(folder, first_hash)

    def newest(self, key: str) -> T:
        """Return the newest record. The journal is flushed first if its writer may have died before its flush."""
        with self._opened(key) as (opened, folder):
            record, is_ahead = self._load(opened, folder, key)
            if is_ahead:
                with suppress(StorageError):  # a file system that is read-only can still be read
                    opened.flush()
            return record

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldFolder[T]]:
        """Hold the lock and yield the session or handoff."""
        shown_name = f"{self._kind.noun} `{key}`"
        with (
            self._opened(key, journal.CHANGE) as (opened, folder),
            locked(f"{folder}/{LOCK}", wait=wait, what=shown_name),
        ):
            newest, is_ahead = self._load(opened, folder, key)
            if is_ahead:
                opened.flush()
                files.sweep(folder)
            yield HeldFolder(shown_name, opened, newest, folder, self._kind.noun)

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against the snapshot."""
        with self._opened(key, foreign=foreign) as (opened, folder):
            path = self._snapshot(folder)
            snapshot, seq, digest = read_snapshot(path), -1, ""
            for record in opened.records():
                self._check_id(opened.path, record, key)
                seq, digest = record.seq, record.hash
                yield record
            check_snapshot(path, snapshot, seq, digest)

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        with self._opened(key) as (opened, _):
            yield from opened.newest_first()

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""
        with self._opened(key) as (opened, _):
            yield from opened.lines()

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine wrote it."""
        with self._opened(key, foreign=True) as (opened, folder):
            return not self.owner.owns(folder, opened.first_hash())

    def adopt(self, key: str) -> None:
        """Make it this user's."""
        with self._opened(key, foreign=True) as (opened, folder):
            self.owner.claim(folder, opened.first_hash())

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

    def _snapshot(self, folder: str) -> str:
        return f"{folder}/{self._kind.noun}.json"

    def _check_private(self) -> None:
        if not self._is_private:
            files.check_private_dir(self.path)
            files.check_private_dir(self.folders)
            self._is_private = True

    @contextmanager
    def _opened(
        self, key: str, mode: int = journal.READ, *, foreign: bool = False
    ) -> Iterator[tuple[Journal[T], str]]:
        """Open a journal and yield it with its folder. Refuse a foreign one unless *foreign* is set."""
        folder = self.folder(key)
        self._check_private()
        encoding = self._kind.encoding(FolderFiles(folder))
        with ExitStack() as stack:
            try:
                opened = stack.enter_context(journal.opened(f"{folder}/{JOURNAL}", encoding, mode))
            except FileNotFoundError:
                snapshot = self._snapshot(folder)
                check_snapshot(snapshot, read_snapshot(snapshot), -1, "")
                # the id of an interrupted start is spelt correctly, so suggest no other
                raise self._kind.unknown(key, list if os.path.lexists(folder) else self.ids) from None
            if not foreign and key not in self._owned:
                first = opened.first_hash()
                if first and not self.owner.owns(folder, first):
                    raise self._kind.foreign(key)
                self._owned.add(key)
            yield opened, folder

    def _load(self, opened: Journal[T], folder: str, key: str) -> tuple[T, bool]:
        """Return the newest record, and whether it is newer than the snapshot."""
        path = self._snapshot(folder)
        snapshot = read_snapshot(path)  # before the journal, which can only have more records by then
        record = opened.newest()
        if record is None:
            check_snapshot(path, snapshot, -1, "")
            raise self._kind.unknown(key, list)
        self._check_id(opened.path, record, key)
        check_snapshot(path, snapshot, record.seq, record.hash)
        return record, snapshot is None or snapshot.seq < record.seq


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
        import shutil  # 2 ms with the archive formats that it imports, and only deletions need it

        shutil.rmtree(path)


# --- snapshots

_SNAPSHOT = re.compile(
    rb'(.*,\n "seq": (\d{1,15}),\n "hash": "([0-9a-f]{64})"),\n "check": "([0-9a-f]{16})"\n}\n', re.DOTALL
)
_LARGEST_SNAPSHOT = 4 * limits.RECORD_BYTES
_json = json.JSONEncoder(ensure_ascii=False, separators=(",\n  ", ": ")).encode


class LinesLostError(StorageError):
    """The snapshot names a record that the journal does not have."""

    code = "LINES_LOST"


class Snapshot(NamedTuple):
    """Number and hash of the record of a snapshot."""

    seq: int
    hash: str


def write_snapshot(path: str, noun: str, value: Mapping[str, object], seq: int, digest: str) -> None:
    """Replace the snapshot at *path*: *value* under *noun*, one line for each of its keys."""
    text = f'{{\n "{noun}": {_json(value)},\n "seq": {seq},\n "hash": "{digest}"'
    body = text.encode("utf-8", "backslashreplace")
    files.write_over(path, body + f',\n "check": "{sha256_hex(body)[:16]}"\n}}\n'.encode())


def read_snapshot(path: str) -> Snapshot | None:
    """Return the number and hash of the record in the snapshot at *path*, or `None` if it is incomplete."""
    parts = _SNAPSHOT.fullmatch(_snapshot_bytes(path))
    if parts is None or parts[4].decode() != sha256_hex(parts[1])[:16]:
        return None
    return Snapshot(int(parts[2]), parts[3].decode())


def snapshot_content(path: str) -> dict[str, object] | None:
    """Return the content of the snapshot at *path*, or `None` if it is not JSON."""
    try:
        data = json.loads(_snapshot_bytes(path))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def check_snapshot(path: str, snapshot: Snapshot | None, seq: int, digest: str) -> None:
    """Refuse a journal that ends with record *seq* (-1: empty) if its snapshot has a later or a different record."""
    if snapshot is None or snapshot.seq < seq or snapshot == (seq, digest):
        return
    another = "another " if snapshot.seq == seq else ""
    ends = f"ends with {another}record {seq}" if seq >= 0 else "has no record"
    raise LinesLostError(
        f"{path} is a snapshot of record {snapshot.seq}, but the journal {ends}",
        hint="nothing was changed; restore journal.jsonl from a backup, or start again",
        place=path,
    )


def _snapshot_bytes(path: str) -> bytes:
    try:
        return files.read_bounded(path, limit=_LARGEST_SNAPSHOT, what="the snapshot")
    except DocumentError:
        return b""
