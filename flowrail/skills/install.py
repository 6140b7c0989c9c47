"""Install bundled skills where hosts look for them, update and remove them.

A skill is installed, replaced and removed as a whole. A folder is ours if each of its files has the content that the
bundled skill has, or that the manifest says was written there; so repeating the command finishes an interrupted one. Any
other folder stays as it is. The manifest `.flowrail-install.json` does not belong to the skill.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from flowrail import __version__, approval
from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, DocumentError, FlowError
from flowrail.skills.bundled_copies import digests, shipped
from flowrail.skills.catalog import listing
from flowrail.storage.files import list_names, make_dir, read_bounded, remove, write_atomic
from flowrail.text import size_limits
from flowrail.text.unknown_names import unknown

MANIFEST = ".flowrail-install.json"
NEW, UNCHANGED, UPDATED, REMOVED, KEPT = "new", "unchanged", "updated", "removed", "kept"
"""What happens to a skill's folder. It is kept if it was changed by hand, or is not ours."""


@dataclass(frozen=True)
class InstalledSkill:
    """A skill that was installed or removed."""

    skill: str
    """Its name."""
    folder: str
    """Its folder."""
    state: str
    """new, unchanged, updated, removed, or kept if it was changed by hand."""


def bundled() -> list[str]:
    """Return the names of the skills that can be installed."""
    return [skill.name for skill in listing(())]


def installed(root: str) -> list[str]:
    """Return the names of the skills that were installed in *root*."""
    return [name for name in list_names(root) if os.path.isfile(os.path.join(root, name, MANIFEST))]


def install(name: str, root: str, *, force: bool = False, dry_run: bool = False) -> InstalledSkill:
    """Install a bundled skill in the folder *root*, or bring it up to date. With *force*, any other content is replaced."""
    if name not in (names := bundled()):
        skills = Hint("see all skills: ", Command("list"))
        raise unknown("bundled skill", name, names, code="UNKNOWN_SKILL", otherwise=skills)
    original, folder = shipped(name), os.path.join(root, name)
    wanted, present = digests(original), _present(folder)
    if present == wanted:
        state = UNCHANGED
    elif present is None or not (force or _is_ours(folder, present, wanted)):
        return InstalledSkill(name, folder, KEPT)
    else:
        state = UPDATED if present else NEW
    if not dry_run:
        for path in wanted if state != UNCHANGED else ():
            full = os.path.join(folder, path)
            make_dir(os.path.dirname(full))
            write_atomic(full, original.contents[path], mode=0o644, durable=False)
        _remove(folder, present.keys() - wanted.keys())
        text = json.dumps({"version": __version__, "files": wanted}, indent=1) + "\n"
        write_atomic(os.path.join(folder, MANIFEST), text.encode(), mode=0o644)
    return InstalledSkill(name, folder, state)


def uninstall(name: str, root: str, *, force: bool = False, dry_run: bool = False) -> InstalledSkill:
    """Remove a skill that was installed in *root*. With *force*, also one that was changed by hand."""
    if name not in (names := installed(root)):
        raise unknown(f"installed skill in {root}", name, names, code="NOT_INSTALLED")
    folder = os.path.join(root, name)
    present = _present(folder)
    if present is None or not (force or _is_ours(folder, present, {})):
        return InstalledSkill(name, folder, KEPT)
    if not dry_run:
        _remove(folder, [*present, MANIFEST])
    return InstalledSkill(name, folder, REMOVED)


def _present(folder: str) -> dict[str, str] | None:
    """Return the digest of each file in *folder*, or `None` if it contains a link or a device."""
    if os.path.islink(folder) or (os.path.exists(folder) and not os.path.isdir(folder)):
        problem = "a link" if os.path.islink(folder) else "not a folder"
        raise ConflictError(
            f"{folder} is {problem}, so nothing was written there",
            code="NOT_A_FOLDER",
            hint="remove it first",
            path=folder,
        )
    try:
        return digests(approval.snapshot(folder)) if os.path.isdir(folder) else {}
    except FlowError:
        return None


def _is_ours(folder: str, present: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Return whether each present file is as the manifest says, or as it will be."""
    written: Mapping[str, object] = {}
    with suppress(DocumentError, ValueError, KeyError, TypeError, RecursionError):
        path = os.path.join(folder, MANIFEST)
        written = dict(
            json.loads(read_bounded(path, limit=size_limits.JSON_BYTES, what="the manifest"))["files"]
        )
    return all(digest in (written.get(path), wanted.get(path)) for path, digest in present.items())


def _remove(folder: str, paths: Iterable[str]) -> None:
    """Remove files, and the folders that are empty then."""
    for path in paths:
        full = os.path.join(folder, path)
        if os.path.lexists(full):
            remove(full)
        with suppress(OSError):  # not empty
            while full != folder:
                full = os.path.dirname(full)
                os.rmdir(full)
