"""The one loader: finds the workflow that a name means, and reads it.

Python runs only if it is the user's own or bundled, an unchanged copy of a bundled skill, or approved by a person.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope
from flowrail.errors import ChangedError, DocumentError
from flowrail.hosts.host import CLAUDE_CODE, HOSTS
from flowrail.machines.findings import WorkflowError
from flowrail.machines.loading import skill_folder, workflow_source
from flowrail.machines.loading.skill_folder import ResourceProvider, UnknownResourceError, WorkflowFile
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.machines.parts import has_functions
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.workflow import Workflow
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
from flowrail.skills.opened_workflow import PROGRAM, OpenedWorkflow, definition_folder
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

    def skill(self, address: str) -> Skill:
        """Return the skill of the workflow at *address*; refuse an unknown one."""
        return find(address, self.roots)

    def find(self, address: str) -> tuple[Skill, WorkflowFile]:
        """Return the skill and the file of the workflow at *address*; refuse an unknown one."""
        skill = self.skill(address)
        return skill, workflow_file(address, skill)

    def load(self, address: str) -> LoadedWorkflow:
        """Return the workflow at *address* with its findings; `TrustError` if it is Python that may not run."""
        return self.read(self.find(address)[1])

    def read(self, file: WorkflowFile) -> LoadedWorkflow:
        """Return the workflow in *file* with its findings; `TrustError` if it is Python that may not run."""
        contents = self.allowed(self.skill_in(file.folder), file) if file.is_python else None
        return self._read(file, contents)

    def open_skill(self, address: str) -> OpenedWorkflow:
        """Return the loaded workflow at *address*; refuse it if its code may not run."""
        return self._open(*self.find(address))

    def open_folder(self, folder: str, *, address: str = "") -> OpenedWorkflow:
        """Return the workflow at *address* in the skill's *folder*, by default the entry workflow.

        A folder that is not in a location of skills counts as a project's.
        """
        skill = self.skill_in(folder)
        return self._open(skill, workflow_file(address or skill.name, skill))

    def open_beside(self, address: str, definition: StoredDefinition) -> OpenedWorkflow:
        """Return the workflow that an agent of a session with this *definition* must run, in any folder.

        A workflow of the same skill comes from the session's own skill folder. Another one is searched
        beside that folder first.
        """
        if definition.source == PROGRAM:
            return self.open_skill(address)
        skill = self.skill_in(definition_folder(definition))
        if address.partition("/")[0] != skill.name:
            is_bundled, folder = skill.source == BUNDLED, os.path.dirname(skill.folder)
            beside = [] if is_bundled else [Root(folder, Scope(skill.source), skill.folder)]
            skill = find(address, [*beside, *self.roots])
        return self._open(skill, workflow_file(address, skill))

    def origin(self, definition: StoredDefinition) -> tuple[Skill, WorkflowFile] | None:
        """Return the skill and the file that a session was started from, if they exist.

        Where the folder is decides what may run without approval. What the session has stored about that does not count:
        it may have come with a clone.
        """
        try:
            skill = self.skill_in(definition_folder(definition))
        except UnknownSkillError:
            return None
        is_there = os.path.lexists(os.path.join(skill.folder, definition.file))
        file = skill_folder.file_at(skill.folder, definition.skill, definition.file) if is_there else None
        return (skill, file) if file is not None else None

    def open_again(self, session: str, skill: Skill, file: WorkflowFile) -> OpenedWorkflow:
        """Return the workflow that *session* was started from, as its file is now."""
        try:
            return self._open(skill, file)
        except (DocumentError, WorkflowError) as error:
            raise ChangedError(
                f"the workflow of session `{session}` cannot be read: {error.message}",
                hint="fix the file, then run the command again",
                session=session,
            ) from None

    def has_changed(self, definition: StoredDefinition) -> bool:
        """Return whether a file of a stored workflow is different now."""
        return skill_folder.digests(definition_folder(definition), definition.files) != definition.files

    def of_program(self, workflow: Workflow) -> OpenedWorkflow:
        """Return a workflow of the calling Python program."""
        definition = StoredDefinition(
            workflow.name, PROGRAM, "", "", {}, has_functions(workflow), _to_plain(workflow)
        )
        return OpenedWorkflow(self._with_resources(workflow), definition)

    def _open(self, skill: Skill, file: WorkflowFile) -> OpenedWorkflow:
        """Return a workflow without errors for a session; refuse a skill that may not run in the project."""
        loaded = self._read(file, self.allowed(skill, file))
        workflow = self._with_resources(loaded.workflow())
        definition = StoredDefinition(
            skill=file.address,
            source=skill.source,
            folder=skill.name if skill.source == BUNDLED else os.path.abspath(skill.folder),
            file=file.path,
            files=loaded.digests,
            functions=has_functions(workflow),
            workflow=_to_plain(workflow),
        )
        return OpenedWorkflow(workflow, definition)

    def _with_resources(self, workflow: Workflow) -> Workflow:
        """Return *workflow* with the resources that its functions can read through `ctx.resources`."""
        if workflow.provider is not None or not has_functions(workflow):
            return workflow
        folders = () if workflow.folder is None else (workflow.folder,)
        resources = ResourceProvider(
            project=self.project,
            resources=[os.path.join(folder, "resources") for folder in folders],
            conventions=[
                *(os.path.join(folder, "conventions") for folder in folders),
                *self.conventions,
            ],
            workflow=lambda address: self.open_skill(address).workflow,
        )
        return workflow.changed(provider=resources)

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


def _to_plain(workflow: Workflow) -> Mapping[str, Any]:
    from flowrail.machines.plain_form import to_plain  # with cattrs, which only sessions need: 15 ms

    data: Mapping[str, Any] = to_plain(workflow)
    return data


def _why_not(skill: Skill, copy: BundledCopy | None) -> tuple[str, str | Hint]:
    """Return why a project's skill needs approval, and an alternative to approving it."""
    if copy is None:
        return f"of this project overrides your own at {skill.hides[-1].folder}", ""
    why = f"of this project overrides the bundled one and differs from it: {joined(copy.changes)}"
    folder = os.path.dirname(skill.folder)
    host = next((host for host in reversed(HOSTS) if folder.endswith(host.skills)), CLAUDE_CODE)
    return why, Hint("or replace it: ", Command("setup", skill.name, host=host.name, force=True))
