"""Bounded reads, writes that happen or do not, and locks that end with their process.

Standard library only, and little of it: every command passes through here. Nothing blocks on a
pipe or a device, nothing follows a link that it was not asked to follow, and what was acknowledged
as durable has been flushed by the kernel (how far the drive keeps its word is not known here).
"""
# (importing pathlib takes longer than all that is done here)

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from flowrail.errors import ConflictError, DocumentError, StorageError

AnyPath = str | os.PathLike[str]


class MissingFileError(DocumentError):
    """There is no such file."""

    code = "FILE_MISSING"


class UnreadableFileError(DocumentError):
    """The file is there, or may be, but the system does not let us read it."""

    code = "FILE_UNREADABLE"


class NotRegularFileError(DocumentError):
    """A link, directory, pipe, socket or device stands where a file should."""

    code = "FILE_NOT_REGULAR"


class FileTooLargeError(DocumentError):
    """The file holds more than is read here."""

    code = "FILE_TOO_LARGE"


class WriteFailedError(StorageError):
    """Nothing may be taken as written."""

    code = "WRITE_FAILED"


class NotPrivateError(StorageError):
    """The directory is none, or belongs to somebody else."""

    code = "DIRECTORY_NOT_PRIVATE"


class LockTimeoutError(ConflictError):
    """Somebody else held the lock for as long as we were ready to wait."""

    code = "LOCKED"


_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK


# --- reading ------------------------------------------------------------------------------------


def read_bounded(path: AnyPath, *, limit: int, what: str, follow: bool = False) -> bytes:
    """Return the bytes of a regular file that has at most *limit* of them.

    Never blocks. The size is judged before anything is read, and again by what was read, so a file
    that grows past *limit* meanwhile is refused as well. *follow* is about the last part of *path*
    only; directories on the way may be links.
    """
    try:
        fd = os.open(path, os.O_RDONLY | (_OPEN & ~os.O_NOFOLLOW if follow else _OPEN))
    except (OSError, ValueError) as error:
        raise _unreadable(error, path, what) from None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise _not_regular(path, what, _kind(about.st_mode))
        if about.st_size > limit:
            raise _too_large(path, what, limit)
        data = _read(fd, about.st_size, limit)
    except OSError as error:
        raise _unreadable(error, path, what) from None
    finally:
        os.close(fd)
    if len(data) > limit:
        raise _too_large(path, what, limit)
    return data


def _read(fd: int, size: int, limit: int) -> bytes:
    """Read *size* bytes in one go; go on only where that was not all, and never past ``limit + 1``."""
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    while len(data) <= limit and (more := os.read(fd, limit + 1 - len(data))):
        data += more
    return data


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _unreadable(error: OSError | ValueError, path: AnyPath, what: str) -> DocumentError:
    place = os.fspath(path)
    if not isinstance(error, OSError):
        return UnreadableFileError(f"{what} has no possible file name", hint="check the name", place=place)
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return MissingFileError(f"{what} is not there", hint="check the path and its spelling", place=place)
    if error.errno in {errno.ELOOP, errno.EMLINK}:
        return _not_regular(path, what, "a symbolic link")
    if error.errno in {errno.ENXIO, errno.EOPNOTSUPP}:
        return _not_regular(path, what, "a socket or device")
    return UnreadableFileError(
        f"{what} cannot be read ({_name(error)})",
        hint="make it readable for this user" if error.errno in _DENIED else "check the path and the disk",
        place=place,
        errno=_name(error),
    )


def _not_regular(path: AnyPath, what: str, kind: str) -> NotRegularFileError:
    return NotRegularFileError(f"{what} is {kind}", hint="put a regular file there", place=os.fspath(path))


def _too_large(path: AnyPath, what: str, limit: int) -> FileTooLargeError:
    return FileTooLargeError(
        f"{what} has more than {limit} bytes", hint="make it smaller", place=os.fspath(path), limit=limit
    )


# --- writing ------------------------------------------------------------------------------------

_DENIED = frozenset({errno.EACCES, errno.EPERM})
_READER_WAIT = 10.0
_HINTS = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`)",
    errno.EROFS: "use a place that is not mounted read-only",
    errno.EACCES: "make the directory writable for this user",
    errno.EPERM: "make the directory writable for this user",
    errno.ENOENT: "make the directory first",
    errno.ENOTDIR: "make the directory first",
    errno.EEXIST: "something else stands there: take it away, or name another place",
    errno.EISDIR: "a directory stands there: name a file",
    errno.ENXIO: "start what reads it first",
}


def write_atomic(path: AnyPath, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Put *data* at *path* so that readers see the old file or the new one, whole.

    A link at *path* is replaced, not followed. The umask may take from *mode*. When this raises,
    no temporary file is left and the old file stands, except where the very last flush, that of the
    directory, failed: then the new one may stand, without a promise that it outlives a power cut.
    """
    target = os.fspath(path)
    folder = os.path.dirname(target) or "."
    temporary = temporary_in(folder)
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, mode)
        try:
            _fill(fd, data, durable=durable)
            os.replace(temporary, target)
        except BaseException:
            _remove(temporary)
            raise
        if durable:
            _flush_directory(folder)
    except OSError as error:
        raise _failed(error, target) from error


def write_out(path: AnyPath, data: bytes, *, mode: int = 0o644) -> None:
    """Put *data* where a person said: whole into a file, and straight into what is none.

    ``/dev/stdout``, ``/dev/null``, a pipe: to replace one of those by a file would take it from everybody.
    """
    folder, name = os.path.split(os.fspath(path))
    target = os.path.join(os.path.realpath(folder), name)  # as the system goes there: `link/..` is elsewhere
    try:
        kind = os.stat(target).st_mode
    except OSError:
        kind = stat.S_IFREG
    devices = target.startswith(("/dev/", "/proc/")) and not target.startswith("/dev/shm/")  # noqa: S108
    if stat.S_ISREG(kind) and not devices:
        write_atomic(target, data, mode=mode)
        return
    try:
        fd = _open_pipe(target) if stat.S_ISFIFO(kind) else os.open(target, os.O_WRONLY | os.O_CLOEXEC)
        try:
            _write_all(fd, data)
        finally:
            os.close(fd)
    except OSError as error:
        raise _failed(error, target) from error


def _open_pipe(path: str) -> int:
    """Open a pipe; whoever reads it may come a little later, but is not waited for without end."""
    end = time.monotonic() + _READER_WAIT
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() >= end:
                raise
            time.sleep(_LONGEST_PAUSE)
        else:
            os.set_blocking(fd, True)
            return fd


def write_over(path: AnyPath, data: bytes) -> None:
    """Put *data* into the file at *path* without waiting for the disk; a reader may find it half written.

    For what tells by itself whether it is whole, and can be made again: a file that is renamed over another
    costs as much as a second flush, since ext4 and btrfs write it out first. What is no plain file of this
    user under one name is replaced, not written into.
    """
    target = os.fspath(path)
    try:
        fd = os.open(target, os.O_WRONLY | _OPEN)
    except OSError:
        write_atomic(target, data, durable=False)
        return
    try:
        about = os.fstat(fd)
        alone = stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_uid == os.geteuid()
        if alone:
            _write_all(fd, data)
            if about.st_size > len(data):
                os.ftruncate(fd, len(data))
    except OSError as error:
        raise _failed(error, target) from error
    finally:
        os.close(fd)
    if not alone:
        write_atomic(target, data, durable=False)


def append_durable(fd: int, data: bytes, *, what: str) -> None:
    """Write all of *data* to *fd* and flush it once.

    After a failure a part of *data* may stand at the end of the file: whoever owns it cuts it off.
    A failed flush is not tried again, since the kernel then reports success for pages it dropped.
    """
    try:
        _write_all(fd, data)
        os.fsync(fd)
    except OSError as error:
        raise _failed(error, what) from error


def temporary_in(folder: str) -> str:
    """Return a name for a file in *folder* that `sweep` knows, should its writer die."""
    return os.path.join(folder, f".{os.urandom(8).hex()}.tmp")


def is_temporary(name: str) -> bool:
    """Return whether *name* is one that `temporary_in` gives."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(folder: AnyPath, *, now: float | None = None, age: float = 3600.0) -> int:
    """Delete what killed writers left in *folder*, and return how many files went.

    Only plain files under a name of ours that nobody has touched for *age* seconds: a writer that lives
    needs its own for some milliseconds. A link to a folder is not followed; what cannot be looked at or
    deleted stays.
    """
    swept = 0
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            names = [name for name in os.listdir(fd) if is_temporary(name)]
            for name in names:
                about = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISREG(about.st_mode) and (now or time.time()) - about.st_mtime > age:
                    os.unlink(name, dir_fd=fd)
                    swept += 1
        finally:
            os.close(fd)
    return swept


def make_dir(path: AnyPath) -> None:
    """Make sure that there is a directory at *path*, one that others may read; `WriteFailedError` if not."""
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise _failed(error, os.fspath(path), "could not be made") from error


def remove(path: AnyPath) -> None:
    """Delete the file at *path*; `WriteFailedError` where that cannot be."""
    try:
        os.unlink(path)
    except OSError as error:
        raise _failed(error, os.fspath(path), "could not be deleted") from error


def make_private_dir(path: AnyPath) -> None:
    """Make sure that *path* is a real directory of this user; those made on the way are 0700, and flushed.

    One that exists keeps its mode, and directories above it may be links or somebody else's.
    """
    folder = _bare(path)
    try:
        about = _make_dir(folder)
    except OSError as error:
        raise _failed(error, folder, "could not be made") from error
    _refuse_foreign(folder, about)


def check_private_dir(path: AnyPath) -> None:
    """Refuse *path* where it is no real directory of this user; one that is not there is nobody's."""
    folder = _bare(path)
    try:
        about = os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _failed(error, folder, "cannot be looked at") from error
    _refuse_foreign(folder, about)


def sync_dir(path: AnyPath) -> None:
    """Flush the names in the directory *path*, where its file system knows how."""
    try:
        _flush_directory(os.fspath(path))
    except OSError as error:
        raise _failed(error, os.fspath(path)) from error


def _fill(fd: int, data: bytes, *, durable: bool) -> None:
    try:
        _write_all(fd, data)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _make_dir(folder: str) -> os.stat_result:
    with suppress(FileNotFoundError):
        return os.lstat(folder)
    missing = [folder]
    while (above := os.path.dirname(missing[-1])) and not os.path.isdir(above):
        missing.append(above)
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each, 0o700)
        _flush_directory(os.path.dirname(each) or ".")
    return os.lstat(folder)


def _bare(path: AnyPath) -> str:
    """Return *path* without a slash at its end: `lstat("link/")` would tell of the link's target."""
    return os.fspath(path).rstrip("/") or "/"


def _refuse_foreign(folder: str, about: os.stat_result) -> None:
    if not stat.S_ISDIR(about.st_mode):
        raise NotPrivateError(f"{folder} is no directory", hint="move it away", path=folder)
    if about.st_uid != os.geteuid():
        raise NotPrivateError(
            f"{folder} belongs to another user", hint="use a directory of your own", path=folder
        )


def _flush_directory(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some network and user file systems
            raise
    finally:
        os.close(fd)


def _failed(error: OSError, path: str, fact: str = "could not be written") -> WriteFailedError:
    return WriteFailedError(
        f"{path} {fact} ({_name(error)})",
        hint=_HINTS.get(error.errno or 0, "check the disk and try again"),
        errno=_name(error),
        path=path,
    )


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "unknown")


# --- locking ------------------------------------------------------------------------------------

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_NOTE_SIZE = 64


@contextmanager
def locked(
    path: AnyPath,
    *,
    wait: float,
    what: str,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[int]:
    """Hold the kernel's exclusive lock on the file *path*, made 0600 if need be and never deleted.

    Waits up to *wait* seconds (0: only tries). The lock ends with the block or with the process,
    however that ends, and is not re-entrant: a second `locked` in one process waits for the first.
    What the file says about its holder is for people; only the kernel knows who holds it. Nothing is
    written into what may be somebody's file: one with more in it, or with another name.
    """
    fd = _open_lock(os.fspath(path))
    try:
        if not (_try_lock(fd) or _wait_for_lock(fd, wait, clock, sleep)):
            raise _timed_out(fd, what)
        with suppress(OSError):  # a full disk spoils the note, not the lock
            about = os.fstat(fd)
            if about.st_nlink == 1 and about.st_size <= _NOTE_SIZE:
                os.pwrite(fd, _note(), 0)
        yield fd
    finally:
        os.close(fd)


def _open_lock(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _OPEN, 0o600)
    except OSError as error:
        raise _failed(error, path, "could not be opened as a lock") from error


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _failed(error, "the lock", "could not be taken") from error
    return True


def _wait_for_lock(
    fd: int, wait: float, clock: Callable[[], float], sleep: Callable[[float], object]
) -> bool:
    deadline, pause = clock() + wait, _FIRST_PAUSE
    while (left := deadline - clock()) > 0:
        sleep(min(pause, left))
        if _try_lock(fd):
            return True
        pause = min(2 * pause, _LONGEST_PAUSE)
    return False


def _note() -> bytes:
    """Return who holds the lock since when, of one size, so that it covers any earlier note whole."""
    year, month, day, hour, minute, second, *_ = time.gmtime()
    since = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    return f"pid {os.getpid()} since {since}".ljust(_NOTE_SIZE - 1).encode() + b"\n"


def _timed_out(fd: int, what: str) -> LockTimeoutError:
    pid, since = _holder(fd)
    by = f"process {pid} since {since}" if pid else "another process"
    return LockTimeoutError(
        f"{what} is held by {by}",
        hint="nothing was changed; wait for it to end, then run the same command again",
        pid=pid,
        since=since,
    )


def _holder(fd: int) -> tuple[int | None, str | None]:
    """Return what the note says, or nothing where it says anything but digits in their places."""
    try:
        _, pid, _, since = os.pread(fd, _NOTE_SIZE, 0).decode("ascii").split()
    except (OSError, ValueError):
        return None, None
    shape = "".join("0" if each.isdigit() else each for each in since)
    return (int(pid), since) if pid.isdigit() and shape == "0000-00-00T00:00:00Z" else (None, None)
