"""A journal's file: opened where it is a plain file of this user's, appended to, made sure of."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, UsageError
from flowrail.machines.sessions import limits
from flowrail.storage import files
from flowrail.text.suggestions import did_you_mean

JOURNAL = "journal.jsonl"
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
READ, CHANGE, CREATE = os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL


class UnknownSessionError(UsageError):
    """There is no session of that id in this store."""

    code = "UNKNOWN_SESSION"


def open_journal(folder: str, how: int) -> int:
    """Return the journal in *folder*, opened; `FileNotFoundError` where there is none."""
    path = f"{folder}/{JOURNAL}"
    files.check_private_dir(folder)
    try:
        fd = os.open(path, _FLAGS | how, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(
            f"{path} could not be opened ({error.strerror})", hint="check its permissions", place=path
        ) from None
    problem = _problem(os.fstat(fd))
    if problem:
        os.close(fd)
        raise StorageError(f"{path} {problem}", hint="a journal is a file of your own", place=path)
    return fd


def unknown(session_id: str, known: Callable[[], list[str]]) -> UnknownSessionError:
    """Return the refusal of an id that no session has, with near ones."""
    names = [name for name in known() if name != session_id]
    return UnknownSessionError(
        f"there is no session `{session_id}` here",
        hint=did_you_mean(session_id, names, Hint("see all sessions: ", Command("sessions", all=True))),
        session=session_id,
    )


def unlisted(folder: str, error: OSError) -> StorageError:
    """Return the refusal of a folder that nobody can say what lies in."""
    return StorageError(
        f"{folder} cannot be looked into ({error.strerror})", hint="check its permissions", place=folder
    )


def append(fd: int, line: bytes, end: int, path: str) -> None:
    """Add *line* behind *end* and flush it, or raise with nothing left of it, as far as the disk lets us."""
    try:
        files.append_durable(fd, line, what=path)
    except StorageError:
        with suppress(OSError):
            os.ftruncate(fd, end)
        raise


def cut(fd: int, end: int, path: str) -> None:
    """Take away what a dead writer left behind *end*."""
    try:
        os.ftruncate(fd, end)
    except OSError as error:
        raise StorageError(
            f"what was never finished could not be cut off {path} ({error.strerror})",
            hint="check the disk; nothing has moved",
            place=path,
        ) from None


def make_sure(folder: str, line: bytes, end: int) -> None:
    """Flush the last line of a journal whose writer may have died before it could.

    The same bytes are written into the same place first: after a flush that failed, another one
    would report success for pages that the kernel has dropped. Nothing can be lost by that.
    """
    path = os.path.join(folder, JOURNAL)
    try:
        fd = os.open(path, _FLAGS | os.O_WRONLY)  # no O_APPEND, under which Linux writes at the end
        try:
            start, rest = end - len(line), memoryview(line)
            while rest:
                written = os.pwrite(fd, rest, start)
                start, rest = start + written, rest[written:]
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageError(
            f"{path} could not be flushed ({error.strerror})", hint="check the disk", place=path
        ) from None
    flush_names(folder)


def flush_names(folder: str) -> None:
    """Flush the names that a session's files and its folder go by."""
    files.sync_dir(folder)
    files.sync_dir(os.path.dirname(folder))


def _problem(about: os.stat_result) -> str:
    if not stat.S_ISREG(about.st_mode):
        return "is no file"
    if about.st_uid != os.geteuid():
        return "belongs to another user"
    return "is too large" if about.st_size > limits.LARGEST_JOURNAL else ""
