"""Locks between processes, held by the kernel until their process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flowrail.errors import ConflictError
from flowrail.storage.files import AnyPath, failure

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
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
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise failure(error, os.fspath(path), "could not be opened as a lock") from error
    try:
        _acquire(fd, wait, what)
        with suppress(OSError):  # a full disk loses the process id, not the lock
            os.pwrite(fd, f"{os.getpid():<{_WIDTH}}".encode(), 0)  # truncating would wait for the disk
        yield fd
    finally:
        os.close(fd)


def _acquire(fd: int, wait: float, what: str) -> None:
    deadline, pause = time.monotonic() + wait, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
        except OSError as error:
            raise failure(error, "the lock", "could not be taken") from error
        else:
            return
        if left <= 0:
            raise _timeout(fd, what)
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _timeout(fd: int, what: str) -> LockTimeoutError:
    written = os.pread(fd, _WIDTH, 0).strip()
    pid = int(written) if written.isdigit() else None
    return LockTimeoutError(
        f"{what} is held by {f'process {pid}' if pid else 'another process'}",
        hint="nothing was changed; wait for it to end, then run the same command again",
        pid=pid,
    )
