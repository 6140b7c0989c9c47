"""Find a skill by name: a project's, a user's or a bundled one.

The order is the current folder and its parents, home, bundled. A folder with a workflow is a skill; the folder's name is
the skill's name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope, bundled_folder
from flowrail.errors import UsageError
from flowrail.machines.loading.skill_folder import WorkflowFile, find_file, workflow_files
from flowrail.machines.step import WORKFLOW_NAME
from flowrail.storage.files import list_names
from flowrail.text.phrases import did_you_mean

OWN_SCOPES = frozenset({Scope.GLOBAL.value, BUNDLED})
"""Scopes whose skills need no approval, because the user installed them."""


class UnknownSkillError(UsageError):
    """No location has a skill of that name."""

    code = "UNKNOWN_SKILL"


@dataclass(frozen=True)
class Skill:
    """A skill's folder, and where it was found."""

    name: str
    """The name of the folder."""
    folder: str
    """The folder."""
    source: str
    """The scope in which it was found: project, git-root, global, extra or bundled."""
    hides: tuple[Skill, ...] = ()
    """The skills of the same name that are farther away."""

    @property
    def hides_own(self) -> bool:
        """Whether it hides a skill in home or a bundled one."""
        return any(skill.source in OWN_SCOPES for skill in self.hides)


def named_root(skill: Skill) -> str:
    """Return the location of a skill that is only found with `--root`, otherwise an empty text."""
    return os.path.dirname(skill.folder) if skill.source == Scope.EXTRA.value else ""


def is_tried(folder: str, roots: Iterable[Root]) -> bool:
    """Return whether a skill is in a named location that counts as the user's own except for code."""
    above = os.path.dirname(folder)
    return any(root.personal and root.scope is Scope.EXTRA and root.path == above for root in roots)


def places(roots: Iterable[Root]) -> list[tuple[str, str]]:
    """Return the source and folder of every location of skills, nearest first.

    The user's own location is used by its resolved path, because a link to it may change.
    """
    named = [(Scope.GLOBAL, root.own) if root.personal else (root.scope, root.path) for root in roots]
    return [*((str(scope.value), path) for scope, path in named), (BUNDLED, bundled_folder())]


def find(address: str, roots: Sequence[Root]) -> Skill:
    """Return the nearest skill of that name; refuse an unknown name and suggest similar ones."""
    name = address.partition("/")[0]
    nearest = _named(name, roots) if WORKFLOW_NAME.match(address) else None
    if nearest is not None:
        return nearest
    names = [skill.name for skill in listing(roots)]
    folder = os.path.basename(address.rstrip("/"))  # the address may be a folder, as for `flow check`
    meant = folder if folder in names else address[:80]
    similar = did_you_mean(meant, names, Hint("see all skills: ", Command("list")))
    raise UnknownSkillError(
        f"unknown skill `{address[:80]}`",
        hint=_folder_hint(address, roots) or similar,
        skill=address[:80],
        known=names,
    )


def workflow_file(address: str, skill: Skill) -> WorkflowFile:
    """Return the workflow at *address* in *skill*."""
    file = find_file(skill.folder, address)
    if file is None:
        addresses = [file.address for file in workflows(skill)]
        raise UnknownSkillError(
            f"skill `{skill.name}` has no workflow `{address}`",
            hint=did_you_mean(address, addresses, f"it has {', '.join(addresses)}"),
            skill=address,
            known=addresses,
        )
    return file


def listing(roots: Sequence[Root]) -> list[Skill]:
    """Return every skill, the nearest of each name, with those that it hides."""
    names: set[str] = set()
    for _, folder in places(roots):
        names.update(name for name in list_names(folder) if WORKFLOW_NAME.match(name))
    return [skill for name in sorted(names) if (skill := _named(name, roots)) is not None]


def workflows(skill: Skill) -> list[WorkflowFile]:
    """Return every workflow of a skill, the entry one first."""
    files: dict[str, WorkflowFile] = {}
    for file in workflow_files(skill.folder, skill.name):
        files.setdefault(file.address, file)
    return sorted(files.values(), key=lambda file: file.address != skill.name)


def unread_workflows(folder: str) -> list[str]:
    """Return the names of files in a skill's *folder* that look like its workflow but are not read."""
    return [name for name in ("workflow.yml", "workflow.json") if os.path.lexists(os.path.join(folder, name))]


def with_unread_workflow(roots: Sequence[Root]) -> Iterator[str]:
    """Yield the folders of skills that have no workflow except one with a name that is not read."""
    for root in roots:
        for name in list_names(root.path):
            folder = os.path.join(root.path, name)
            if unread_workflows(folder) and not workflows(Skill(name, folder, root.origin)):
                yield folder


def _named(name: str, roots: Sequence[Root]) -> Skill | None:
    """Return the nearest skill of that name, with those that it hides."""
    skills = [Skill(name, os.path.join(folder, name), source) for source, folder in places(roots)]
    found = [skill for skill in skills if find_file(skill.folder, name) is not None]
    return replace(found[0], hides=tuple(found[1:])) if found else None


def _folder_hint(name: str, roots: Sequence[Root]) -> Hint | None:
    """Return a hint if a location has a folder of that name without a workflow."""
    if name != os.path.basename(name) or name in {"", os.curdir, os.pardir}:
        return None
    folders = (os.path.join(root.path, name) for root in roots)
    path = next((folder for folder in folders if os.path.isdir(folder)), "")
    return Hint(f"{path} is not a skill that can run; see why: ", Command("check", path)) if path else None
