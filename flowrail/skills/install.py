"""Install bundled skills where hosts look for them, and uninstall them, without touching other files.

A manifest in each folder lists the skill's files that have the bundled content. Files that have changed since, or were
different before, stay as they are. The manifest is written last: a file that already has the right content counts as
ours, so repeating the command finishes an interrupted installation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from flowrail import __version__, approval
from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, DocumentError, UsageError
from flowrail.machines.loading.skill_folder import ENTRY_FILES
from flowrail.machines.step import WORKFLOW_NAME
from flowrail.skills.bundled_copies import FORMAT, MANIFEST, digests, read_manifest, shipped
from flowrail.skills.catalog import UnknownSkillError, listing
from flowrail.storage.files import MissingFileError, make_dir, read_bounded, remove, sha256_hex, write_atomic
from flowrail.text.phrases import did_you_mean

NEW, SAME, UPDATED, LEFT, REMOVED, GONE = "new", "same", "updated", "left", "removed", "gone"
"""The state of a file: written, unchanged, replaced, kept because it is not ours, removed, missing."""
CARD = "SKILL.md"
ODD = "odd"
"""In place of a digest: not a plain file, or behind a link."""


@dataclass(frozen=True)
class InstalledSkill:
    """A skill that was installed or removed."""

    skill: str
    """Its name."""
    folder: str
    """Its folder."""
    files: Mapping[str, str]
    """The state of each file, by path."""

    def only(self, state: str) -> list[str]:
        """Return the paths of the files in that *state*."""
        return [path for path, its_state in self.files.items() if its_state == state]


def bundled() -> list[str]:
    """Return the names of the skills that can be installed."""
    return [skill.name for skill in listing(())]


def install(
    names: Iterable[str], root: str, *, force: bool = False, dry_run: bool = False
) -> list[InstalledSkill]:
    """Install bundled skills in the folder *root*; existing files that are not ours stay.

    With *force*, files of the same name that are not ours are replaced. With *dry_run*, nothing is written.
    """
    planned = [_plan(_bundled_name(name), root, force=force) for name in dict.fromkeys(names)]
    if not dry_run:
        for plan in planned:
            _carry_out(plan)
    return [plan.placed for plan in planned]


def uninstall(names: Iterable[str], root: str, *, dry_run: bool = False) -> list[InstalledSkill]:
    """Remove what `install` wrote into *root*, except files that have changed since."""
    folders = {name: os.path.join(root, name) for name in dict.fromkeys(names)}
    removed = [
        InstalledSkill(name, folder, _removals(folder, _installed(name, folder)))
        for name, folder in folders.items()
    ]
    if not dry_run:
        for skill in removed:
            for path in (*skill.only(REMOVED), MANIFEST):
                _remove(skill.folder, path)
    return removed


def installed(root: str) -> list[str]:
    """Return the names of the skills that were installed in *root*."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    named = (name for name in names if WORKFLOW_NAME.match(name))
    return [name for name in named if read_manifest(os.path.join(root, name)) is not None]


@dataclass(frozen=True)
class _Planned:
    placed: InstalledSkill
    contents: Mapping[str, bytes]
    written: Mapping[str, str]
    """The digests of the files that are ours, for the manifest."""


def _bundled_name(name: str) -> str:
    if name not in (bundled_names := bundled()):
        raise UnknownSkillError(
            f"unknown bundled skill `{name[:80]}`",
            hint=did_you_mean(name[:80], bundled_names, Hint("see all skills: ", Command("list"))),
            skill=name[:80],
            known=bundled_names,
        )
    return name


def _plan(name: str, root: str, *, force: bool) -> _Planned:
    folder = os.path.join(root, name)
    _refuse_odd(folder)
    original = shipped(name)
    shipped_files = digests(original)
    manifest = read_manifest(folder)
    if manifest is None and not force:
        _refuse_foreign(folder, name, shipped_files)
    installed_files = manifest or {}
    files: dict[str, str] = {}
    written: dict[str, str] = {}
    for path, digest in shipped_files.items():
        files[path] = _state(path, _digest(folder, path), digest, installed_files, force=force)
        if files[path] != LEFT:
            written[path] = digest
        elif path in installed_files:
            written[path] = installed_files[path]
    unwanted = {path: digest for path, digest in installed_files.items() if path not in shipped_files}
    files |= {path: state for path, state in _removals(folder, unwanted).items() if state != GONE}
    return _Planned(InstalledSkill(name, folder, files), original.contents, written)


def _refuse_foreign(folder: str, name: str, shipped_files: Mapping[str, str]) -> None:
    """Refuse to mix our files into another skill of the same name."""
    foreign_files = [
        path for path in (CARD, *ENTRY_FILES) if _digest(folder, path) not in {None, shipped_files.get(path)}
    ]
    if foreign_files:
        raise ConflictError(
            f"{folder} contains another skill (its `{foreign_files[0]}` is not that of the bundled {name}); "
            "nothing was written",
            code="NOT_OURS",
            hint="rename the other skill, or replace it with --force",
            path=folder,
            files=foreign_files,
        )


def _state(
    path: str, now: str | None, shipped_digest: str, installed_files: Mapping[str, str], *, force: bool
) -> str:
    if now is None:
        return NEW
    if now == shipped_digest:
        return SAME
    return UPDATED if now != ODD and (force or now == installed_files.get(path)) else LEFT


def _carry_out(planned: _Planned) -> None:
    folder = planned.placed.folder
    for path, state in planned.placed.files.items():
        full = os.path.join(folder, path)
        if state in {NEW, UPDATED}:
            make_dir(os.path.dirname(full))
            write_atomic(full, planned.contents[path], mode=0o644, durable=False)
        elif state == REMOVED:
            _remove(folder, path)
    files = dict(sorted(planned.written.items()))
    document = {"format": FORMAT, "skill": planned.placed.skill, "version": __version__, "files": files}
    text = json.dumps(document, indent=1) + "\n"
    write_atomic(os.path.join(folder, MANIFEST), text.encode(), mode=0o644)


def _installed(name: str, folder: str) -> Mapping[str, str]:
    """Return the digests of the files that were installed in *folder*."""
    if not WORKFLOW_NAME.match(name) or "/" in name or (manifest := read_manifest(folder)) is None:
        skills = installed(os.path.dirname(folder))
        raise UsageError(
            f"no skill `{name[:80]}` was installed in {os.path.dirname(folder)}",
            code="NOT_INSTALLED",
            hint=did_you_mean(name[:80], skills, f"installed there: {', '.join(skills) or 'none'}"),
            skill=name[:80],
            installed=skills,
        )
    _refuse_odd(folder)
    return manifest


def _removals(folder: str, written: Mapping[str, str]) -> dict[str, str]:
    """Return the state of files after the unchanged ones among *written* are removed."""
    now = {path: _digest(folder, path) for path in sorted(written)}
    return {
        path: GONE if digest is None else REMOVED if digest == written[path] != ODD else LEFT
        for path, digest in now.items()
    }


def _digest(folder: str, path: str) -> str | None:
    """Return the digest of a file, ``ODD`` if it is not a plain file, `None` if it does not exist.

    A path outside the folder, by `..` or through a link, is ``ODD``.
    """
    full = os.path.join(folder, path)
    if os.path.isabs(path) or os.path.realpath(full) != os.path.join(os.path.realpath(folder), path):
        return ODD
    try:
        return sha256_hex(read_bounded(full, limit=approval.LARGEST_FILE, what=f"`{path}`"))
    except MissingFileError:
        return None
    except DocumentError:
        return ODD


def _remove(folder: str, path: str) -> None:
    """Remove a file, and the folders that are empty then."""
    full = os.path.join(folder, path)
    if os.path.lexists(full):
        remove(full)
    with suppress(OSError):  # not empty
        while full != folder:
            full = os.path.dirname(full)
            os.rmdir(full)


def _refuse_odd(folder: str) -> None:
    if os.path.islink(folder) or (os.path.exists(folder) and not os.path.isdir(folder)):
        problem = "a link" if os.path.islink(folder) else "not a folder"
        raise ConflictError(
            f"{folder} is {problem}, so nothing was written there",
            code="NOT_A_FOLDER",
            hint="remove it first",
            path=folder,
        )
