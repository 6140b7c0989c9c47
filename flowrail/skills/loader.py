"""The one loader: finds the workflow that a name means, and reads it.

Python runs only if it is the user's own or bundled, an unchanged copy of a bundled skill, or approved by a person.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope
from flowrail.hosts.host import CLAUDE_CODE, HOSTS
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.skill_folder import ResourceProvider, UnknownResourceError, WorkflowFile
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.skills.bundled_copies import BundledCopy, of_bundled
from flowrail.skills.catalog import (
    OWN_SCOPES,
    Skill,
    UnknownSkillError,
    find,
    is_tried,
    named_root,
    places,
    workflow_file,
)
from flowrail.text.phrases import joined


@dataclass(frozen=True)
class Loader:
    """Finds and loads workflows, for every command and for Python programs. Without values, it knows the bundled skills."""

    roots: tuple[Root, ...] = ()
    """The folders that hold skills, nearest first, without the bundled ones."""
    state: str = ""
    """The user's folder of state, with the approvals."""
    project: str = ""
    """The project for which skills are approved."""
    conventions: tuple[str, ...] = ()
    """The folders of the conventions that any skill may quote, nearest first."""

    def find(self, address: str) -> tuple[Skill, WorkflowFile]:
        """Return the skill and the file of the workflow at *address*; refuse an unknown one."""
        skill = find(address, self.roots)
        return skill, workflow_file(address, skill)

    def load(self, address: str) -> LoadedWorkflow:
        """Return the workflow at *address* with its findings; `TrustError` if it is Python that may not run."""
        return self.read(self.find(address)[1])

    def read(self, file: WorkflowFile) -> LoadedWorkflow:
        """Return the workflow in *file* with its findings; `TrustError` if it is Python that may not run."""
        contents = self.allowed(self.skill_in(file.folder), file) if file.is_python else None
        return self._read(file, contents)

    def open(self, skill: Skill, file: WorkflowFile) -> LoadedWorkflow:
        """Return a workflow without errors for a session; refuse a skill that may not run in the project."""
        loaded = self._read(file, self.allowed(skill, file))
        loaded.workflow()
        return loaded

    def skill_in(self, folder: str) -> Skill:
        """Return the skill in *folder*, with the location that contains it."""
        parent, name = os.path.split(os.path.abspath(folder))
        real = os.path.realpath(parent)
        for source, path in places(self.roots):
            if os.path.realpath(path) == real:
                if source == BUNDLED:
                    return Skill(name, folder, source)
                break
        same = [root for root in self.roots if os.path.realpath(root.path) == real]
        others = [root for root in self.roots if root not in same]
        skill = find(name, [*(same or [Root(parent, Scope.EXTRA, "")]), *others])
        if os.path.realpath(skill.folder) != os.path.realpath(folder):
            raise UnknownSkillError(
                f"{folder} contains no workflow",
                hint=Hint(
                    "add a workflow.yaml or a workflow.py; see all problems: ", Command("check", folder)
                ),
                folder=folder,
            )
        return skill

    def allowed(self, skill: Skill, file: WorkflowFile) -> Mapping[str, bytes] | None:
        """Return the approved content of a skill's folder, or `None` if it needs no approval; refuse it without one."""
        tried = file.is_python and is_tried(skill.folder, self.roots)
        if (skill.source in OWN_SCOPES and not tried) or not (file.is_python or skill.hides_own):
            return None
        copy = of_bundled(skill)
        if copy is not None and not copy.changes:
            return copy.content.contents
        root = os.path.dirname(skill.folder) if tried else named_root(skill)
        why, instead = ("contains Python code", "") if file.is_python else _why_not(skill, copy)
        content = None if copy is None else copy.content
        return approval.require(
            skill.folder,
            self.project,
            self.state,
            skill=skill.name,
            why=why,
            instead=instead,
            root=root,
            content=content,
        ).contents

    def convention(self, name: str) -> str | None:
        """Return the text of a convention for all skills, or `None` if it is unknown."""
        try:
            return ResourceProvider(project=self.project, conventions=self.conventions).get_convention(name)
        except UnknownResourceError:
            return None

    def _read(self, file: WorkflowFile, contents: Mapping[str, bytes] | None) -> LoadedWorkflow:
        return workflow_source.read(file, contents, convention=self.convention)


def _why_not(skill: Skill, copy: BundledCopy | None) -> tuple[str, str | Hint]:
    """Return why a project's skill needs approval, and an alternative to approving it."""
    if copy is None:
        return f"of this project overrides your own at {skill.hides[-1].folder}", ""
    why = f"of this project overrides the bundled one and differs from it: {joined(copy.changes)}"
    folder = os.path.dirname(skill.folder)
    host = next((host for host in reversed(HOSTS) if folder.endswith(host.skills)), CLAUDE_CODE)
    return why, Hint("or replace it: ", Command("setup", skill.name, host=host.name, force=True))
