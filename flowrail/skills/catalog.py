"""Find a skill by name: a project's, a user's or a bundled one.

The order is the current folder and its parents, home, bundled. A folder with a workflow is a skill; the folder's name is
the skill's name.

A project's skill that hides a bundled skill needs approval to run. A copy whose files all equal the original counts as
the bundled skill. `.flowrail-install.json`, which lists what `flow install` wrote, is not part of the skill and proves
nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import Root, Scope
from flowrail.errors import DocumentError, FlowError, UsageError
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.machines.loading.skill_folder import WorkflowFile, entry_file, find_file, named_files
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean

BUNDLED = "bundled"
OWN_SCOPES = frozenset({Scope.GLOBAL.value, BUNDLED})
"""Scopes whose skills need no approval, because the user installed them."""


class UnknownSkillError(UsageError):
    """No location has a skill of that name."""

    code = "UNKNOWN_SKILL"


class Skill(NamedTuple):
    """A skill's folder, where it was found, and the folders of the same name that it hides."""

    name: str
    folder: str
    source: str
    hides: tuple[tuple[str, str], ...] = ()

    @property
    def hides_own(self) -> bool:
        """Whether it hides a skill in home or a bundled one."""
        return any(source in OWN_SCOPES for source, _ in self.hides)


def named_root(found: Skill) -> str:
    """Return the location of a skill that is only found with `--root`, otherwise an empty text."""
    return os.path.dirname(found.folder) if found.source == Scope.EXTRA.value else ""


def is_tried(folder: str, roots: Iterable[Root]) -> bool:
    """Return whether a skill is in a named location that counts as the user's own except for code."""
    above = os.path.dirname(folder)
    return any(root.personal and root.scope is Scope.EXTRA and root.path == above for root in roots)


def bundled_folder() -> str:
    """Return the folder that holds the bundled skills."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bundled")


def places(roots: Iterable[Root]) -> list[tuple[str, str]]:
    """Return the source and folder of every location of skills, nearest first.

    The user's own location is used by its resolved path, because a link to it may change.
    """
    named = [
        (Scope.GLOBAL, root.own or root.path) if root.personal else (root.scope, root.path) for root in roots
    ]
    return [*((str(scope.value), path) for scope, path in named), (BUNDLED, bundled_folder())]


def find(address: str, roots: Iterable[Root]) -> Skill:
    """Return the nearest skill of that name; refuse an unknown name and suggest similar ones."""
    if not WORKFLOW_NAME.match(address):
        raise _unknown(address, roots)
    name = address.partition("/")[0]
    standing = list(places(roots))
    found = [
        (source, os.path.join(root, name))
        for source, root in standing
        if entry_file(os.path.join(root, name), name) is not None
    ]
    if not found:
        raise _unknown(address, [Root(root, Scope.EXTRA, source) for source, root in standing])
    (source, folder), *hidden = found
    return Skill(name, folder, source, tuple(hidden))


def workflow_file(address: str, found: Skill) -> WorkflowFile:
    """Return the workflow at *address* in the skill *found*."""
    file = find_file(found.folder, address)
    if file is None:
        known = [
            each.address
            for each in (entry_file(found.folder, found.name), *named_files(found.folder, found.name))
            if each
        ]
        raise UnknownSkillError(
            f"skill `{found.name}` has no workflow `{address}`",
            hint=did_you_mean(address, known, f"it has {', '.join(known)}"),
            skill=address,
            known=known,
        )
    return file


def listing(roots: Iterable[Root]) -> list[Skill]:
    """Return every skill, the nearest of each name, with those that it hides."""
    found: dict[str, list[tuple[str, str]]] = {}
    for source, root in places(roots):
        for name in _names(root):
            found.setdefault(name, []).append((source, os.path.join(root, name)))
    return [Skill(name, where[0][1], where[0][0], tuple(where[1:])) for name, where in sorted(found.items())]


def workflows(found: Skill) -> Iterator[WorkflowFile]:
    """Yield every workflow of a skill, the entry one first."""
    entry = entry_file(found.folder, found.name)
    if entry is not None:
        yield entry
    yield from named_files(found.folder, found.name)


def _names(root: str) -> list[str]:
    try:
        names = os.listdir(root)
    except OSError:
        return []
    return [
        name
        for name in names
        if WORKFLOW_NAME.match(name) and entry_file(os.path.join(root, name), name) is not None
    ]


def _unknown(address: str, roots: Iterable[Root]) -> UnknownSkillError:
    roots = list(roots)
    known = [each.name for each in listing(roots)]
    folder = os.path.basename(address.rstrip("/"))  # a folder may be given, as for `flow check`
    meant = folder if folder in known else address[:80]
    similar = did_you_mean(meant, known, Hint("see all skills: ", Command("list")))
    return UnknownSkillError(
        f"unknown skill `{address[:80]}`",
        hint=_folder_hint(address, roots) or similar,
        skill=address[:80],
        known=known,
    )


def _folder_hint(name: str, roots: Iterable[Root]) -> Hint | None:
    """Return what to do if a location has a folder of that name without a workflow."""
    plain = name == os.path.basename(name) and name not in {"", os.curdir, os.pardir}
    there = (os.path.join(root.path, name) for root in roots if plain)
    path = next((each for each in there if os.path.isdir(each)), "")
    return Hint(f"{path} is not a skill that can run; see why: ", Command("check", path)) if path else None


MANIFEST = ".flowrail-install.json"
FORMAT = 1
_NAMED = 5
_About = TypeVar("_About")
_DIGEST = r"[0-9a-f]{64}\Z"
_VERSION = r"[0-9]+(?:\.[0-9]+){0,5}(?:(?:a|b|rc|\.dev|\.post)[0-9]+){0,3}\Z"


class BundledCopy(NamedTuple):
    """A folder that hides a bundled skill: its files, and how they differ from the original."""

    content: approval.FolderContent
    changes: tuple[str, ...]
    installed: str | None
    """The version of flowrail that wrote it, if its manifest still matches; anyone can write a manifest."""

    @property
    def same(self) -> bool:
        """Whether it is the bundled skill, file for file."""
        return not self.changes


class Manifest(NamedTuple):
    """What `flow install` wrote: the digest of each file; ``before``, what it was about to replace."""

    version: str
    files: Mapping[str, str]
    before: Mapping[str, str]

    def ours(self, path: str, digest: str) -> bool:
        """Return whether a file is as we wrote it."""
        return digest in {self.files.get(path), self.before.get(path)}


def shipped(name: str) -> approval.FolderContent:
    """Return the bundled skill of that name."""
    return approval.snapshot(_shipped_in(name))


def _shipped_in(name: str) -> str:
    return os.path.join(bundled_folder(), name)


def of_bundled(found: Skill) -> BundledCopy | None:
    """Return how a skill differs from the bundled one that it hides, or `None` if it hides none."""
    if not _hides_bundled(found):
        return None
    mine = approval.snapshot(found.folder)
    now, theirs = digests(mine), digests(shipped(found.name))
    manifest = read_manifest(found.folder)
    untouched = manifest is not None and manifest.files == now
    return BundledCopy(
        mine,
        tuple(_changes(theirs, now)),
        (manifest.version or None) if manifest and untouched else None,
    )


def as_bundled(found: Skill) -> bool | None:
    """Return whether a skill is a copy of the bundled one that it hides; `None` if it hides none.

    Every listing asks this for every skill, so files are read only if their number and sizes match.
    """
    if not _hides_bundled(found):
        return None
    mine, theirs = found.folder, _shipped_in(found.name)
    try:
        if _seen(approval.sizes(mine)) != _seen(approval.sizes(theirs)):
            return False
        return digests(approval.snapshot(mine, keep=False)) == digests(approval.snapshot(theirs, keep=False))
    except FlowError:  # it contains a link or a device, so it is not a copy
        return False


def _hides_bundled(found: Skill) -> bool:
    return any(source == BUNDLED for source, _ in found.hides)


def digests(snapshot: approval.FolderContent) -> dict[str, str]:
    """Return the digest of every file of the skill, without hidden files and without execute permissions.

    Workflows cannot use hidden files, so files that an editor leaves behind do not matter.
    """
    return {path: mark[1:] for path, mark in _seen(snapshot.files).items()}


def _seen(files: Mapping[str, _About]) -> dict[str, _About]:
    return {
        path: about
        for path, about in files.items()
        if not any(part.startswith(".") for part in path.split("/"))
    }


def read_manifest(folder: str) -> Manifest | None:
    """Return the manifest in *folder*, or `None` if there is no readable one."""
    try:
        data = json.loads(
            read_bounded(os.path.join(folder, MANIFEST), limit=limits.JSON_BYTES, what="the list of files")
        )
        kept = {key: _texts(data.get(key, {})) for key in ("files", "before")}
        version = str(data["version"])[:40]
        return Manifest(version if re.match(_VERSION, version) else "", kept["files"], kept["before"])
    except (DocumentError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def in_few_words(changes: Iterable[str]) -> str:
    """Return the first few of *changes* and how many more there are."""
    every = list(changes)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more


def _texts(value: Mapping[str, object]) -> dict[str, str]:
    """Return the digests of files by path, without entries that `flow install` does not write."""
    return {
        path: digest
        for path, digest in value.items()
        if isinstance(digest, str) and re.match(_DIGEST, digest) and _is_below(path)
    }


def _is_below(path: str) -> bool:
    return not {"", os.curdir, os.pardir} & set(path.split("/"))


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    words = {path: "changed" for path in before.keys() & now.keys() if before[path] != now[path]}
    words |= dict.fromkeys(before.keys() - now.keys(), "gone")
    words |= dict.fromkeys(now.keys() - before.keys(), "new")
    return [f"{path} ({words[path]})" for path in sorted(words)]
