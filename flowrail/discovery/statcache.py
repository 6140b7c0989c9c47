"""What was read of files that nobody has touched since, so that a large tree is not read again.

One JSON file per root, in a folder of the user's caches. It may be deleted at any time, and whatever
is wrong with it makes it count as deleted. A file counts as untouched while its times, size, inode and
device are the same; one changed so recently that a further change could fall on the same tick of the
clock is not remembered at all.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from flowrail.discovery.diagnostics import HINTS, Note
from flowrail.discovery.scan.declaration import Declared, Reading, SkillFile
from flowrail.discovery.scan.head import Stamp
from flowrail.errors import FlowError
from flowrail.storage import files as storage_files

#: Changed together with what is read, or how it is written down.
FORMAT = 3
#: The coarsest clock of a file system in use (FAT).
TICK_NS = 2_000_000_000
_ORIGINS = {"name": "name", "summary": "description"}
_LIMIT = 64 * 1024 * 1024


def cache_folder(home: str, environ: Mapping[str, str]) -> str:
    """Return where this user's caches of ours are."""
    caches = environ.get("XDG_CACHE_HOME", "")
    return os.path.join(caches if os.path.isabs(caches) else os.path.join(home, ".cache"), "flowrail")


class StatCache:
    """What was read below each root; `save` writes down what is new.

    *now_ns* is the clock that the file system goes by, in nanoseconds since the epoch. A *fresh* one
    recalls nothing of what was written down before, and replaces it.
    """

    def __init__(
        self, folder: str, *, now_ns: Callable[[], int], tick_ns: int = TICK_NS, fresh: bool = False
    ) -> None:
        self._folder = folder
        self._now_ns = now_ns
        self._tick_ns = tick_ns
        self._fresh = fresh
        self._known: dict[str, dict[str, Any]] = {}
        self._used: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()

    def recall(self, root: str, path: str) -> SkillFile | None:
        """Return what *path* declared, or None where that is not known or may not hold any more."""
        entry = self._of(root).get(path)
        if entry is None:
            return None
        try:
            about = os.stat(path)  # for each file: as `stamp` has it, and no more than that
            now = [about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino, about.st_dev]
            if entry[0] != now:
                return None
            file = _restored(entry[1], path)
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return None
        self._used[root][path] = entry
        return file

    def keep(self, root: str, path: str, stamp: Stamp, file: SkillFile) -> None:
        """Remember what *path* declared when it had that *stamp*, unless it is too young for that."""
        self._of(root)
        self._changed.add(root)
        if self._now_ns() - max(stamp.mtime_ns, stamp.ctime_ns) > self._tick_ns:
            self._used[root][path] = [list(stamp), _plain(file)]

    def save(self) -> bool:
        """Write down what is new; False where that is not possible, which costs time only."""
        try:
            for root, used in self._used.items():
                if root in self._changed or len(used) != len(self._known[root]):
                    storage_files.make_private_dir(self._folder)
                    text = json.dumps({"format": FORMAT, "root": root, "files": used}, separators=(",", ":"))
                    storage_files.write_atomic(self._path(root), text.encode(), durable=False)
        except FlowError:
            return False
        return True

    def _of(self, root: str) -> dict[str, Any]:
        if root not in self._known:
            self._known[root] = {} if self._fresh else self._load(root)
            self._used[root] = {}
        return self._known[root]

    def _load(self, root: str) -> dict[str, Any]:
        try:
            data = json.loads(storage_files.read_bounded(self._path(root), limit=_LIMIT, what="the cache"))
        except (FlowError, ValueError, RecursionError):
            return {}
        fits = isinstance(data, dict) and (data.get("format"), data.get("root")) == (FORMAT, root)
        files = data.get("files") if fits else None
        return files if isinstance(files, dict) else {}

    def _path(self, root: str) -> str:
        return os.path.join(self._folder, f"skills-{zlib.crc32(os.fsencode(root)):08x}.json")


def _plain(file: SkillFile) -> list[Any]:
    """Return *file* as short as can be: most skills say nothing about handoffs, and nothing is odd."""
    reading, problem = file
    said = {name: value for name, value in reading.declared._asdict().items() if value is not None}
    told = (*reading.notes, *([problem] if problem else []))
    if not told and reading.origins == _ORIGINS and not reading.line:
        return [said]
    notes = [[note.code, note.reason, note.line] for note in told]
    return [said, dict(reading.origins), reading.dialect, reading.line, notes, problem is not None]


def _restored(plain: list[Any], path: str) -> SkillFile:
    if len(plain) == 1:
        return SkillFile(Reading(Declared(**plain[0]), _ORIGINS))
    said, origins, dialect, line, notes, has_problem = plain
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in said.items()
    }
    told = tuple(Note(code, reason, path, number) for code, reason, number in notes)
    if any(note.code not in HINTS for note in told):
        raise ValueError("a code of another version")
    rest = told[:-1] if has_problem else told
    return SkillFile(
        Reading(Declared(**values), origins, dialect, line, rest), told[-1] if has_problem else None
    )
