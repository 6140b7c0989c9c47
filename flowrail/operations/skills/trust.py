"""Describe a skill's folder for a person who approves it; find and withdraw approvals.

`flowrail.approval` stores the approvals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from flowrail.approval import Approval, FolderContent, is_name, revoke, revoke_commands
from flowrail.discovery.declaration import read_declaration
from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.locations import Root
from flowrail.discovery.scan import SKILL_FILE
from flowrail.skills.catalog import OWN_SCOPES, Skill, UnknownSkillError, find, places, workflows
from flowrail.skills.loader import Loader


def find_folder(name: str, roots: Iterable[Root]) -> Skill:
    """Return the skill called *name* whose folder can be approved.

    A project's skill without a workflow counts too, because its health check is a program. A workflow of that
    name comes first, unless it is the user's own and needs no approval.
    """
    known_roots = list(roots)
    skill = _without_workflow(name, known_roots)
    try:
        matching = find(name, known_roots)
    except UnknownSkillError:
        if skill is None:
            raise
        return skill
    return skill if skill is not None and matching.source in OWN_SCOPES else matching


def step_commands(skill: Skill, loader: Loader) -> dict[str, tuple[str, ...]]:
    """Return the commands of the steps of all workflows of *skill*, by step and name."""
    return {
        f"{file.address}, step {step.id}, command {name}": tuple(command.run)
        for file in workflows(skill)
        for step in loader.read(file).definition.steps
        for name, command in step.commands.items()
    }


def withdraw(name: str, roots: Iterable[Root], state: str, project: str) -> tuple[str, bool]:
    """Withdraw the approval of the nearest skill called *name*, and that of its commands in *project*.

    Return its folder and whether it was approved.

    The skill may have been deleted since it was approved, and its name may no longer be valid for an approval.
    """
    known_roots = list(roots)
    if name == os.path.basename(name) and name not in {"", os.curdir, os.pardir}:
        for _, root in places(known_roots):
            folder = os.path.join(root, name)
            revoked = (revoke(folder, state), revoke_commands(folder, project, state))
            if any(revoked):
                return folder, True
    folder = find_folder(name, known_roots).folder
    return folder, revoke_commands(folder, project, state)


def describe(now: FolderContent, approved: Approval | None) -> Iterator[str]:
    """Yield lines about a folder: its files, what changed since it was *approved*, and what would run."""
    yield f"folder {now.folder}"
    yield f"digest {now.digest}"
    before = approved.files if approved else None
    for path, mark in now.files.items():
        remarks = [f"{len(now.contents[path])} bytes"]
        if mark.startswith("x"):
            remarks.append("executable")
        if before is not None and before.get(path) != mark:
            remarks.append("changed" if path in before else "new")
        yield f"  {path} ({', '.join(remarks)})"
    for path in sorted((before or {}).keys() - now.files.keys()):
        yield f"  {path} (deleted)"
    if approved:
        same = approved.digest == now.digest
        yield f"approved at {approved.at}{'' if same else '; the files marked above have changed since'}"
    yield from _runs(now)


def _without_workflow(name: str, roots: Iterable[Root]) -> Skill | None:
    """Return the nearest skill of a project that has a SKILL.md.

    A name that could pass for other text in the question to a person is refused.
    """
    if name != os.path.basename(name) or not is_name(name):
        return None
    for source, root in places(roots):
        folder = os.path.join(root, name)
        if source not in OWN_SCOPES and os.path.isfile(os.path.join(folder, SKILL_FILE)):
            return Skill(name, folder, source)
    return None


def _runs(now: FolderContent) -> Iterator[str]:
    if "workflow.yaml" not in now.contents and "workflow.py" in now.contents:
        yield "runs workflow.py each time a step is shown or reported"
    front = read_frontmatter(now.contents.get(SKILL_FILE, b""), SKILL_FILE)
    command = read_declaration(front).values.get("health_check")
    if command:
        yield f"runs, if a health check is requested: {command}"
