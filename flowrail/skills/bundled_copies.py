"""Copies of bundled skills in a project or home: their changes, and the manifest of `flow install`.

A project's skill that hides a bundled skill needs approval to run. A copy whose files all equal the original counts as
the bundled skill. The manifest `.flowrail-install.json` lists the files that `flow install` wrote. It is not part of
the skill, and it proves nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from flowrail import approval
from flowrail.discovery.locations import BUNDLED, bundled_folder
from flowrail.errors import DocumentError, FlowError
from flowrail.skills.catalog import Skill
from flowrail.storage.files import read_bounded
from flowrail.text import limits

MANIFEST = ".flowrail-install.json"
FORMAT = 1
_VERSION = r"[0-9a-z.]{1,40}\Z"


class BundledCopy(NamedTuple):
    """A folder that hides a bundled skill: its files, and their differences from the original."""

    content: approval.FolderContent
    changes: tuple[str, ...]
    installed: str | None
    """The version of flowrail that wrote it, if its manifest still matches; anyone can write a manifest."""

    @property
    def same(self) -> bool:
        """Whether it is the bundled skill, file for file."""
        return not self.changes


class Manifest(NamedTuple):
    """What `flow install` wrote, or what a file claims: the version of flowrail, and the digest of each file."""

    version: str
    files: Mapping[str, str]


def shipped(name: str) -> approval.FolderContent:
    """Return the bundled skill of that name."""
    return approval.snapshot(os.path.join(bundled_folder(), name))


def of_bundled(skill: Skill) -> BundledCopy | None:
    """Return a skill with its differences from the bundled one that it hides, or `None` if it hides none."""
    if all(source != BUNDLED for source, _ in skill.hides):
        return None
    own = approval.snapshot(skill.folder)
    now, original = digests(own), digests(shipped(skill.name))
    manifest = read_manifest(skill.folder)
    untouched = manifest is not None and manifest.files == now
    return BundledCopy(
        own,
        tuple(approval.changes(original, now)),
        (manifest.version or None) if manifest and untouched else None,
    )


def as_bundled(skill: Skill) -> bool | None:
    """Return whether a skill is a copy of the bundled one that it hides; `None` if it hides none."""
    try:
        copy = of_bundled(skill)
    except FlowError:  # it contains a link or a device, so it is not a copy
        return False
    return None if copy is None else copy.same


def digests(snapshot: approval.FolderContent) -> dict[str, str]:
    """Return the digest of every file of the skill, without hidden files and without execute permissions.

    Workflows cannot use hidden files, so files that an editor leaves behind do not matter.
    """
    return {
        path: mark[1:]
        for path, mark in snapshot.files.items()
        if not any(part.startswith(".") for part in path.split("/"))
    }


def read_manifest(folder: str) -> Manifest | None:
    """Return the manifest in *folder*, or `None` if there is no readable one."""
    try:
        data = json.loads(
            read_bounded(os.path.join(folder, MANIFEST), limit=limits.JSON_BYTES, what="the list of files")
        )
        version = str(data["version"])
        files = {path: str(digest) for path, digest in data["files"].items()}
        return Manifest(version if re.match(_VERSION, version) else "", files)
    except (DocumentError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
