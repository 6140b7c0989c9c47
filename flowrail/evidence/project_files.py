"""Files of a project by path or pattern, with their digests. Nothing outside the project's folder is looked at."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from flowrail import git
from flowrail.errors import DocumentError
from flowrail.storage.files import MissingFileError, NotRegularFileError, read_bounded, sha256_hex
from flowrail.text.placeholders import PLACEHOLDER, fill

MOST_FILES = 2_000
"""A pattern may match this many files."""
MOST_READ = 20_000
"""The files that one command may read."""
MOST_ENTRIES = 200_000
"""Folders and files that are looked at for one pattern."""
LARGEST_FILE = 64 * 1024 * 1024
FOLDER_DIGEST = "folder"
_SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders that a wildcard does not enter, besides hidden ones."""
_OWN_PATHS = frozenset({"work", "notes", "$"})
"""Placeholders whose values are paths of the session, not facts."""
_WILD = re.compile(r"[*?\[]")


class UnreadableError(Exception):
    """A check cannot be evaluated; the text is the reason."""


def relative(path: str, folder: str, values: Mapping[str, object]) -> str:
    """Return *path* with its placeholders filled, relative to *folder*.

    A fact can have any value. The path stays in the folder that is written before the first fact, otherwise in the
    project or among the session's working files.
    """
    filled = os.path.normpath(os.path.join(folder, fill(path, values))) if path else ""
    work = os.path.normpath(os.path.join(folder, str(values.get("work") or os.curdir)))
    facts = (found for found in PLACEHOLDER.finditer(path) if found[1] not in _OWN_PATHS)
    before = next((os.path.dirname(path[: found.start()]) for found in facts), "")
    roots = (os.path.normpath(os.path.join(folder, fill(before, values))),) if before else (folder, work)
    if "\0" in filled or not any(filled.startswith(f"{root}{os.sep}") for root in roots):
        inside = f"in {fill(before, values)}" if before else "in the project"
        raise UnreadableError(f"{fill(path, values)[:80] or path} is not a path {inside}")
    return os.path.relpath(filled, folder)


def resolve(folder: str, path: str) -> str:
    """Return the real path of *path* in *folder*; `UnreadableError` if it is outside, also through a link.

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
        return read_bounded(resolve(folder, path), limit=LARGEST_FILE, what=path, follow=True)
    except (MissingFileError, NotRegularFileError):
        return None
    except DocumentError as error:
        raise UnreadableError(error.fact) from None


def digest(folder: str, path: str) -> str:
    """Return the digest of a file; empty if it is missing. A folder has a digest of its own."""
    data = read(folder, path)
    if data is not None:
        return sha256_hex(data)
    return FOLDER_DIGEST if os.path.isdir(os.path.join(folder, path)) else ""


def state_of(values: Mapping[str, str]) -> str:
    """Return one digest for paths and their digests."""
    lines = "".join(f"{value} {path}\0" for path, value in sorted(values.items()))
    return sha256_hex(lines.encode("utf-8", "surrogateescape"))


def digests_of_patterns(folder: str, patterns: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the files that match, without those that git ignores."""
    paths: set[str] = set()
    not_ignored = _not_ignored(folder, environ)
    for pattern in patterns:
        # A single file may be a working file of the session, which git ignores.
        if not_ignored is None or not _WILD.search(pattern):
            paths.update(matching(folder, pattern))
        else:
            paths.update(path for path in not_ignored if fits(path, pattern))
    if len(paths) > MOST_READ:
        raise UnreadableError(f"{', '.join(patterns)} match more than {MOST_READ} files")
    found = {path: _link(folder, path) or digest(folder, path) for path in sorted(paths)}
    return {path: value for path, value in found.items() if value}


def _link(folder: str, path: str) -> str:
    """Return the target of a link, which git stores instead of a content; empty if it is not a link."""
    full = os.path.join(folder, path)
    return f"link to {os.readlink(full)}" if os.path.islink(full) else ""


def _not_ignored(folder: str, environ: Mapping[str, str]) -> list[str] | None:
    """Return the files that git does not ignore and that are in no cache folder; `None` without a repository."""
    try:
        words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        listed = git.output_of(folder, words, environ)
    except git.GitFailedError:
        return None
    paths = (os.fsdecode(path) for path in listed.split(b"\0") if path)
    return [path for path in paths if _SKIPPED.isdisjoint(path.split("/"))]


def first_change(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the first path whose digest differs; empty if none does."""
    changed = (path for path in sorted({*before, *now}) if before.get(path) != now.get(path))
    return next(changed, "")


def matching(folder: str, pattern: str) -> list[str]:
    """Return the files that *pattern* matches, in order, as paths relative to *folder*.

    As in a shell, wildcards match no hidden file and enter no hidden folder. They do not
    enter cache folders or follow links.
    """
    if not _WILD.search(pattern):
        return [pattern] if os.path.isfile(resolve(folder, pattern)) else []
    segments = pattern.split("/")
    wild = next(index for index, segment in enumerate(segments) if _WILD.search(segment))
    start = "/".join(segments[:wild]) or "."
    resolve(folder, start)
    hidden = any(segment.startswith(".") for segment in segments[wild:])
    deepest = MOST_ENTRIES if "**" in segments else len(segments) - 1
    paths: list[str] = []
    left = MOST_ENTRIES
    for above, folders, names in os.walk(os.path.join(folder, start)):
        left -= len(folders) + len(names)
        if left < 0:
            raise UnreadableError(f"{pattern} is in a folder with more than {MOST_ENTRIES} files and folders")
        inside = [part for part in os.path.relpath(above, folder).split("/") if part != "."]
        folders[:] = [
            name
            for name in folders
            if len(inside) < deepest and name not in _SKIPPED and (hidden or not name.startswith("."))
        ]
        for name in names:
            path = "/".join([*inside, name])
            if (hidden or not name.startswith(".")) and fits(path, pattern) and _is_regular(above, name):
                paths.append(path)
    if len(paths) > MOST_FILES:
        raise UnreadableError(f"{pattern} matches more than {MOST_FILES} files")
    return sorted(paths)


def _is_regular(folder: str, name: str) -> bool:
    return stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode)


def fits(path: str, pattern: str) -> bool:
    """Return whether *pattern* matches: `*` and `?` stay in one folder, `**` matches any number of folders."""
    parts = path.split("/")
    ends = {0}
    """How many parts of the path the segments so far can match."""
    for segment in pattern.split("/"):
        if segment == "**":
            ends = set(range(min(ends, default=len(parts) + 1), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], segment)}
    return len(parts) in ends
