"""Read files up to a limit, write them atomically, keep directories private, and digest files."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flowrail.errors import DocumentError, StorageError

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


class WriteFailedError(StorageError):
    """A write failed, and the change was not recorded."""

    code = "WRITE_FAILED"


OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK
"""How files are opened: never through a link, and without waiting."""
_HINTS = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EROFS: "use a directory that is not mounted read-only",
    errno.EACCES: "check the permissions of this user",
    errno.EPERM: "check the permissions of this user",
    errno.ENOENT: "create the directory first",
    errno.ENOTDIR: "a file is in the way: choose another path",
    errno.EEXIST: "a file is in the way: choose another path",
    errno.EISDIR: "choose a file, not a directory",
}


# --- reading ------------------------------------------------------------------------------------


def read_bounded(path: AnyPath, *, limit: int, what: str, follow: bool = False) -> bytes:
    """Return the bytes of a regular file of at most *limit* bytes.

    Never blocks. *follow* concerns only the last part of *path*; directories above it may be links.
    """
    shown_path = os.fspath(path)
    try:
        fd = os.open(path, os.O_RDONLY | (OPEN & ~os.O_NOFOLLOW if follow else OPEN))
        try:
            status = os.fstat(fd)
            is_regular, is_small = stat.S_ISREG(status.st_mode), status.st_size <= limit
            data = os.read(fd, status.st_size) if is_regular and is_small else b""
        finally:
            os.close(fd)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(
            f"{what} does not exist", hint="check the path and its spelling", place=shown_path
        ) from None
    except ValueError:
        raise UnreadableFileError(
            f"{what} has an impossible file name", hint="check the name", place=shown_path
        ) from None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP}:  # a link, and sockets
            raise _not_regular(
                shown_path, what, "a symbolic link" if error.errno == errno.ELOOP else ""
            ) from None
        raise UnreadableFileError(
            f"{what} cannot be read ({_name(error)})",
            hint=_HINTS.get(error.errno or 0, "check the path and the disk"),
            place=shown_path,
            errno=_name(error),
        ) from None
    if not is_regular:
        raise _not_regular(shown_path, what, "a directory" if stat.S_ISDIR(status.st_mode) else "")
    if not is_small:
        raise DocumentError(
            f"{what} has more than {limit} bytes",
            code="FILE_TOO_LARGE",
            hint="make it smaller",
            place=shown_path,
            limit=limit,
        )
    return data


def list_names(folder: AnyPath, *endings: str) -> list[str]:
    """Return the names in *folder* that end with one of *endings*, or all, in order; none if it cannot be listed."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(endings or ("",)))
    except OSError:
        return []


def _not_regular(path: str, what: str, kind: str) -> NotRegularFileError:
    fact = f"{what} is {kind or 'a pipe, socket or device'}"
    return NotRegularFileError(fact, hint="put a regular file there", place=path)


# --- writing ------------------------------------------------------------------------------------


@contextmanager
def writing(path: AnyPath, fact: str = "could not be written") -> Iterator[None]:
    """Raise `WriteFailedError` with a hint for its cause if a system call fails."""
    with failing(path, fact, WriteFailedError):
        yield


@contextmanager
def failing(path: AnyPath, fact: str, kind: type[StorageError] = StorageError) -> Iterator[None]:
    """Raise an error of *kind* with a hint for its cause if a system call fails."""
    try:
        yield
    except OSError as error:
        raise kind(
            f"{os.fspath(path)} {fact} ({_name(error)})",
            hint=_HINTS.get(error.errno or 0, "check the disk and try again"),
            errno=_name(error),
            path=os.fspath(path),
        ) from error


def write_atomic(path: AnyPath, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Write *data* to *path* so that readers see either the whole old file or the whole new one.

    A link at *path* is replaced, not followed. If this raises, no temporary file is left and the old file
    stays, unless only the last flush, that of the directory, failed.
    """
    folder = os.path.dirname(path) or "."
    temporary = temporary_in(folder)
    with writing(path):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN, mode)
        try:
            try:
                write_all(fd, data)
                if durable:
                    flush(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            _flush_directory(folder)


def write_output(path: AnyPath, data: bytes) -> None:
    """Write *data* to a path that a person chose: as a whole file, or into a pipe or device that exists."""
    if os.path.isfile(path) or not os.path.exists(path):
        write_atomic(path, data, mode=0o644)
        return
    with writing(path), open(path, "wb") as file:
        file.write(data)


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data* to *fd*."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def flush(fd: int) -> None:
    """Write everything of *fd* to the disk. On macOS, `fsync` returns before the drive has written its cache."""
    os.fsync(fd)
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.ENOTTY}:  # such as network volumes
                raise


def temporary_in(folder: str) -> str:
    """Return a new name in *folder* that `sweep` deletes if the process dies."""
    return os.path.join(folder, f".{os.urandom(8).hex()}.tmp")


_SWEEP_SECONDS = 3600.0


def sweep(folder: AnyPath, *, now: float) -> None:
    """Delete files that interrupted writes left in *folder* more than an hour ago."""
    if os.path.islink(folder):
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not re.fullmatch(r"\.[0-9a-f]{16}\.tmp", entry.name) or not entry.is_file(
                follow_symlinks=False
            ):
                continue
            if now - entry.stat().st_mtime > _SWEEP_SECONDS:
                os.unlink(entry.path)


def make_dir(path: AnyPath) -> None:
    """Create the directory *path* and those above it, readable by others."""
    with writing(path, "could not be created"):
        os.makedirs(path or ".", exist_ok=True)


def remove(path: AnyPath) -> None:
    """Delete the file at *path*; `WriteFailedError` if that fails."""
    with writing(path, "could not be deleted"):
        os.unlink(path)


def make_private_dir(path: AnyPath) -> None:
    """Create the directory *path* and those above it with mode 0700.

    An existing *path* keeps its mode but must be a real directory of this user. Directories above it may be
    links or belong to another user.
    """
    folder = os.path.abspath(path)
    above = os.path.dirname(folder)
    if not os.path.lexists(folder):
        if not os.path.isdir(above):
            make_private_dir(above)
        with writing(folder, "could not be created"):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            _flush_directory(above)
    check_private_dir(folder)


def check_private_dir(path: AnyPath) -> None:
    """Raise `NotPrivateError` if *path* exists and is not a real directory of this user."""
    folder = os.fspath(path).rstrip("/") or "/"  # `lstat("link/")` describes the target of the link
    with failing(folder, "cannot be read"):
        try:
            status = os.lstat(folder)
        except (FileNotFoundError, NotADirectoryError):
            return
    if not stat.S_ISDIR(status.st_mode):
        raise StorageError(
            f"{folder} is not a directory", code="DIRECTORY_NOT_PRIVATE", hint="move it away", path=folder
        )
    if status.st_uid != os.geteuid():
        raise StorageError(
            f"{folder} belongs to another user",
            code="DIRECTORY_NOT_PRIVATE",
            hint="use a directory of your own",
            path=folder,
        )


def sync_dir(path: AnyPath) -> None:
    """Flush the directory *path* if its file system supports that."""
    with writing(path):
        _flush_directory(path)


def _flush_directory(folder: AnyPath) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some network and user file systems
            raise
    finally:
        os.close(fd)


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "unknown")


# --- digests --------------------------------------------------------------------------------


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 digest of *data*, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
