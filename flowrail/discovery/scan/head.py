"""The first bytes of a file that may be anything, and what the file was when they were read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_MOST_HEADS = 8_192  # nearly every frontmatter ends in the first read


class Stamp(NamedTuple):
    """What tells that a file has not been touched."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    device: int


class Head(NamedTuple):
    """The bytes read, and the stamp that the file had just before."""

    data: bytes
    stamp: Stamp


def stamp(about: os.stat_result) -> Stamp:
    """Return what `os.stat` or `os.fstat` said, as far as it counts."""
    return Stamp(about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino, about.st_dev)


def read_head(path: str, limit: int, is_whole: Callable[[bytes], bool]) -> Head:
    """Return at most *limit* bytes of the regular file at *path*, fewer where *is_whole* says enough.

    Links are followed. Never blocks on a pipe or a device: those raise an OSError (EINVAL) unread.
    """
    fd = os.open(path, _FLAGS)
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "no regular file", path)
        data = os.read(fd, min(_MOST_HEADS, limit))
        if len(data) < about.st_size and not is_whole(data):
            while len(data) < limit and (more := os.read(fd, limit - len(data))):
                data += more
    finally:
        os.close(fd)
    return Head(data, stamp(about))
