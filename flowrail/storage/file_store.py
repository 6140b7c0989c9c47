"""Records in files: a folder for each session or handoff, with its journal, snapshot, mark and lock."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from flowrail.errors import DocumentError, FlowError, StorageError
from flowrail.storage import files, journal
from flowrail.storage.files import locked, sha256_hex
from flowrail.storage.journal import Chained, DamagedError, Encoding, Journal
from flowrail.storage.ownership import Owner
from flowrail.text import limits

JOURNAL, LOCK = "journal.jsonl", "lock"
REMOVED = ".gone-"
"""The prefix of a folder that is being deleted."""
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"

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


class HeldEntry(Protocol[T]):
    """A session or handoff under its lock."""

    newest: T
    torn: int

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash; when this returns, it is stored."""

    def has_room(self, reserve: int) -> bool:
        """Return whether further records fit and leave *reserve* bytes free."""


class RecordStore(Protocol[T]):
    """A store of records: files here, a database behind the same methods."""

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return the ids of what may have one of the given values of each label, in order.

        *since* is the earliest value of the label `moved_at`. A store without an index returns all ids, so the caller
        checks the records.
        """

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return a value that changes with each record for the ids that `ids` would return."""

    def new_id(self, stem: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an unused id that begins with *stem*."""

    def create(self, key: str, record: T, side_files: dict[str, bytes] | None = None) -> str:
        """Store a first record and return its hash; the id must be new."""

    def newest(self, key: str, *, foreign: bool = False) -> tuple[T, int]:
        """Return the newest record and how many bytes of an interrupted write follow it."""

    def newest_of_all(self) -> Iterator[tuple[str, Callable[[], T]]]:
        """Yield each id with a function that returns its newest record, or raises an error if it cannot be read."""

    def first(self, key: str, *, foreign: bool = False) -> T:
        """Return the first record."""

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it."""

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first."""

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""

    def restore(self, key: str, lines: Sequence[bytes], side_files: Mapping[str, bytes]) -> None:
        """Store records as they were written elsewhere, and this user as their owner; the id must be new."""

    def change(self, key: str, *, wait: float) -> AbstractContextManager[HeldEntry[T]]:
        """Hold the lock and yield the session or handoff."""

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine made it."""

    def adopt(self, key: str) -> None:
        """Make it this user's."""

    def delete(self, key: str) -> None:
        """Delete it with all its files."""

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""

    def side_files(self, key: str) -> SideFiles:
        """Return its other files."""


class Kind(NamedTuple, Generic[T]):
    """What differs between the kinds of things that a store holds.

    ``noun`` is the key of the value in a record; ``encoding`` is made for the side files of one of them;
    ``id_of`` returns the id of the session or handoff that a record belongs to. ``unknown`` and ``foreign``
    make the errors, the first from an id and a function that lists the known ids. ``labels`` returns what a database
    finds them by.
    """

    noun: str
    id_pattern: re.Pattern[str]
    encoding: Callable[[SideFiles], Encoding[T]]
    id_of: Callable[[T], str]
    unknown: Callable[[str, Callable[[], list[str]]], FlowError]
    foreign: Callable[[str], FlowError]
    labels: Callable[[T], Mapping[str, str]] = lambda _: {}


class Listener(Protocol):
    """Waits for changes of a store."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so long for a change, and return whether the store may have changed."""

    def close(self) -> None:
        """Stop waiting."""


class Backend(Protocol):
    """Where the records of a store are: in the files of a folder, or in a database."""

    def records(self, kind: Kind[T]) -> RecordStore[T]:
        """Return all sessions, or all handoffs."""

    def listener(self) -> Listener:
        """Return what waits for changes of the store by any process."""


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


class HeldFolder(Generic[T]):
    """A folder under its lock."""

    def __init__(self, opened: Journal[T], newest: T, folder: str, noun: str) -> None:
        self.newest = newest
        self.torn = opened.torn
        self._journal = opened
        self._folder = folder
        self._noun = noun

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash; when this returns, it is on disk."""
        line = self._journal.encoding.prepare(record)
        self._journal.check_room(line, reserve)
        side_files = FolderFiles(self._folder)
        for name, data in line.side_files.items():
            if side_files.size(name) != len(data):
                side_files.write(name, data)
        self._journal.append(line, reserve=reserve)
        self.torn = 0
        with suppress(StorageError):  # the record counts; the next one renews the copy
            copy = f"{self._folder}/{self._noun}.json"
            write_snapshot(copy, self._noun, line.data[self._noun], record.seq, line.hash)
        return line.hash

    def has_room(self, reserve: int) -> bool:
        """Return whether further records fit and leave *reserve* bytes free."""
        return self._journal.has_room(reserve)


class FileStore(Generic[T]):
    """All sessions, or all handoffs, below *path*."""

    def __init__(self, path: str, kind: Kind[T], owner: Owner) -> None:
        self.path = path
        self.folders = os.path.join(path, f"{kind.noun}s")
        self.owner = owner
        self._owned: set[str] = set()  # checked once per command
        self._kind = kind
        self._checked = False

    def folder(self, key: str) -> str:
        """Return the folder of a session or handoff; nothing but a valid id becomes a path."""
        if not self._kind.id_pattern.match(key):
            raise self._kind.unknown(key, list)
        return f"{self.folders}/{key}"

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
        """Return a value for each id that changes with each record. Reads no journal."""
        del labels, since
        found: dict[str, Stamp] = {}
        for key in self.ids():
            with suppress(OSError):  # its creation was interrupted
                status = os.stat(f"{self.folders}/{key}/{JOURNAL}")
                found[key] = (status.st_mtime_ns, status.st_size)
        return found

    def new_id(self, stem: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an unused id that begins with *stem*."""
        while True:
            letters = "".join(ALPHABET[byte % len(ALPHABET)] for byte in random(6))
            if not os.path.lexists(os.path.join(self.folders, f"{stem}-{letters}")):
                return f"{stem}-{letters}"

    def create(self, key: str, record: T, side_files: dict[str, bytes] | None = None) -> str:
        """Store a first record and return its hash; the id must be new, or its creation was interrupted."""
        folder, noun = self.folder(key), self._kind.noun
        encoding = self._kind.encoding(FolderFiles(folder))
        line = encoding.prepare(record)
        if os.path.lexists(f"{folder}/{JOURNAL}"):
            raise StorageError(f"{noun} `{key}` exists already", hint="start again")
        prepare_folder(self.path, folder)
        for name, data in {**(side_files or {}), **line.side_files}.items():
            FolderFiles(folder).write(name, data)
        self.owner.claim(folder, line.hash)
        with journal.opened(f"{folder}/{JOURNAL}", encoding, journal.CREATE) as opened:
            opened.append(line)
        journal.flush_names(folder)
        with suppress(StorageError):
            write_snapshot(self._copy(folder), noun, line.data[noun], 0, line.hash)
        return line.hash

    def newest(self, key: str, *, foreign: bool = False) -> tuple[T, int]:
        """Return the newest record and how many bytes of an interrupted write follow it.

        It is flushed first if its writer died before it could say so.
        """
        with self._opened(key, foreign=foreign) as (opened, folder):
            record, behind = self._load(opened, folder, key)
            if behind:
                with suppress(StorageError):  # a file system that is read-only can still be read
                    opened.flush_newest()
            return record, opened.torn

    def newest_of_all(self) -> Iterator[tuple[str, Callable[[], T]]]:
        """Yield each id with a function that reads its newest record."""

        def read(key: str) -> T:
            return self.newest(key)[0]

        return ((key, partial(read, key)) for key in self.ids())

    def first(self, key: str, *, foreign: bool = False) -> T:
        """Return the first record."""
        with self._opened(key, foreign=foreign) as (opened, _):
            return opened.first()

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldFolder[T]]:
        """Hold the lock and yield the session or handoff."""
        what = f"{self._kind.noun} `{key}`"
        with (
            self._opened(key, journal.CHANGE) as (opened, folder),
            locked(f"{folder}/{LOCK}", wait=wait, what=what),
        ):
            newest, behind = self._load(opened, folder, key)
            if behind:
                opened.flush_newest()
                files.sweep(folder)
            yield HeldFolder(opened, newest, folder, self._kind.noun)

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against the copy."""
        with self._opened(key, foreign=foreign) as (opened, folder):
            copy = self._copy(folder)
            seen, seq, digest = read_snapshot(copy), -1, ""
            for record in opened.records():
                self._check_id(opened.path, record, key)
                seq, digest = record.seq, record.hash
                yield record
            check_snapshot(copy, seen, seq, digest)

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        with self._opened(key) as (opened, _):
            yield from opened.newest_first()

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""
        with self._opened(key) as (opened, _):
            yield from opened.lines()

    def restore(self, key: str, lines: Sequence[bytes], side_files: Mapping[str, bytes]) -> None:
        """Store records as they were written elsewhere, and this user as their owner; the id must be new."""
        folder, noun = self.folder(key), self._kind.noun
        encoding = self._kind.encoding(FolderFiles(folder))
        if os.path.lexists(f"{folder}/{JOURNAL}"):
            raise StorageError(f"{noun} `{key}` exists already", hint="nothing was changed")
        prepare_folder(self.path, folder)
        try:
            for name, data in side_files.items():
                FolderFiles(folder).write(name, data)
            *_, newest = journal.chained(encoding, lines, key)
            self._check_id(key, newest, key)
        except StorageError:
            remove_folder(folder)
            raise
        self.owner.claim(folder, journal.hash_of(lines[0]))
        files.write_atomic(f"{folder}/{JOURNAL}", b"".join(lines))
        journal.flush_names(folder)

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine made it."""
        with self._opened(key, foreign=True) as (opened, folder):
            return not self.owner.owns(folder, opened.first_hash())

    def adopt(self, key: str) -> None:
        """Make it this user's."""
        with self._opened(key, foreign=True) as (opened, folder):
            self.owner.claim(folder, opened.first_hash())

    def delete(self, key: str) -> None:
        """Delete it with all its files: moved out of sight in one step, then removed."""
        folder = self.folder(key)
        aside = os.path.join(self.folders, f"{REMOVED}{key}-{os.urandom(4).hex()}")
        try:
            os.rename(folder, aside)
            files.sync_dir(self.folders)
            remove_folder(aside)
        except OSError as error:
            raise StorageError(
                f"{folder} could not be deleted ({error.strerror})",
                hint="check its permissions",
                place=folder,
            ) from None

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""
        with suppress(OSError):
            for name in os.listdir(self.folders):
                if name.startswith(REMOVED):
                    remove_folder(os.path.join(self.folders, name))

    def side_files(self, key: str) -> FolderFiles:
        """Return its other files."""
        return FolderFiles(self.folder(key))

    def _copy(self, folder: str) -> str:
        return f"{folder}/{self._kind.noun}.json"

    def _check_private(self) -> None:
        if not self._checked:
            files.check_private_dir(self.path)
            files.check_private_dir(self.folders)
            self._checked = True

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
                copy = self._copy(folder)
                check_snapshot(copy, read_snapshot(copy), -1, "")
                known = (
                    list if os.path.lexists(folder) else self.ids
                )  # an interrupted start is not a misspelt id
                raise self._kind.unknown(key, known) from None
            if not foreign and key not in self._owned:
                first = opened.first_hash()
                if first and not self.owner.owns(folder, first):
                    raise self._kind.foreign(key)
                self._owned.add(key)
            yield opened, folder

    def _load(self, opened: Journal[T], folder: str, key: str) -> tuple[T, bool]:
        """Return the newest record, and whether the snapshot is older."""
        copy = self._copy(folder)
        seen = read_snapshot(copy)  # before the journal, which can only have more records by then
        record = opened.newest()
        if record is None:
            check_snapshot(copy, seen, -1, "")
            raise self._kind.unknown(key, list)
        self._check_id(opened.path, record, key)
        check_snapshot(copy, seen, record.seq, record.hash)
        return record, seen is None or seen.seq < record.seq

    def _check_id(self, path: str, record: T, key: str) -> None:
        if self._kind.id_of(record) != key:
            raise DamagedError(path, record.seq + 1, f"the record belongs to `{self._kind.id_of(record)}`")


class WrittenRecords(NamedTuple):
    """A session or handoff as it was written: the lines of its journal, and the files that they name."""

    lines: tuple[bytes, ...]
    side_files: Mapping[str, bytes]


def written_records(store: RecordStore[T], key: str) -> WrittenRecords:
    """Return what is stored under *key*, each record checked against the one before it."""
    for _ in store.records(key):
        pass
    side_files = store.side_files(key)
    content = {
        name: side_files.read(name, limits.DEFINITION_BYTES, "a file of the session")
        for name in side_files.names()
    }
    return WrittenRecords(tuple(store.lines(key)), content)


def prepare_folder(store: str, folder: str) -> None:
    """Make the *folder* of a session or handoff below *store*, private and unknown to git."""
    folders = os.path.dirname(folder)
    files.make_private_dir(store)
    files.make_private_dir(folders)
    own = os.path.basename(os.path.abspath(store)) == ".flow"  # any other folder may hold other files
    ignore = os.path.join(store if own else folders, ".gitignore")
    if not os.path.lexists(ignore):
        files.write_atomic(ignore, b"*\n")
    files.sync_dir(store)  # the process that made them may have died before they were flushed
    files.sync_dir(os.path.dirname(os.path.abspath(store)))
    files.make_private_dir(folder)


class FolderListener:
    """Lets a store of files be looked at each time."""

    def wait(self, seconds: float) -> bool:
        """Wait so long."""
        time.sleep(seconds)
        return True

    def close(self) -> None:
        """Do nothing."""


class FileBackend:
    """The records of the store in the folder *path*."""

    def __init__(self, path: str, owner: Owner) -> None:
        self._path = path
        self._owner = owner

    def records(self, kind: Kind[T]) -> RecordStore[T]:
        """Return all sessions, or all handoffs."""
        return FileStore(self._path, kind, self._owner)

    def listener(self) -> FolderListener:
        """Return what waits for changes of the store by any process."""
        return FolderListener()


def remove_folder(path: str) -> None:
    """Delete a folder with everything in it; a link is deleted, not followed."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    else:
        import shutil  # 2 ms with the archive formats that it imports, and only deletions need it

        shutil.rmtree(path)


_SNAPSHOT_END = re.compile(
    rb',\n "seq": (\d{1,15}),\n "hash": "([0-9a-f]{64})",\n "check": "([0-9a-f]{16})"\n}\n\Z'
)
_SNAPSHOT_CHECK_LENGTH = len(',\n "check": "0123456789abcdef"\n}\n')
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
    files.write_over(path, body + f',\n "check": "{_snapshot_check(body)}"\n}}\n'.encode())


def read_snapshot(path: str) -> Snapshot | None:
    """Return which record the snapshot at *path* is of, or `None` if it is incomplete."""
    data = _snapshot_bytes(path)
    end = _SNAPSHOT_END.search(data)
    if end is None or end[3].decode() != _snapshot_check(data[:-_SNAPSHOT_CHECK_LENGTH]):
        return None
    return Snapshot(int(end[1]), end[2].decode())


def snapshot_content(path: str) -> dict[str, object] | None:
    """Return the content of the snapshot at *path*, or `None` if it is not JSON."""
    try:
        data = json.loads(_snapshot_bytes(path))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def check_snapshot(path: str, seen: Snapshot | None, seq: int, digest: str) -> None:
    """Refuse a journal that ends with record *seq* if its snapshot has *seen* a later or another one; -1 is none."""
    if seen is None or seen.seq < seq or (seen.seq, seen.hash) == (seq, digest):
        return
    another = "another " if seen.seq == seq else ""
    ends = f"ends with {another}record {seq}" if seq >= 0 else "has no record"
    raise LinesLostError(
        f"{path} is a snapshot of record {seen.seq}, but the journal {ends}",
        hint="nothing was changed; restore journal.jsonl from a backup, or start again",
        place=path,
    )


def _snapshot_check(body: bytes) -> str:
    return sha256_hex(body)[:16]


def _snapshot_bytes(path: str) -> bytes:
    try:
        return files.read_bounded(path, limit=_LARGEST_SNAPSHOT, what="the snapshot")
    except DocumentError:
        return b""
