"""The git root and the project that a folder belongs to. Hooks import this for every tool that an agent uses."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator


def find_project_root(cwd: str) -> str:
    """Return the nearest folder, from *cwd* upwards, that contains `.flow` or `.git`; otherwise *cwd* itself.

    Folders that another user created, for example in `/tmp`, do not count.
    """
    start = os.path.realpath(cwd)
    owners = _owners_of(start)
    for folder in ancestors(start):
        if _owner(os.path.join(folder, ".flow")) in owners or _is_repository(folder, owners):
            return folder
    return start


def find_git_root(folder: str) -> str | None:
    """Return the nearest folder that contains `.git`: a folder, or the file of a worktree or submodule."""
    owners = _owners_of(folder)
    return next((each for each in ancestors(folder) if _is_repository(each, owners)), None)


def _is_repository(folder: str, owners: Collection[int]) -> bool:
    """Return whether a folder contains `.git`, a folder or the file of a worktree or submodule, of one of the *owners*."""
    try:
        status = os.stat(os.path.join(folder, ".git"))
    except OSError:
        return False
    return (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)) and status.st_uid in owners


def _owners_of(folder: str) -> Collection[int]:
    """Return the users whose repositories count for *folder*: this user, root, and the folder's owner."""
    own = _owner(folder)
    return {0, os.geteuid()} if own is None else {0, os.geteuid(), own}


def ancestors(folder: str) -> Iterator[str]:
    """Yield *folder* and each folder above it."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _owner(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None
