"""An append-only file of records: one line of JSON each, hash-chained, flushed before its answer is printed.

The last key of a line is the SHA-256 of all the text before it, and each record names the hash of the record
before it (`prev`), so accidental changes, lost lines and moved lines are noticed. Reading the first and the
last line takes the same time in a long journal as in a short one. A line without a line feed was left by an
interrupted write: readers ignore it and the next record replaces it.

The journal knows nothing about its records except `seq`, `prev` and `hash`; an `Encoding` turns them into
JSON and back.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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
_END = re.compile(_HASH + rb'([0-9a-f]{64})"}')
_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class TooLargeError(StorageError):
    """A record, a journal or a text would grow past its limit."""

    code = "TOO_LARGE"


def too_large(
    what: str, size: int, limit: int, *, hint: str = "put long texts into files and report their paths"
) -> TooLargeError:
    """Return the refusal of something that would have *size* bytes."""
    return TooLargeError(
        f"{what} would have {size} bytes; at most {limit} are allowed", hint=hint, bytes=size
    )


class JournalFullError(TooLargeError):
    """The journal has no room for another record."""

    code = "JOURNAL_FULL"


class DamagedError(StorageError):
    """A journal was changed or damaged; the message contains file and line."""

    code = "JOURNAL_DAMAGED"

    def __init__(self, path: str, line: int, what: str) -> None:
        self.what = what
        super().__init__(
            f"{path}:{line}: {what}",
            hint="nothing was changed; restore the file from a copy, or start again",
            place=f"{path}:{line}",
        )


class Chained(Protocol):
    """What every record knows of its place in the chain. The first has ``seq`` 0 and an empty ``prev``."""

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


def _keep_whole(_data: dict[str, object], _body: bytes) -> None:
    return None


class Encoding(NamedTuple, Generic[T]):
    """How a record becomes a JSON object and back.

    ``encode`` returns the object without `hash`; ``decode`` gets it with `hash`, and the text of the line.
    ``split`` moves long texts from the object into side files, which must exist before the record does; it
    gets the text of the line too, and returns `None` if there is nothing to move.
    """

    encode: Callable[[T], dict[str, Any]]
    decode: Callable[[dict[str, Any], bytes], T]
    split: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], dict[str, bytes]] | None] = _keep_whole

    def prepare(self, record: T) -> JournalLine:
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
        self._fd = fd
        self.encoding = encoding
        self._line = b""
        self._end = 0
        self.torn = 0
        """How many bytes of an interrupted write follow the last whole line."""

    @property
    def size(self) -> int:
        """How many bytes the whole lines have."""
        return self._end

    def first_hash(self) -> str:
        """Return the hash of the first record, checked against its line; empty before the first record."""
        line = self._first_line()
        return _body_and_hash(line, self.path, 1)[1] if line else ""

    def first(self) -> T:
        """Return the first record."""
        return decoded(self.encoding, self._first_line() or b"{}", self.path, 1)

    def newest(self) -> T | None:
        """Return the newest record, or `None` if the journal has none yet."""
        self._line, self._end, self.torn = self._tail()
        if not self._line:
            return None
        try:
            return decoded(self.encoding, self._line, self.path, 0)
        except DamagedError as error:  # counting the lines takes long, so only a damaged journal pays for it
            raise type(error)(self.path, self._count_lines(), error.what) from None

    def records(self) -> Iterator[T]:
        """Yield every record, oldest first, each checked against the one before it."""
        return chained(self.encoding, self._lines(), self.path)

    def lines(self) -> Iterator[bytes]:
        """Yield every whole line as it was written, oldest first."""
        return self._lines()

    def newest_first(self) -> Iterator[T]:
        """Yield every record, newest first, each checked against the one after it."""
        after = self.newest()
        if after is None:
            return
        yield after
        lines = self._lines_backwards()
        next(lines)
        for line in lines:
            record = decoded(self.encoding, line, self.path, after.seq)
            if (record.seq, record.hash) != (after.seq - 1, after.prev):
                raise does_not_follow(self.path, after.seq + 1)
            yield record
            after = record

    def append(self, line: JournalLine, *, reserve: int = 0) -> None:
        """Add a prepared record with one flush; when this returns, it is on disk.

        *reserve* bytes of the largest journal stay free. If the write fails, nothing of it remains.
        """
        self.check_room(line, reserve)
        if self.torn:
            self._cut()
        try:
            files.append_durable(self._fd, line.text, what=self.path)
        except StorageError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise
        self._line = line.text
        self._end += len(line.text)

    def check_room(self, line: JournalLine, reserve: int = 0) -> None:
        """Refuse a record that does not fit into the journal."""
        if self._end + len(line.text) > limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"{self.path} has {self._end} bytes and no room for another record",
                hint="start again",
                bytes=self._end,
            )

    def has_room(self, reserve: int) -> bool:
        """Return whether another record like the newest one fits twice and leaves *reserve* bytes free."""
        return self._end + 2 * len(self._line) <= limits.JOURNAL_BYTES - reserve

    def flush_newest(self) -> None:
        """Flush the last line, whose writer may have died before it could.

        The same bytes are written to the same place first: after a flush that failed, another flush reports
        success for pages that the kernel has dropped.
        """
        try:
            fd = os.open(self.path, _OPEN | os.O_WRONLY)  # without O_APPEND: Linux would write at the end
            try:
                start, rest = self._end - len(self._line), memoryview(self._line)
                while rest:
                    written = os.pwrite(fd, rest, start)
                    start, rest = start + written, rest[written:]
                files.flush(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise StorageError(
                f"{self.path} could not be flushed ({error.strerror})", hint="check the disk", place=self.path
            ) from None
        flush_names(os.path.dirname(self.path))

    def _first_line(self) -> bytes:
        data = b""
        while b"\n" not in data:
            piece = os.pread(self._fd, _next_size(data), len(data))
            if not piece:
                return b""
            if len(data) > limits.RECORD_BYTES:
                raise DamagedError(self.path, 1, f"the first line has more than {limits.RECORD_BYTES} bytes")
            data += piece
        return data[: data.index(b"\n") + 1]

    def _tail(self) -> tuple[bytes, int, int]:
        """Return the last whole line, where it ends, and how many bytes follow it."""
        size = os.fstat(self._fd).st_size
        data, start = b"", size
        while start > 0 and len(data) <= 2 * limits.RECORD_BYTES:
            step = min(_next_size(data), start)
            start -= step
            data = os.pread(self._fd, step, start) + data
            last = data.rfind(b"\n")
            begin = data.rfind(b"\n", 0, last) if last >= 0 else -1
            if begin >= 0 or (start == 0 and last >= 0):
                self._check_torn(data[last + 1 :])
                return data[begin + 1 : last + 1], start + last + 1, len(data) - last - 1
        if start == 0:
            self._check_torn(data)
            return b"", 0, size
        raise DamagedError(
            self.path, self._count_lines(), f"the last line has more than {limits.RECORD_BYTES} bytes"
        )

    def _lines(self) -> Iterator[bytes]:
        at, number, rest = 0, 0, b""
        while piece := os.pread(self._fd, _CHUNK, at):
            at += len(piece)
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line + b"\n" for line in whole)
            number += len(whole)
            if len(rest) > limits.RECORD_BYTES:
                raise DamagedError(
                    self.path, number + 1, f"the line has more than {limits.RECORD_BYTES} bytes"
                )
        self._check_torn(rest)

    def _lines_backwards(self) -> Iterator[bytes]:
        start, rest = self._end, b""
        while start > 0:
            step = min(_CHUNK, start)
            start -= step
            rest = os.pread(self._fd, step, start) + rest
            first, *whole = rest.split(b"\n")
            yield from (line + b"\n" for line in reversed(whole[:-1]))
            rest = first + b"\n"
        if rest:
            yield rest

    def _check_torn(self, rest: bytes) -> None:
        """Refuse a complete record that lost only its line feed: it was acknowledged and must not be cut off."""
        for end in _END.finditer(rest):
            digest = sha256_hex(rest[: end.start()]).encode()
            if end.end() < len(rest) and digest == end.group(1):
                what = "the end of the line is not as it was written"
                raise DamagedError(self.path, self._count_line_feeds() + 1, what)

    def _cut(self) -> None:
        try:
            os.ftruncate(self._fd, self._end)
        except OSError as error:
            raise StorageError(
                f"the incomplete record at the end of {self.path} could not be removed ({error.strerror})",
                hint="check the disk; nothing has moved",
                place=self.path,
            ) from None
        self.torn = 0

    def _count_lines(self) -> int:
        return max(1, self._count_line_feeds())

    def _count_line_feeds(self) -> int:
        at, found = 0, 0
        while piece := os.pread(self._fd, _CHUNK, at):
            at += len(piece)
            found += piece.count(b"\n")
        return found


@contextmanager
def opened(path: str, encoding: Encoding[T], mode: int = READ) -> Iterator[Journal[T]]:
    """Hold the journal at *path* open; `FileNotFoundError` if it does not exist."""
    files.check_private_dir(os.path.dirname(path))
    try:
        fd = os.open(path, _OPEN | mode, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(
            f"{path} could not be opened ({error.strerror})", hint="check its permissions", place=path
        ) from None
    try:
        problem = _problem(os.fstat(fd))
        if problem:
            raise StorageError(f"{path} {problem}", hint="a journal is a file of your own", place=path)
        yield Journal(fd, path, encoding)
    finally:
        os.close(fd)


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
        raise type(error)(path, number, error.what) from None
    except RecordError as error:
        raise DamagedError(path, number, f"the record has another form: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = f"the record cannot be read ({type(error).__name__}: {error})"
        raise DamagedError(path, number, what) from None


def chained(encoding: Encoding[T], lines: Iterable[bytes], path: str) -> Iterator[T]:
    """Yield the records in *lines*, oldest first, each checked against the one before it."""
    before = ""
    for number, line in enumerate(lines, start=1):
        record = decoded(encoding, line, path, number)
        if record.prev != before or record.seq != number - 1:
            raise does_not_follow(path, number)
        before = record.hash
        yield record


def hash_of(line: bytes) -> str:
    """Return the hash in a line, checked against its text."""
    return _body_and_hash(line, "the record", 1)[1]


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


def _next_size(data: bytes) -> int:
    return min(max(_SHORT, len(data)), _CHUNK)


def does_not_follow(path: str, number: int) -> DamagedError:
    """Return the refusal of the record on line *number*, which does not continue the chain."""
    return DamagedError(path, number, "the record does not follow the one before it")


def _problem(about: os.stat_result) -> str:
    if not stat.S_ISREG(about.st_mode):
        return "is not a plain file"
    if about.st_uid != os.geteuid():
        return "belongs to another user"
    return "is too large" if about.st_size > limits.JOURNAL_BYTES else ""
