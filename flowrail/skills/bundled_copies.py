"""Copies of bundled skills in a project or home, and their differences from the original.

A project's skill that hides a bundled skill needs approval to run. A copy whose files all equal the original counts as
the bundled skill.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from flowrail import approval
from flowrail.discovery.locations import BUNDLED, bundled_folder
from flowrail.errors import FlowError
from flowrail.skills.catalog import Skill


class BundledCopy(NamedTuple):
    """A folder that hides a bundled skill: its files, and their differences from the original."""

    content: approval.FolderContent
    changes: tuple[str, ...]


def shipped(name: str) -> approval.FolderContent:
    """Return the bundled skill of that name, without compiled files, which an installation may add.

    In a copy they count as changes: Python would run them instead of the source.
    """
    content = approval.snapshot(os.path.join(bundled_folder(), name))
    kept = [path for path in content.files if "__pycache__" not in path.split("/")]
    return replace(
        content,
        files={path: content.files[path] for path in kept},
        contents={path: content.contents[path] for path in kept},
    )


def of_bundled(skill: Skill) -> BundledCopy | None:
    """Return a skill with its differences from the bundled one that it hides, or `None` if it hides none."""
    if all(hidden.source != BUNDLED for hidden in skill.hides):
        return None
    return _copy(skill.name, skill.folder)


def runs_bundled_script(run: Sequence[str], folder: str, source: str) -> bool:
    """Return whether a command runs, with Python, a script of a bundled skill or of an unchanged copy in *folder*.

    Such a command needs no approval, because flowrail ships the script.
    """
    script = run[1] if len(run) > 1 else ""
    if run[0] not in {"python", "python3"} or not script.startswith("$scripts/") or ".." in script:
        return False
    try:
        return source == BUNDLED or not _copy(os.path.basename(folder), folder).changes
    except FlowError:  # it contains a link or a device, or there is no bundled skill of its name
        return False


def digests(snapshot: approval.FolderContent) -> dict[str, str]:
    """Return the digest of every file of the skill, without hidden files and without execute permissions.

    Workflows cannot use hidden files, so files that an editor leaves behind do not matter.
    """
    return {
        path: mark[1:]
        for path, mark in snapshot.files.items()
        if not any(part.startswith(".") for part in path.split("/"))
    }


def _copy(name: str, folder: str) -> BundledCopy:
    own = approval.snapshot(folder)
    return BundledCopy(own, tuple(approval.changes(digests(shipped(name)), digests(own))))
