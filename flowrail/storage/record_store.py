"""What every store of records does: sessions and handoffs are sequences of records, each with the whole present state.

`FileStore` keeps them in files, `SqlStore` in a database; both pass the same tests.
"""

from __future__ import annotations

import operator
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

from flowrail.errors import FlowError, StorageError
from flowrail.storage import journal
from flowrail.storage.journal import DamagedError, TooLargeError
from flowrail.storage.records import RecordError, from_plain, to_plain
from flowrail.text import json as strict_json
from flowrail.text import limits

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
Stamp = tuple[int, int]
"""A value that changes with each record."""
NO_LABELS: Mapping[str, Collection[str]] = {}


class JournalFullError(TooLargeError):
    """The journal has no room for another record."""

    code = "JOURNAL_FULL"


class Chained(Protocol):
    """A record. The first of a chain has ``seq`` 0 and an empty ``prev``."""

    @property
    def seq(self) -> int:
        """The number of the record, counted from 0."""

    @property
    def prev(self) -> str:
        """The hash of the record before it."""

    @property
    def hash(self) -> str:
        """The hash of its line; empty until it is written."""


T = TypeVar("T", bound=Chained)


@dataclass(frozen=True)
class Kind(Generic[T]):
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
    labels: Callable[[T], Mapping[str, str]] = lambda _: {}
    """Return the labels by which a database finds a session or handoff."""

    def encode(self, record: T, mark: Callable[[bytes], str] | None = None) -> tuple[bytes, str]:
        """Return the line of *record* and its hash; `TooLargeError` if it is too long."""
        data = to_plain(record)
        del data["hash"]
        return journal.line_of(data, mark)

    def decode(self, line: journal.Line, key: str, place: str, number: int) -> T:
        """Return the record in a line of *key*; *place* and *number* are for the error."""
        try:
            data: dict[str, Any] = strict_json.parse(f"{line.body.decode()}}}")
            record = from_plain({**data, "hash": line.hash}, self.record)
        except RecordError as error:
            raise DamagedError(place, number, f"the record has another form: {error}") from None
        except (ValueError, RecursionError) as error:
            problem = f"the record cannot be read ({type(error).__name__}: {error})"
            raise DamagedError(place, number, problem) from None
        owner: Any = reduce(operator.getitem, self.id_keys, data)
        if owner != key:
            raise DamagedError(place, number, f"the record belongs to `{owner}`")
        return record

    def chained(self, lines: Iterable[bytes], key: str, place: str) -> Iterator[T]:
        """Yield the records in *lines*, oldest first, each checked against the one before it."""
        before = ""
        for number, text in enumerate(lines, start=1):
            record = self.decode(journal.parse(text, place, number), key, place, number)
            if record.prev != before or record.seq != number - 1:
                raise DamagedError(place, number, "the record does not follow the one before it")
            before = record.hash
            yield record

    def chained_backwards(self, newest: T, older: Iterable[bytes], key: str, place: str) -> Iterator[T]:
        """Yield *newest* and the records in the lines before it, each checked against the one after it."""
        yield newest
        after = newest
        for text in older:
            record = self.decode(journal.parse(text, place, after.seq), key, place, after.seq)
            if (record.seq, record.hash) != (after.seq - 1, after.prev):
                raise DamagedError(place, after.seq + 1, "the record does not follow the one before it")
            yield record
            after = record


class HeldEntry(ABC, Generic[T]):
    """A session or handoff under its lock."""

    torn = 0
    """How many bytes of an interrupted write follow the newest record."""

    def __init__(self, shown_name: str, newest: T, *, size: int, last_length: int) -> None:
        self.newest = newest
        self._shown_name = shown_name
        self._size = size
        self._last_length = last_length

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash. *reserve* bytes of the limit must stay free."""
        text, digest = self._encode(record)
        if self._size + len(text) > limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"{self._shown_name} has {self._size} bytes and no room for another record",
                hint="start again",
                bytes=self._size,
            )
        self._size += len(text)
        self._last_length = len(text)
        self._write(record, text, digest)
        return digest

    def has_room(self, reserve: int) -> bool:
        """Return whether another record like the newest one fits twice and leaves *reserve* bytes free."""
        return self._size + 2 * self._last_length <= limits.JOURNAL_BYTES - reserve

    @abstractmethod
    def _encode(self, record: T) -> tuple[bytes, str]:
        """Return the line of a record and its hash."""

    @abstractmethod
    def _write(self, record: T, text: bytes, digest: str) -> None:
        """Store a record."""


class RecordStore(ABC, Generic[T]):
    """All sessions, or all handoffs, of a store."""

    def __init__(self, kind: Kind[T]) -> None:
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
            if not self.exists(key):
                return key

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""

    @abstractmethod
    def create(self, key: str, record: T) -> str:
        """Store a first record and return its hash; the id must be new, or its creation was interrupted."""

    @abstractmethod
    def newest(self, key: str) -> T:
        """Return the newest record."""

    @abstractmethod
    def record(self, key: str, seq: int) -> T:
        """Return the record with this number; it must exist."""

    @abstractmethod
    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it. *foreign* ones are only shown."""

    @abstractmethod
    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""

    @abstractmethod
    def lines(self, key: str) -> list[bytes]:
        """Return all records as they were written, oldest first."""

    @abstractmethod
    def restore(self, key: str, lines: Sequence[bytes], *, at: str, by: str) -> None:
        """Store records that were written elsewhere, each checked against the one before it; the id must be new."""

    @abstractmethod
    def change(self, key: str, *, wait: float) -> AbstractContextManager[HeldEntry[T]]:
        """Hold the lock and yield the session or handoff."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its files."""

    def is_foreign(self, key: str) -> bool:
        """Return whether another user or machine wrote it. Databases control this with their own permissions."""
        del key
        return False

    def accept(self, key: str, *, at: str, by: str) -> None:
        """Make records of another user this user's own."""

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""

    def _exists_already(self, key: str) -> StorageError:
        return StorageError(
            f"{self._kind.noun} `{key}` exists already",
            hint="nothing was changed; name another store to have it twice",
        )
