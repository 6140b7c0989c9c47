"""A store of records: sessions and handoffs are sequences of records, each with the whole present state.

A record is a line. `Lines` says what a place for lines must do; all places pass the same tests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol

from flowrail.errors import FlowError, StorageError
from flowrail.storage import hash_chain, journal
from flowrail.storage.converter import RecordError, from_plain, to_plain
from flowrail.storage.hash_chain import T
from flowrail.storage.journal import DamagedError, TooLargeError
from flowrail.storage.user_mark import Owner
from flowrail.text import json as strict_json
from flowrail.text import size_limits

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_LETTERS = 6
"""How many random letters and digits an id ends with."""
Stamp = tuple[int, int]
"""A value that changes with each record."""
NO_LABELS: Mapping[str, Collection[str]] = {}
_ACCEPT_SECONDS = 10.0


class JournalFullError(TooLargeError):
    """The journal has no room for another record."""

    code = "JOURNAL_FULL"


class Kind(NamedTuple, Generic[T]):
    """What differs between sessions and handoffs."""

    noun: str
    record: type[T]
    """The class of the records."""
    id_pattern: re.Pattern[str]
    id_keys: Sequence[str]
    """The keys under which a record has the id of its session or handoff."""
    unknown: Callable[[str, Callable[[], list[str]]], FlowError]
    """Return the error for an unknown id, given the id and a function that lists the known ones."""
    foreign: Callable[[str], FlowError]
    """Return the error for an id whose records another user wrote."""
    accepted: Callable[[Sequence[T], str, str], T]
    """Return the record that accepts records of another user as one's own, given these, its time and its author."""
    labels: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The labels by which a database finds a session or handoff: the path to each one's field in a record."""

    def labels_of(self, record: T) -> dict[str, str]:
        """Return the labels of a record; that of a missing part is empty."""
        whole: Any = record
        return {
            label: str(reduce(lambda part, name: getattr(part, name, ""), path, whole) or "")
            for label, path in self.labels.items()
        }

    def exists_already(self, key: str) -> StorageError:
        """Return the error for an id that is in use."""
        return StorageError(
            f"{self.noun} `{key}` exists already",
            hint="nothing was changed; name another store to have it twice",
        )

    def encode(self, record: T, mark: Callable[[bytes], str] | None = None) -> tuple[bytes, T]:
        """Return the line of *record*, and the record with its hash; `TooLargeError` if the line is too long."""
        data = to_plain(record)
        del data["hash"]
        text, digest = journal.line_of(data, mark)
        return text, replace(record, hash=digest)

    def decode(self, line: journal.Line, key: str, place: str, number: int) -> T:
        """Return the record in a line of *key*; *place* and *number* are for the error."""
        try:
            record: T = _record_in(line.body, line.hash, self.record)
        except RecordError as error:
            raise DamagedError(place, number, f"the record has another form: {error}") from None
        except (ValueError, RecursionError) as error:
            problem = f"the record cannot be read ({type(error).__name__}: {error})"
            raise DamagedError(place, number, problem) from None
        owner: Any = reduce(getattr, self.id_keys, record)
        if owner != key:
            raise DamagedError(place, number, f"the record belongs to `{owner}`")
        return record

    def decoder(self, key: str, place: str) -> Callable[[bytes, int], T]:
        """Return a function that reads a whole line of *key*, given its number."""
        return lambda text, number: self.decode(journal.parse(text, place, number), key, place, number)


@dataclass
class HeldLines:
    """The lines of one session or handoff under its lock."""

    newest: bytes
    """The newest line."""
    size: int
    """The bytes of all lines."""
    torn: int
    """How many bytes of an interrupted write follow the newest line."""
    write: Callable[[bytes, Any], None]
    """Adds a line, given with its record."""


class Lines(Protocol):
    """Where the lines of all sessions, or of all handoffs, are kept. A missing id is refused with the error of its kind.

    A place that can do better than read all lines overrides the methods that do so here.
    """

    owner: Owner | None = None
    """The user who marks each line, or `None` if the database says who may write."""

    def place(self, key: str) -> str:
        """Return the file, or the address in the database, for messages."""

    def stamps(self, labels: Mapping[str, Collection[str]], since: str) -> dict[str, Stamp]:
        """Return a value that changes with each record, by id.

        With *labels*, only ids that may have one of the values of each label; with *since*, only those whose label
        `moved_at` is not earlier. A store without an index returns all ids, so the caller checks the records.
        """

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return the ids that `stamps` would return, in order."""
        return sorted(self.stamps(labels, since))

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""

    def create(self, key: str, lines: Sequence[bytes], newest: Any) -> None:
        """Store the first lines; the id must be new, or its creation was interrupted. *newest* is the last record."""

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all lines, oldest first."""

    def line(self, key: str, seq: int) -> bytes:
        """Return the line with this number."""
        return next(islice(self.lines(key), seq, None), b"")

    def lines_backwards(self, key: str) -> Iterator[bytes]:
        """Yield all lines, newest first."""
        return reversed(list(self.lines(key)))

    def newest(self, key: str) -> bytes:
        """Return the newest line."""
        return next(self.lines_backwards(key))

    def change(self, key: str, *, wait: float) -> AbstractContextManager[HeldLines]:
        """Hold the lock for *wait* seconds at most, and yield the lines; `LockTimeoutError` if it is not free."""

    def delete(self, key: str) -> None:
        """Delete all lines, and all files."""

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted, if they can be."""
        return


class HeldEntry(Generic[T]):
    """A session or handoff under its lock; ``newest`` is its newest record."""

    def __init__(self, newest: T, held: HeldLines, encode: Callable[[T], tuple[bytes, T]], name: str) -> None:
        self.newest = newest
        self.torn = held.torn
        self._held, self._encode, self._name = held, encode, name

    def append(self, record: T, *, reserve: int = 0) -> T:
        """Add the record that follows ``newest``, and return it with its hash.

        *reserve* bytes of the limit must stay free.
        """
        held = self._held
        text, written = self._encode(record)
        if held.size + len(text) > size_limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"{self._name} has {held.size} bytes and no room for another record",
                hint="start again",
                bytes=held.size,
            )
        held.write(text, written)
        held.newest, held.size, self.torn = text, held.size + len(text), 0
        return written

    def has_room(self, reserve: int) -> bool:
        """Return whether another record like the newest one fits twice and leaves *reserve* bytes free."""
        return self._held.size + 2 * len(self._held.newest) <= size_limits.JOURNAL_BYTES - reserve


class RecordStore(Generic[T]):
    """All sessions, or all handoffs, of a store.

    In files, each line has the mark of the user who wrote it. A session whose newest line has no such mark is *foreign*:
    it came with a clone, or was copied or moved by hand. It is refused until its user accepts it, with a record of
    their own.
    """

    def __init__(self, lines: Lines, kind: Kind[T]) -> None:
        self._lines, self._kind = lines, kind
        self.exists, self.delete_leftovers = lines.exists, lines.delete_leftovers

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return the ids that `stamps` would return, in order."""
        return self._lines.ids(labels, since)

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return a value that changes with each record, by id; see `Lines.stamps`."""
        return self._lines.stamps(labels, since)

    def new_id(self, stem: str) -> str:
        """Return an unused id that begins with *stem*."""
        while True:
            letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(_LETTERS))
            key = f"{_beginning(stem)}{letters}"
            if not self.exists(key):
                return key

    def create(self, key: str, record: T) -> T:
        """Store a first record and return it with its hash; the id must be new, or its creation was interrupted."""
        text, written = self._encode(key, record)
        self._lines.create(key, [text], written)
        return written

    def restore(self, key: str, lines: Sequence[bytes], *, at: str, by: str) -> None:
        """Store records that were written elsewhere, each checked against the one before it; the id must be new.

        In files, a record that accepts them follows. A database trusts every account that may write to it.
        """
        records = list(hash_chain.forwards(lines, self._kind.decoder(key, key), key))
        newest = records[-1]
        if self._lines.owner is not None:
            text, newest = self._encode(key, self._kind.accepted(records, at, by))
            lines = [*lines, text]
        self._lines.create(key, lines, newest)

    def newest(self, key: str) -> T:
        """Return the newest record."""
        return self._newest(key, self._lines.newest(key))

    def record(self, key: str, seq: int) -> T:
        """Return the record with this number; it must exist."""
        return self._own(key, self._lines.line(key, seq), seq + 1)

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it. *foreign* ones are only shown."""
        if not foreign and self.is_foreign(key):
            raise self._kind.foreign(key)
        place = self._lines.place(key)
        yield from hash_chain.forwards(self._lines.lines(key), self._kind.decoder(key, place), place)

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        lines = self._lines.lines_backwards(key)
        newest = self._newest(key, next(lines))
        place = self._lines.place(key)
        yield from hash_chain.backwards(newest, lines, self._kind.decoder(key, place), place)

    def lines(self, key: str) -> list[bytes]:
        """Return all records as they were written, oldest first."""
        self.newest(key)
        return list(self._lines.lines(key))

    def delete(self, key: str) -> None:
        """Delete all records, and in a store of files the folder with them."""
        self._lines.delete(key)

    @contextmanager
    def hold(self, key: str, *, wait: float) -> Iterator[HeldEntry[T]]:
        """Hold the lock and yield the session or handoff."""
        with self._lines.change(key, wait=wait) as held:
            newest = self._newest(key, held.newest)
            yield HeldEntry(newest, held, partial(self._encode, key), f"{self._kind.noun} `{key}`")

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine wrote it. If its last line is damaged, the first one decides."""
        if self._lines.owner is None:
            return False
        for text in (self._lines.newest(key), self._lines.line(key, 0)):
            with suppress(DamagedError):
                return not self._owns(key, journal.parse(text, self._lines.place(key), 0))
        return False  # reading it reports the damage

    def accept(self, key: str, *, at: str, by: str) -> None:
        """Make records of another user this user's own, with a record that says so."""
        with self._lines.change(key, wait=_ACCEPT_SECONDS) as held:
            records = [*self.records(key, foreign=True)]
            held.write(*self._encode(key, self._kind.accepted(records, at, by)))

    def _newest(self, key: str, text: bytes) -> T:
        try:
            return self._own(key, text, 0)
        except DamagedError as error:  # counting the lines takes long, so only a damaged journal pays for it
            number = sum(1 for _ in self._lines.lines(key))
            raise DamagedError(self._lines.place(key), number, error.problem) from None

    def _own(self, key: str, text: bytes, number: int) -> T:
        """Return the record in a line that this user wrote; refuse any other line before it is read."""
        place = self._lines.place(key)
        line = journal.parse(text, place, number)
        if not self._owns(key, line):
            raise self._kind.foreign(key)
        return self._kind.decode(line, key, place, number)

    def _owns(self, key: str, line: journal.Line) -> bool:
        owner = self._lines.owner
        return owner is None or owner.owns(os.path.dirname(self._lines.place(key)), line.body, line.mark)

    def _encode(self, key: str, record: T) -> tuple[bytes, T]:
        """Return the line of a record with this user's mark, and the record with its hash."""
        owner = self._lines.owner
        mark = None if owner is None else partial(owner.mark, os.path.dirname(self._lines.place(key)))
        return self._kind.encode(record, mark)


@lru_cache(maxsize=64)
def _record_in(body: bytes, digest: str, kind: type[T]) -> T:
    """Return the record in a line. A command reads the newest line again under its lock, and a briefing the last twelve."""
    data: dict[str, Any] = strict_json.parse(f"{body.decode()}}}")
    return from_plain({**data, "hash": digest}, kind)


def is_id_of(key: str, stem: str) -> bool:
    """Return whether `RecordStore.new_id` can have made *key* from *stem*."""
    beginning = _beginning(stem)
    return key.startswith(beginning) and len(key) == len(beginning) + _LETTERS


def _beginning(stem: str) -> str:
    return f"{stem.replace('/', '-')}-"
