"""Find a skill by name: a project's, a user's or a bundled one.

The order is the current folder and its parents, home, bundled. A folder with a workflow is a skill; the folder's name is
the skill's name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope, bundled_folder
from flowrail.errors import UsageError
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.machines.loading.skill_folder import WorkflowFile, entry_file, find_file, named_files
from flowrail.text.phrases import did_you_mean

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
