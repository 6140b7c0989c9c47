"""Locks between processes: one holder at a time, until it ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flowrail.errors import ConflictError
from flowrail.storage.files import OPEN, AnyPath, writing

_PAUSE = 0.005
_WIDTH = 20


class LockTimeoutError(ConflictError):
    """Another process held the lock for the whole waiting time."""

    code = "LOCKED"


@contextmanager
def locked(path: AnyPath, *, wait: float, what: str) -> Iterator[int]:
    """Hold an exclusive lock on the file *path*, which is created with mode 0600 and never deleted.

    Waits up to *wait* seconds; with 0 it tries once. The lock ends with the block or the process and is not
    re-entrant. The process id in the file is only for messages.
    """
    with writing(path, "could not be opened as a lock"):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | OPEN, 0o600)
    try:
        deadline = time.monotonic() + wait
        while not _take(fd, path):
            if time.monotonic() >= deadline:
                raise _timeout(fd, what)
            time.sleep(_PAUSE)
        with suppress(OSError):  # a full disk loses the process id, not the lock
            os.pwrite(fd, f"{os.getpid():<{_WIDTH}}".encode(), 0)  # truncating would wait for the disk
        yield fd
    finally:
        os.close(fd)


def _take(fd: int, path: AnyPath) -> bool:
    """Take the lock if it is free, and return whether it was."""
    with writing(path, "could not be locked"):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _timeout(fd: int, what: str) -> LockTimeoutError:
    written = os.pread(fd, _WIDTH, 0).strip()
    pid = int(written) if written.isdigit() else None
    return LockTimeoutError(
        f"{what} is held by {f'process {pid}' if pid else 'another process'}",
        hint="nothing was changed; wait for it to end, then run the same command again",
        pid=pid,
    )
