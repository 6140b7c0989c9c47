"""Find the skills in the locations, and everything that was skipped and why.

Each subfolder of a location is read once, even if several links point to it. No program is run, and nothing is dropped
silently. `eligibility` decides whether a skill can take over work, and `index` which skill hides another.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from flowrail.discovery.candidate import Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan.declaration import Reading, read_metadata
from flowrail.discovery.scan.frontmatter import read_file

SKILL_FILE = "SKILL.md"


class ScannedSkill(NamedTuple):
    """A folder with a SKILL.md, and what it declares."""

    skill: str
    path: str
    root: Root
    reading: Reading


class ScanResult(NamedTuple):
    """The skills that were found, nearest first, and everything else."""

    skills: tuple[ScannedSkill, ...]
    skipped: tuple[Skipped, ...] = ()


def scan(roots: Iterable[Root]) -> ScanResult:
    """Return the skills one level below each of *roots*."""
    scanner = _Scanner()
    for root in roots:
        scanner.scan(root)
    return ScanResult(tuple(scanner.skills), tuple(scanner.skipped))


def read_skill(path: str) -> Reading:
    """Return the declaration of the SKILL.md at *path*. Raises OSError only."""
    return read_metadata(read_file(path), path)


def visit(paths: Iterable[str]) -> ScanResult:
    """Return the skills whose files are *paths*, which the registry names outside of all locations."""
    scanner = _Scanner()
    for path in paths:
        folder = os.path.dirname(path)
        root = Root(os.path.dirname(folder), Scope.REGISTRY, "registry")
        if not scanner.take(root, folder, os.path.basename(folder)):
            scanner.skip(root, folder, *_NO_FILE)
    return ScanResult(tuple(scanner.skills), tuple(scanner.skipped))


class _Scanner:
    """One scan: its skills and skipped folders, and the folders that it read."""

    def __init__(self) -> None:
        self.skills: list[ScannedSkill] = []
        self.skipped: list[Skipped] = []
        self._paths: dict[tuple[int, int], str] = {}

    def scan(self, root: Root) -> None:
        self._paths.setdefault(root.identity, root.path)
        try:
            entries = _entries(root.path)
        except OSError as error:
            self.skip(root, root.path, *_refusal(error))
            return
        for entry in entries:
            if self._is_new_folder(root, entry) and not self.take(root, entry.path, entry.name):
                self.skip(root, entry.path, *_NO_FILE)

    def _is_new_folder(self, root: Root, entry: os.DirEntry[str]) -> bool:
        try:
            identity = _identity(root, entry)
        except OSError as error:
            self.skip(root, entry.path, *_refusal(error))
            return False
        if entry.name.startswith("."):
            if identity:
                self.skip(root, entry.path, "HIDDEN_FOLDER", "its name begins with a dot")
            return False
        if identity is None:
            if entry.name.lower().endswith(".md") and not entry.name.lower().startswith("readme"):
                self.skip(root, entry.path, "NOT_A_FOLDER", "a skill is a folder, and this is a file")
            return False
        first = self._paths.get(identity)
        if first is not None:
            self.skip(root, entry.path, "SAME_FOLDER", f"the same folder as {first}")
            return False
        self._paths[identity] = entry.path
        return True

    def take(self, root: Root, folder: str, name: str) -> bool:
        """Read the skill *name* in *folder*; return False if it has no SKILL.md."""
        path = f"{folder}/{SKILL_FILE}"
        try:
            try:
                reading = read_skill(path)
            except FileNotFoundError:
                file_name = skill_file_in(folder)
                if file_name is None:
                    return False
                path = f"{folder}/{file_name}"
                reading = read_skill(path)
                note = Note("LOWER_CASE_FILE", f"the file is named {file_name}", path)
                reading = reading._replace(notes=(note, *reading.notes))
        except OSError as error:
            self.skip(root, path, *_refusal(error), skill=name)
        else:
            self.skills.append(ScannedSkill(name, path, root, reading))
        return True

    def skip(self, root: Root, path: str, code: str, reason: str, *, skill: str = "") -> None:
        """Record why *path* was skipped; *skill* is given if it has a SKILL.md."""
        name = skill or os.path.basename(path)
        self.skipped.append(
            Skipped(name, root.scope, path, code, reason, root=root.path, is_skill=bool(skill))
        )


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of *folder* by name, links last, so that a folder's own name is used before a link's."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))


def _identity(root: Root, entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """Return device and inode of the folder to which *entry* resolves, or `None` if it is not a folder."""
    if entry.is_symlink():
        status = os.stat(entry.path)
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
    return (root.identity[0], entry.inode()) if entry.is_dir(follow_symlinks=False) else None


def skill_file_in(folder: str) -> str | None:
    """Return the name of the SKILL.md in *folder*, or of a file whose name differs only in upper and lower case.

    Raises OSError if the folder cannot be read.
    """
    names = sorted(name for name in os.listdir(folder) if name.lower() == SKILL_FILE.lower())
    return SKILL_FILE if SKILL_FILE in names else next(iter(names), None)


_NO_FILE = ("NO_SKILL_FILE", "it contains no SKILL.md")
_REFUSALS = {
    errno.ENOENT: ("DANGLING_LINK", "the link points to nothing"),
    errno.ELOOP: ("LINK_LOOP", "the link leads back to itself"),
    errno.EINVAL: ("NOT_A_FILE", "SKILL.md is not a regular file"),
    errno.EISDIR: ("NOT_A_FILE", "SKILL.md is not a regular file"),
    errno.ENXIO: ("NOT_A_FILE", "SKILL.md is not a regular file"),
    errno.EOPNOTSUPP: ("NOT_A_FILE", "SKILL.md is not a regular file"),
}


def _refusal(error: OSError) -> tuple[str, str]:
    unreadable = ("UNREADABLE", f"it cannot be read: {error.strerror}")
    return _REFUSALS.get(error.errno or 0, unreadable)
