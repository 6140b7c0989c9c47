"""An append-only file of records: one line of JSON each, hash-chained, flushed before its answer is printed.

The last key of a line is the SHA-256 of all the text before it, and each record names the hash of the record
before it (`prev`), so accidental changes, lost lines and moved lines are noticed. Reading the first and the
last line takes the same time in a long journal as in a short one. A line without a line feed was left by an
interrupted write: readers ignore it and the next record replaces it.

The journal knows nothing about its records except `seq`, `prev` and `hash`; an `Encoding` turns them into
JSON and back.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from flowrail.errors import StorageError, UsageError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.storage.records import RecordError
from flowrail.text import json as strict_json
from flowrail.text import limits

READ, CHANGE, CREATE = os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CHUNK = 65_536
_SHORT = 4_096
"""How much of an end of the file is read at first: most lines are short."""
_HASH = b',"hash":"'
_HASH_LENGTH = len(_HASH) + 64 + len('"}')
_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class TooLargeError(StorageError):
    """A record, a journal or a text would grow past its limit."""

    code = "TOO_LARGE"


def too_large(
    subject: str, size: int, limit: int, *, hint: str = "put long texts into files and report their paths"
) -> TooLargeError:
    """Return the error for something that would have *size* bytes."""
    return TooLargeError(
        f"{subject} would have {size} bytes; at most {limit} are allowed", hint=hint, bytes=size
    )


class JournalFullError(TooLargeError):
    """The journal has no room for another record."""

    code = "JOURNAL_FULL"


class DamagedError(StorageError):
    """A journal was changed or damaged; the message contains file and line."""

    code = "JOURNAL_DAMAGED"

    def __init__(self, path: str, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(
            f"{path}:{line}: {problem}",
            hint="nothing was changed; restore the file from a backup, or start again",
            place=f"{path}:{line}",
        )


class Chained(Protocol):
    """The position of a record in the chain. The first has ``seq`` 0 and an empty ``prev``."""

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


class Encoding(NamedTuple, Generic[T]):
    """How a record becomes a JSON object and back.

    ``encode`` returns the object without `hash`; ``decode`` gets it with `hash`, and the text of the line.
    ``split`` moves long texts from the object into side files, which must exist before the record does; it
    gets the text of the line too, and returns `None` if there is nothing to move.
    """

    encode: Callable[[T], dict[str, Any]]
    decode: Callable[[dict[str, Any], bytes], T]
    split: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], dict[str, bytes]] | None] = (
        lambda _data, _body: None
    )

    def prepare(self, record: T) -> "JournalLine":
        """Return *record* as it will be written; `TooLargeError` if it is too long."""
        data, side_files = self.encode(record), dict[str, bytes]()
        body = _body(data)
        parts = self.split(data, body)
        if parts is not None:
            data, side_files = parts
            body = _body(data)
        digest = sha256_hex(body)
        text = body + _HASH + digest.encode() + b'"}\n'
        if len(text) > limits.RECORD_BYTES:
            raise too_large("the record", len(text), limits.RECORD_BYTES)
        return JournalLine(text, digest, data, side_files)


class JournalLine(NamedTuple):
    """A record as it is written: its line, its hash, the same as plain data, and its side files by name."""

    text: bytes
    hash: str
    data: dict[str, Any]
    side_files: dict[str, bytes]


class Journal(Generic[T]):
    """One open journal. Call `newest` before `append`, except in a new journal: it finds the end."""

    def __init__(self, fd: int, path: str, encoding: Encoding[T]) -> None:
        self.path = path
        self.encoding = encoding
        self.size = 0
        """How many bytes the whole lines have."""
        self.torn = 0
        """How many bytes of an interrupted write follow the last whole line."""
        self.last_length = 0
        """How long the last whole line is."""
        self._fd = fd

    def first_hash(self) -> str:
        """Return the hash of the first record, checked against its line; empty before the first record."""
        line = next(self.lines(), None)
        return hash_of(line, self.path) if line else ""

    def newest(self) -> T | None:
        """Return the newest record, or `None` if the journal has none yet."""
        end = os.fstat(self._fd).st_size
        pieces = self._backwards(end)
        self.torn = len(next(pieces))
        self.size = end - self.torn
        if not self.size:
            return None
        line = next(pieces)
        self.last_length = len(line) + 1
        try:
            return decoded(self.encoding, line, self.path, 0)
        except DamagedError as error:  # counting the lines takes long, so only a damaged journal pays for it
            raise type(error)(self.path, sum(1 for _ in self.lines()), error.problem) from None

    def records(self) -> Iterator[T]:
        """Yield every record, oldest first, each checked against the one before it."""
        return chained(self.encoding, self.lines(), self.path)

    def newest_first(self) -> Iterator[T]:
        """Yield every record, newest first, each checked against the one after it."""
        newest = self.newest()
        if newest is not None:
            older = islice(self._backwards(self.size), 2, None)
            yield from chained_backwards(self.encoding, newest, older, self.path)

    def lines(self) -> Iterator[bytes]:
        """Yield every whole line as it was written, oldest first."""
        offset, number, rest, length = 0, 0, b"", _SHORT
        while piece := os.pread(self._fd, length, offset):
            offset += len(piece)
            length = _CHUNK
            *whole, rest = (rest + piece).split(b"\n")
            number += len(whole)
            if len(rest) > limits.RECORD_BYTES:
                raise self._too_long(number + 1)
            yield from (line + b"\n" for line in whole)

    def append(self, line: JournalLine) -> None:
        """Add a prepared record with one flush; when this returns, it is on disk.

        If the write or the flush fails, nothing of it remains. A failed flush is not repeated, because the kernel then
        reports success for pages that it dropped.
        """
        with files.writing(self.path):
            try:
                if self.torn:
                    os.ftruncate(self._fd, self.size)
                files.write_all(self._fd, line.text)
                files.flush(self._fd)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._fd, self.size)
                raise
        self.torn = 0
        self.size += len(line.text)
        self.last_length = len(line.text)

    def flush(self) -> None:
        """Flush the last line, because its writer may have died before its flush."""
        with files.writing(self.path):
            files.flush(self._fd)
        flush_names(os.path.dirname(self.path))

    def _backwards(self, end: int) -> Iterator[bytes]:
        """Yield the text before *end*, split at line feeds, last part first. That part is empty after a complete line."""
        start, rest, length = end, b"", _SHORT
        while start > 0:
            length = min(length, start)
            start -= length
            rest, *whole = (os.pread(self._fd, length, start) + rest).split(b"\n")
            if len(rest) > limits.RECORD_BYTES:
                raise self._too_long(sum(1 for _ in self.lines()))
            yield from reversed(whole)
            length = _CHUNK
        yield rest

    def _too_long(self, number: int) -> DamagedError:
        return DamagedError(self.path, number, f"the line has more than {limits.RECORD_BYTES} bytes")


@contextmanager
def opened(path: str, encoding: Encoding[T], mode: int = READ) -> Iterator[Journal[T]]:
    """Hold the journal at *path* open; `FileNotFoundError` if it does not exist."""
    files.check_private_dir(os.path.dirname(path))
    try:
        fd = os.open(path, _OPEN | mode, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unusable(path, f"could not be opened ({error.strerror})") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "is not a plain file")
        if status.st_size > limits.JOURNAL_BYTES:
            raise _unusable(path, "is too large")
        yield Journal(fd, path, encoding)
    finally:
        os.close(fd)


def _unusable(path: str, fact: str) -> StorageError:
    return StorageError(
        f"{path} {fact}", hint="move it away and restore the journal from a backup", place=path
    )


def _body(data: dict[str, object]) -> bytes:
    """Return the text of a line before its hash."""
    try:
        return _json(data).encode()[:-1]
    except ValueError as error:
        raise UsageError(
            f"the record would contain a value that JSON does not have: {str(error)[:100]}",
            hint="give plain numbers; a default of the workflow may be infinite or not a number",
        ) from None


def decoded(encoding: Encoding[T], line: bytes, path: str, number: int) -> T:
    """Return the record in a line, checked against its hash. *path* and *number* are for the error."""
    body, digest = _body_and_hash(line, path, number)
    try:
        data = strict_json.parse(f"{body.decode()}}}")
        data["hash"] = digest
        data.pop("mac", None)  # earlier versions signed their records
        return encoding.decode(data, body)
    except DamagedError as error:
        raise type(error)(path, number, error.problem) from None
    except RecordError as error:
        raise DamagedError(path, number, f"the record has another form: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        problem = f"the record cannot be read ({type(error).__name__}: {error})"
        raise DamagedError(path, number, problem) from None


def chained(encoding: Encoding[T], lines: Iterable[bytes], path: str) -> Iterator[T]:
    """Yield the records in *lines*, oldest first, each checked against the one before it."""
    before = ""
    for number, line in enumerate(lines, start=1):
        record = decoded(encoding, line, path, number)
        if record.prev != before or record.seq != number - 1:
            raise _does_not_follow(path, number)
        before = record.hash
        yield record


def chained_backwards(encoding: Encoding[T], newest: T, older: Iterable[bytes], path: str) -> Iterator[T]:
    """Yield *newest* and the records in the lines before it, each checked against the one after it."""
    yield newest
    after = newest
    for line in older:
        record = decoded(encoding, line, path, after.seq)
        if (record.seq, record.hash) != (after.seq - 1, after.prev):
            raise _does_not_follow(path, after.seq + 1)
        yield record
        after = record


def hash_of(line: bytes, path: str) -> str:
    """Return the hash in the first line of a journal, checked against its text."""
    return _body_and_hash(line, path, 1)[1]


def flush_names(folder: str) -> None:
    """Flush the names of the files in *folder*, and its own name."""
    files.sync_dir(folder)
    files.sync_dir(os.path.dirname(folder))


def _body_and_hash(line: bytes, path: str, number: int) -> tuple[bytes, str]:
    """Return the text of a line before its hash, and the hash; refuse a line that does not match its hash."""
    text = line.removesuffix(b"\n")
    body = text[:-_HASH_LENGTH]
    digest = sha256_hex(body)
    if text != body + _HASH + digest.encode() + b'"}':
        raise DamagedError(path, number, "the line is not as it was written")
    return body, digest


def _does_not_follow(path: str, number: int) -> DamagedError:
    return DamagedError(path, number, "the record does not follow the one before it")
