"""Read files up to a limit, write them atomically, keep directories private, lock and digest files."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from flowrail.errors import ConflictError, DocumentError, StorageError

if sys.platform == "darwin":
    from flowrail.storage import macos

if TYPE_CHECKING or sys.implementation.name != "cpython":
    from hashlib import sha256 as _sha256
elif sys.version_info >= (3, 12):  # without OpenSSL, whose library takes 2 ms to load; `random` does the same
    from _sha2 import sha256 as _sha256
else:
    from _sha256 import sha256 as _sha256

_HMAC_BLOCK = 64
AnyPath = str | os.PathLike[str]


class MissingFileError(DocumentError):
    """The file does not exist."""

    code = "FILE_MISSING"


class UnreadableFileError(DocumentError):
    """The system refuses to read the file."""

    code = "FILE_UNREADABLE"


class NotRegularFileError(DocumentError):
    """The path is a link, directory, pipe, socket or device."""

    code = "FILE_NOT_REGULAR"


class FileTooLargeError(DocumentError):
    """The file is larger than its limit."""

    code = "FILE_TOO_LARGE"


class WriteFailedError(StorageError):
    """A write failed, and the change was not recorded."""

    code = "WRITE_FAILED"


class NotPrivateError(StorageError):
    """The path is not a directory, or it belongs to another user."""

    code = "DIRECTORY_NOT_PRIVATE"


_TEMPORARY = r"\.[0-9a-f]{16}\.tmp"
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK


# --- reading ------------------------------------------------------------------------------------


def read_bounded(path: AnyPath, *, limit: int, what: str, follow: bool = False) -> bytes:
    """Return the bytes of a regular file of at most *limit* bytes.

    Never blocks. The size is checked before and after reading, because the file may grow. *follow* concerns
    only the last part of *path*; directories above it may be links.
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
    """Read *size* bytes in one call. Read more only if that was not all, and never past `limit + 1`."""
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
        return UnreadableFileError(f"{what} has an impossible file name", hint="check the name", place=place)
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return MissingFileError(f"{what} does not exist", hint="check the path and its spelling", place=place)
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
_HINTS = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`)",
    errno.EROFS: "use a directory that is not mounted read-only",
    errno.EACCES: "make the directory writable for this user",
    errno.EPERM: "make the directory writable for this user",
    errno.ENOENT: "create the directory first",
    errno.ENOTDIR: "create the directory first",
    errno.EEXIST: "remove what is there, or choose another path",
    errno.EISDIR: "choose a file, not a directory",
}


def write_atomic(path: AnyPath, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Write *data* to *path* so that readers see either the whole old file or the whole new one.

    A link at *path* is replaced, not followed. If this raises, no temporary file is left and the old file
    stays, unless only the last flush, that of the directory, failed.
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
        raise failure(error, target) from error


def write_output(path: AnyPath, data: bytes, *, mode: int = 0o644) -> None:
    """Write *data* where a person said: as a whole file, or into a pipe or device that exists."""
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        is_file = True
    if is_file:
        write_atomic(path, data, mode=mode)
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise failure(error, os.fspath(path)) from error


def write_over(path: AnyPath, data: bytes) -> None:
    """Overwrite the file at *path* without waiting for the disk. A reader may see a partial file.

    For files with a checksum that can be written again. Renaming one file over another costs as much as a
    flush on ext4 and btrfs. Anything but a regular file of this user with one name is replaced instead.
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
        raise failure(error, target) from error
    finally:
        os.close(fd)
    if not alone:
        write_atomic(target, data, durable=False)


def append_durable(fd: int, data: bytes, *, what: str) -> None:
    """Write all of *data* to *fd* and flush it once.

    After a failure, a part of *data* may be at the end of the file; the caller removes it. A failed flush is
    not repeated, because the kernel then reports success for pages that it dropped.
    """
    try:
        _write_all(fd, data)
        flush(fd)
    except OSError as error:
        raise failure(error, what) from error


def flush(fd: int) -> None:
    """Write everything of *fd* to the disk."""
    os.fsync(fd)
    if sys.platform == "darwin":
        macos.flush_drive(fd)


def temporary_in(folder: str) -> str:
    """Return a new name in *folder* that `sweep` deletes if the process dies."""
    return os.path.join(folder, f".{os.urandom(8).hex()}.tmp")


def is_temporary(name: str) -> bool:
    """Return whether *name* could come from `temporary_in`."""
    return re.fullmatch(_TEMPORARY, name) is not None


def sweep(folder: AnyPath, *, now: float | None = None, age: float = 3600.0) -> int:
    """Delete temporary files that interrupted writes left in *folder*, and return their number.

    Only regular files with a name from `temporary_in` that are older than *age* seconds. Links are not
    followed. What cannot be read or deleted stays.
    """
    swept = 0
    if os.path.islink(folder):
        return swept
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            is_old = (now or time.time()) - about.st_mtime > age
            if is_temporary(entry.name) and stat.S_ISREG(about.st_mode) and is_old:
                os.unlink(entry.path)
                swept += 1
    return swept


def make_dir(path: AnyPath) -> None:
    """Create the directory *path* and those above it, readable by others."""
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise failure(error, os.fspath(path), "could not be created") from error


def remove(path: AnyPath) -> None:
    """Delete the file at *path*; `WriteFailedError` if that fails."""
    try:
        os.unlink(path)
    except OSError as error:
        raise failure(error, os.fspath(path), "could not be deleted") from error


def make_private_dir(path: AnyPath) -> None:
    """Create the directory *path* and those above it with mode 0700.

    An existing *path* keeps its mode but must be a real directory of this user. Directories above it may be
    links or belong to another user.
    """
    folder = _bare(path)
    try:
        about = _make_dir(folder)
    except OSError as error:
        raise failure(error, folder, "could not be created") from error
    _refuse_foreign(folder, about)


def check_private_dir(path: AnyPath) -> None:
    """Raise `NotPrivateError` if *path* exists and is not a real directory of this user."""
    folder = _bare(path)
    try:
        about = os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise failure(error, folder, "cannot be read") from error
    _refuse_foreign(folder, about)


def sync_dir(path: AnyPath) -> None:
    """Flush the directory *path* if its file system supports that."""
    try:
        _flush_directory(os.fspath(path))
    except OSError as error:
        raise failure(error, os.fspath(path)) from error


def _fill(fd: int, data: bytes, *, durable: bool) -> None:
    try:
        _write_all(fd, data)
        if durable:
            flush(fd)
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
    for directory in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        _flush_directory(os.path.dirname(directory) or ".")
    return os.lstat(directory)


def _bare(path: AnyPath) -> str:
    """Return *path* without a slash at its end, because `lstat("link/")` describes the target of the link."""
    return os.fspath(path).rstrip("/") or "/"


def _refuse_foreign(folder: str, about: os.stat_result) -> None:
    if not stat.S_ISDIR(about.st_mode):
        raise NotPrivateError(f"{folder} is not a directory", hint="move it away", path=folder)
    if about.st_uid != os.geteuid():
        raise NotPrivateError(
            f"{folder} belongs to another user", hint="use a directory of your own", path=folder
        )


def _flush_directory(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some network and user file systems
            raise
    finally:
        os.close(fd)


def failure(error: OSError, path: str, fact: str = "could not be written") -> WriteFailedError:
    """Return the error for a failed system call, with a hint for its cause."""
    return WriteFailedError(
        f"{path} {fact} ({_name(error)})",
        hint=_HINTS.get(error.errno or 0, "check the disk and try again"),
        errno=_name(error),
        path=path,
    )


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "unknown")


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


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 digest of *data*, in hexadecimal."""
    return _sha256(data).hexdigest()


def hmac_sha256(key: bytes, message: bytes) -> str:
    """Return the HMAC (RFC 2104) of *message* with a *key* of at most 64 bytes."""
    block = key.ljust(_HMAC_BLOCK, b"\0")
    inner = _sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return _sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()
