"""Files of a project by path or pattern, with their digests. Nothing outside the project's folder is looked at."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache

from flowrail.storage.files import sha256_hex

MOST_FILES = 2_000
"""A pattern may match this many files."""
MOST_ENTRIES = 200_000
"""Folders and files that are looked at for one pattern."""
LARGEST_FILE = 64 * 1024 * 1024
FOLDER_DIGEST = "folder"
_SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders that a wildcard does not enter, besides hidden ones."""
_WILD = re.compile(r"[*?\[]")


class UnreadableError(Exception):
    """A check cannot be evaluated; the text says why."""


def resolve(folder: str, path: str) -> str:
    """Return the real path of *path* in *folder*; `UnreadableError` if it is outside, be it through a link.

    A working file of the session may be elsewhere: its path begins with `..`, and it must be in the folder that is named.
    """
    full = os.path.join(folder, path)
    real = os.path.realpath(full)
    root = os.path.realpath(os.path.dirname(full) if path.startswith(f"..{os.sep}") else folder)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        raise UnreadableError(f"{path} is outside the project")
    return real


def read(folder: str, path: str) -> bytes | None:
    """Return the content of a file, or `None` if there is no regular file."""
    try:
        fd = os.open(resolve(folder, path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read ({error.strerror})") from None
    with open(fd, "rb") as file:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return None
        data = file.read(LARGEST_FILE + 1) if about.st_size <= LARGEST_FILE else b""
    if about.st_size > LARGEST_FILE or len(data) > LARGEST_FILE:
        raise UnreadableError(f"{path} has more than {LARGEST_FILE // 1024 // 1024} MB")
    return data


def digest(folder: str, path: str) -> str:
    """Return the digest of a file; empty if it is missing. A folder has a digest of its own."""
    data = read(folder, path)
    if data is not None:
        return sha256_hex(data)
    return FOLDER_DIGEST if os.path.isdir(os.path.join(folder, path)) else ""


def digests(folder: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file."""
    return {path: digest(folder, path) for path in paths}


def state_of(values: Mapping[str, str]) -> str:
    """Return one digest for paths and their digests."""
    lines = "".join(f"{value} {path}\0" for path, value in sorted(values.items()))
    return sha256_hex(lines.encode("utf-8", "surrogateescape"))


def matching(folder: str, pattern: str) -> list[str]:
    """Return the files that *pattern* matches, in order, as paths relative to *folder*.

    As in a shell, wildcards match no hidden file and enter no hidden folder. They enter no folder of caches either, and
    follow no link.
    """
    if not _WILD.search(pattern):
        return [pattern] if os.path.isfile(resolve(folder, pattern)) else []
    segments = pattern.split("/")
    wild = next(index for index, segment in enumerate(segments) if _WILD.search(segment))
    start = "/".join(segments[:wild])
    resolve(folder, start or ".")
    matches = compiled(pattern).match
    hidden = any(segment.startswith(".") for segment in segments[wild:])
    found = [
        path
        for path in _files_below(folder, start, deep="**" in segments, most=len(segments), hidden=hidden)
        if matches(path)
    ]
    if len(found) > MOST_FILES:
        raise UnreadableError(f"{pattern} matches more than {MOST_FILES} files")
    return sorted(found)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* as a regular expression: `*` and `?` stay in one folder, `**` matches any number of folders."""
    parts: list[str] = []
    segments = pattern.split("/")
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        if segment == "**":
            parts.append(".*" if is_last else "(?:[^/]+/)*")
        else:
            parts.append(_segment(segment) + ("" if is_last else "/"))
    return re.compile(f"{''.join(parts)}\\Z", re.DOTALL)


def _segment(segment: str) -> str:
    expression, index = "", 0
    while index < len(segment):
        letter = segment[index]
        end = segment.find("]", index + 2) if letter == "[" else -1
        if end > 0:
            inside = segment[index + 1 : end].replace("\\", "\\\\").replace("[", "\\[").replace("/", "")
            expression += f"[{'^' + inside[1:] if inside.startswith('!') else inside}]"
            index = end
        elif letter == "*":
            expression += "[^/]*" if not expression.endswith("[^/]*") else ""
        else:
            expression += "[^/]" if letter == "?" else re.escape(letter)
        index += 1
    return expression


def _files_below(folder: str, start: str, *, deep: bool, most: int, hidden: bool) -> Iterator[str]:
    """Yield every regular file below *start*, as a path relative to *folder*, no deeper than *most* unless *deep*."""
    pending = [start]
    left = MOST_ENTRIES
    while pending:
        current = pending.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, current)) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    raise UnreadableError(
                        f"{start or 'the project'} has more than {MOST_ENTRIES} files and folders"
                    )
                path = f"{current}/{entry.name}" if current else entry.name
                if entry.name.startswith(".") and not hidden:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED and (deep or path.count("/") < most - 1):
                        pending.append(path)
                elif entry.is_file(follow_symlinks=False):
                    yield path
