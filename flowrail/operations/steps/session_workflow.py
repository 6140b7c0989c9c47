"""The workflow of a session: from the files of a skill for a new session, and afterwards from the session itself.

A session keeps its definition: a changed skill does not affect it. Only the code of a Python workflow cannot be kept. A
session whose code changed is stopped until it is migrated.
"""

from __future__ import annotations

import os

from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope
from flowrail.errors import ChangedError, DocumentError, FlowError, UsageError
from flowrail.machines.findings import WorkflowError
from flowrail.machines.loading import skill_folder
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.parts import has_functions
from flowrail.machines.plain_form import to_plain
from flowrail.machines.session import Session
from flowrail.machines.session_record import StoredDefinition
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import PROGRAM, Environment, OpenedWorkflow, definition_folder
from flowrail.skills.catalog import Skill, UnknownSkillError, find, workflow_file
from flowrail.skills.loader import Loader


def open_skill(address: str, loader: Loader) -> OpenedWorkflow:
    """Return the loaded workflow at *address*; refuse it if its code may not run."""
    return _opened(*loader.find(address), loader)


def open_folder(folder: str, loader: Loader, *, address: str = "") -> OpenedWorkflow:
    """Return the workflow at *address* in the skill's *folder*, by default the entry workflow.

    A folder that is not in a location of skills counts as a project's.
    """
    skill = loader.skill_in(folder)
    return _opened(skill, workflow_file(address or skill.name, skill), loader)


def _opened(skill: Skill, file: WorkflowFile, loader: Loader) -> OpenedWorkflow:
    loaded = loader.open(skill, file)
    workflow = _with_resources(loaded.definition, loader)
    definition = StoredDefinition(
        skill=file.address,
        source=skill.source,
        folder=skill.name if skill.source == BUNDLED else os.path.abspath(skill.folder),
        file=file.path,
        files=loaded.digests,
        functions=has_functions(workflow),
        workflow=to_plain(workflow),
    )
    return OpenedWorkflow(workflow, definition)


def of_program(workflow: Workflow, loader: Loader) -> OpenedWorkflow:
    """Return a workflow of the calling Python program."""
    definition = StoredDefinition(
        workflow.name, PROGRAM, "", "", {}, has_functions(workflow), to_plain(workflow)
    )
    return OpenedWorkflow(_with_resources(workflow, loader), definition)


def _with_resources(workflow: Workflow, loader: Loader) -> Workflow:
    """Return *workflow* with the resources that its functions can read through `ctx.resources`."""
    if workflow.provider is not None or not has_functions(workflow):
        return workflow
    folders = () if workflow.folder is None else (workflow.folder,)
    resources = skill_folder.ResourceProvider(
        project=loader.project,
        resources=[os.path.join(folder, "resources") for folder in folders],
        conventions=[
            *(os.path.join(folder, "conventions") for folder in folders),
            *loader.conventions,
        ],
        workflow=lambda address: open_skill(address, loader).workflow,
    )
    return workflow.changed(provider=resources)


def open_beside(environment: Environment, address: str, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow that an agent of a session with this *definition* must run, in any folder.

    A workflow of the same skill comes from the session's own skill folder. Another one is searched
    beside that folder first.
    """
    loader = environment.loader
    if address in environment.workflows:
        return of_program(environment.workflows[address], loader)
    if definition.source == PROGRAM:
        return open_skill(address, loader)
    skill = loader.skill_in(definition_folder(definition))
    if address.partition("/")[0] != skill.name:
        is_bundled, folder = skill.source == BUNDLED, os.path.dirname(skill.folder)
        beside = [] if is_bundled else [Root(folder, Scope(skill.source), skill.folder)]
        skill = find(address, [*beside, *environment.roots])
    return _opened(skill, workflow_file(address, skill), loader)


def open_session(environment: Environment, session: Session) -> OpenedWorkflow:
    """Return the workflow of a session as it was when the session started; `ChangedError` if its code is another now."""
    definition = environment.store.definition(session)
    if definition.functions:
        return _open_code(environment, session, definition)
    stored = environment.store.workflow(session, definition)
    return OpenedWorkflow(
        stored.changed(folder=definition_folder(definition) or None, provider=None), definition
    )


def _open_code(environment: Environment, session: Session, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow of a session that runs code; `ChangedError` if the code is another now."""
    if definition.source == PROGRAM:
        opened = _of_this_program(environment, session)
        if opened.definition != definition:
            raise _code_changed(environment, session)
        return opened
    origin, folder = _origin(environment, definition), definition_folder(definition)
    if origin is None:  # no other file of the folder may be run instead
        problem = f"has no workflow `{session.skill}`" if os.path.lexists(folder) else "is missing"
        raise ChangedError(
            f"the skill's folder {folder} {problem}, and session `{session.id}` runs code from it",
            hint=Hint("restore it, or end the session: ", Command("session abandon", session.id)),
            session=session.id,
        )
    if skill_folder.digests(folder, definition.files) != definition.files:
        raise _code_changed(environment, session)
    return OpenedWorkflow(_open_again(environment, session, *origin).workflow, definition)


def open_newest(
    environment: Environment, session: Session, definition: StoredDefinition | None
) -> OpenedWorkflow:
    """Return the workflow of a session as its files or its program are now.

    It is in the folder from which the session was started. If that has gone, or if the *definition* is lost, it is
    searched by its name.
    """
    if session.skill in environment.workflows or (definition is not None and definition.source == PROGRAM):
        return _of_this_program(environment, session)
    if definition is not None and definition.folder:
        origin = _origin(environment, definition)
        if origin is not None:
            return _open_again(environment, session, *origin)
    try:
        return open_skill(session.skill, environment.loader)
    except UsageError as error:
        raise ChangedError(
            f"session `{session.id}` has no workflow to migrate to: {error.message}",
            hint="restore the skill's folder",
            session=session.id,
        ) from None


def _of_this_program(environment: Environment, session: Session) -> OpenedWorkflow:
    if session.skill not in environment.workflows:
        raise ChangedError(
            f"session `{session.id}` runs functions of the Python program that started it",
            hint="continue it in that program, or move the workflow into a skill's workflow.py",
            session=session.id,
        )
    return of_program(environment.workflows[session.skill], environment.loader)


def _code_changed(environment: Environment, session: Session) -> ChangedError:
    migrate = environment.command("session migrate", session.id)
    return ChangedError(
        f"the code of session `{session.id}` changed after the session started",
        hint=Hint("continue with the changed code: ", migrate),
        session=session.id,
    )


def _origin(environment: Environment, definition: StoredDefinition) -> tuple[Skill, WorkflowFile] | None:
    """Return the skill and the file that a session was started from, if they exist.

    Where the folder is decides what may run without approval. What the session has stored about that does not count: it
    may have come with a clone.
    """
    try:
        skill = environment.loader.skill_in(definition_folder(definition))
    except UnknownSkillError:
        return None
    is_there = os.path.lexists(os.path.join(skill.folder, definition.file))
    file = skill_folder.file_at(skill.folder, definition.skill, definition.file) if is_there else None
    return (skill, file) if file is not None else None


def _open_again(
    environment: Environment, session: Session, skill: Skill, file: WorkflowFile
) -> OpenedWorkflow:
    try:
        return _opened(skill, file, environment.loader)
    except (DocumentError, WorkflowError) as error:
        raise ChangedError(
            f"the workflow of session `{session.id}` cannot be read: {error.message}",
            hint="fix the file, then run the command again",
            session=session.id,
        ) from None


def start_command(environment: Environment, address: str) -> Command:
    """Return the command that starts a session of a skill, with placeholders for its required parameters.

    An unknown skill is refused.
    """
    find(address, environment.roots)
    return environment.command(
        "step",
        address,
        new=True,
        params=_left_to_give(address, environment.loader),
    )


def _left_to_give(address: str, loader: Loader) -> dict[str, str]:
    """Return the required parameters of a workflow, each with a placeholder as its value."""
    try:
        params = loader.load(address).definition.params
    except FlowError:
        return {}
    return {name: "…" for name, arg in params.items() if arg.required}
