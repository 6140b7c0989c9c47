"""Copies of bundled skills in a project or home: their changes, and the manifest of `flow setup`.

A project's skill that hides a bundled skill needs approval to run. A copy whose files all equal the original counts as
the bundled skill. The manifest `.flowrail-install.json` lists the files that `flow setup` wrote. It is not part of
the skill, and it proves nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from flowrail import approval
from flowrail.discovery.locations import BUNDLED, bundled_folder
from flowrail.errors import DocumentError, FlowError
from flowrail.skills.catalog import Skill
from flowrail.storage.files import read_bounded
from flowrail.text import size_limits

MANIFEST = ".flowrail-install.json"
FORMAT = 1


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
    own = approval.snapshot(skill.folder)
    return BundledCopy(own, tuple(approval.changes(digests(shipped(skill.name)), digests(own))))


def as_bundled(skill: Skill) -> bool | None:
    """Return whether a skill is a copy of the bundled one that it hides; `None` if it hides none."""
    try:
        copy = of_bundled(skill)
    except FlowError:  # it contains a link or a device, so it is not a copy
        return False
    return None if copy is None else not copy.changes


def runs_bundled_script(run: Sequence[str], folder: str, source: str) -> bool:
    """Return whether a command runs, with Python, a script of a bundled skill or of an unchanged copy in *folder*.

    Such a command needs no approval, because flowrail ships the script.
    """
    script = run[1] if len(run) > 1 else ""
    if run[0] not in {"python", "python3"} or not script.startswith("$scripts/") or ".." in script:
        return False
    name = os.path.basename(folder)
    if source == BUNDLED or not folder or not os.path.isdir(os.path.join(bundled_folder(), name)):
        return source == BUNDLED
    try:
        return digests(approval.snapshot(folder)) == digests(shipped(name))
    except FlowError:  # it contains a link or a device, so it is not a copy
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


def read_manifest(folder: str) -> dict[str, str] | None:
    """Return the digest of each file in the manifest of *folder*, or `None` if the manifest is missing or cannot be read."""
    path = os.path.join(folder, MANIFEST)
    try:
        data = json.loads(read_bounded(path, limit=size_limits.JSON_BYTES, what="the list of files"))
        return {path: str(digest) for path, digest in data["files"].items()}
    except (DocumentError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
