"""An append-only file of lines: one record in JSON each, with the hash of the one before it, flushed at once.

    {"seq":1, …, "prev":"<hash of the line before>", "mark":"<of the user>", "hash":"<SHA-256 of all the text before>"}

`flowrail.storage.hash_chain` notices accidental changes, lost lines and moved lines. Reading the first and the last
line takes the same time in a long journal as in a short one. A line without a line feed was left by an interrupted
write: readers ignore it and the next record replaces it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, Self

from flowrail.errors import StorageError, UsageError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import size_limits

READ, CHANGE = os.O_RDONLY, os.O_RDWR | os.O_APPEND
CREATE = CHANGE | os.O_CREAT

_CHUNK = 65_536
_SHORT = 4_096
"""How much of an end of the file is read at first: most lines are short."""
_END = re.compile(rb'(?:,"mark":"([0-9a-f]{64})")?,"hash":"([0-9a-f]{64})"}\n?\Z')


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


# --- lines


class Line(NamedTuple):
    """A line of a journal, checked against its hash."""

    body: bytes
    """The text before mark and hash."""
    mark: str
    """The mark of the user who wrote the line; empty in a database."""
    hash: str


def line_of(data: dict[str, object], mark: Callable[[bytes], str] | None = None) -> tuple[bytes, str]:
    """Return a record's line and its hash; *mark* makes the user's mark from the text before it."""
    try:
        body = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()[:-1]
    except ValueError as error:
        raise UsageError(
            f"the record would contain a value that JSON does not have: {str(error)[:100]}",
            hint="give plain numbers; a default of the workflow may be infinite or not a number",
        ) from None
    if mark is not None:
        body += f',"mark":"{mark(body)}"'.encode()
    digest = sha256_hex(body)
    text = body + f',"hash":"{digest}"}}\n'.encode()
    if len(text) > size_limits.RECORD_BYTES:
        raise too_large("the record", len(text), size_limits.RECORD_BYTES)
    return text, digest


def parse(line: bytes, place: str, number: int) -> Line:
    """Return a line that was read, or `DamagedError` with *place* and *number* if it does not match its hash."""
    end = _END.search(line, max(0, len(line) - 200))
    if end is None or sha256_hex(line[: end.start(2) - len(',"hash":"')]) != end[2].decode():
        raise DamagedError(place, number, "the line is not as it was written")
    return Line(line[: end.start()], (end[1] or b"").decode(), end[2].decode())


# --- files


class Journal:
    """One open journal, which is closed at the end of a `with` block. Call `last_line` before `append`: it finds the end."""

    def __init__(self, fd: int, path: str) -> None:
        self.path = path
        self.size = 0
        """How many bytes the whole lines have."""
        self.torn = 0
        """How many bytes of an interrupted write follow the last whole line."""
        self._fd = fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._fd)

    def last_line(self) -> bytes:
        """Return the last whole line, empty if the journal has none yet."""
        end = os.fstat(self._fd).st_size
        pieces = self._backwards(end)
        self.torn = len(next(pieces))
        self.size = end - self.torn
        return next(pieces) + b"\n" if self.size else b""

    def lines(self) -> Iterator[bytes]:
        """Yield every whole line, oldest first."""
        offset, number, rest, length = 0, 0, b"", _SHORT
        while piece := os.pread(self._fd, length, offset):
            offset += len(piece)
            length = _CHUNK
            *whole, rest = (rest + piece).split(b"\n")
            number += len(whole)
            if len(rest) > size_limits.RECORD_BYTES:
                raise self._too_long(number + 1)
            yield from (line + b"\n" for line in whole)

    def lines_backwards(self) -> Iterator[bytes]:
        """Yield every whole line from the one that `last_line` returned, newest first."""
        return (line + b"\n" for line in islice(self._backwards(self.size), 1, None))

    def append(self, text: bytes) -> None:
        """Add a line with one flush; when this returns, it is on disk.

        If the write or the flush fails, or if the journal was deleted or moved meanwhile, nothing of it remains. A
        failed flush is not repeated, because the kernel then reports success for pages that it dropped.
        """
        with files.writing(self.path):
            try:
                if self.torn:
                    os.ftruncate(self._fd, self.size)
                files.write_all(self._fd, text)
                files.flush(self._fd)
                found, own = os.stat(self.path), os.fstat(self._fd)
                if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
                    raise FileNotFoundError(errno.ENOENT, "it was replaced")
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._fd, self.size)
                raise
        self.torn = 0
        self.size += len(text)

    def flush(self) -> None:
        """Flush the last line, because its writer may have died before its flush."""
        with files.writing(self.path):
            files.flush(self._fd)

    def _backwards(self, end: int) -> Iterator[bytes]:
        """Yield the text before *end*, split at line feeds, last part first. That part is empty after a complete line."""
        start, rest, length = end, b"", _SHORT
        while start > 0:
            length = min(length, start)
            start -= length
            rest, *whole = (os.pread(self._fd, length, start) + rest).split(b"\n")
            if len(rest) > size_limits.RECORD_BYTES:
                raise self._too_long(sum(1 for _ in self.lines()))
            yield from reversed(whole)
            length = _CHUNK
        yield rest

    def _too_long(self, number: int) -> DamagedError:
        return DamagedError(self.path, number, f"the line has more than {size_limits.RECORD_BYTES} bytes")


def opened(path: str, mode: int = READ) -> Journal:
    """Open the journal at *path*; `FileNotFoundError` if it does not exist."""
    files.check_private_dir(os.path.dirname(path))
    try:
        fd = os.open(path, files.OPEN | mode, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        with files.failing(path, "could not be opened"):
            raise error from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_size > size_limits.JOURNAL_BYTES:
        os.close(fd)
        fact = "is too large" if stat.S_ISREG(status.st_mode) else "is not a plain file"
        hint = "move it away and restore the journal from a backup"
        raise StorageError(f"{path} {fact}", hint=hint, place=path)
    return Journal(fd, path)


def flush_names(folder: str) -> None:
    """Flush the names of the files in *folder*, and its own name."""
    files.sync_dir(folder)
    files.sync_dir(os.path.dirname(folder))
