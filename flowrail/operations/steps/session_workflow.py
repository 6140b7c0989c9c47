"""The workflow of a session: from the files of a skill for a new session, and afterwards from the session itself.

A session keeps its definition: a changed skill does not affect it. Only the code of a Python workflow cannot be kept. A
session whose code changed is stopped until it is migrated.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

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
from flowrail.skills.catalog import OWN_SCOPES, Skill, find, places, workflow_file
from flowrail.skills.loader import Loader

_SCOPES = frozenset(scope.value for scope in Scope)


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
    return workflow.located(workflow.folder, resources)


def open_beside(
    environment: Environment, address: str, session: Session, definition: StoredDefinition
) -> OpenedWorkflow:
    """Return the workflow that an agent of *session* must run, in any folder.

    A workflow of the same skill comes from the session's own skill folder. Another one is searched
    beside that folder first.
    """
    loader = environment.loader
    if address in environment.workflows:
        return of_program(environment.workflows[address], loader)
    if definition.source == PROGRAM:
        return open_skill(address, loader)
    skill = _skill_of(environment, session, definition)
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
    return OpenedWorkflow(stored.located(definition_folder(definition) or None), definition)


def _open_code(environment: Environment, session: Session, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow of a session that runs code; `ChangedError` if the code is another now."""
    if definition.source == PROGRAM:
        opened = _of_this_program(environment, session)
        if opened.definition != definition:
            raise _code_changed(environment, session)
        return opened
    skill, file = _origin(environment, session, definition)
    if file is None or not os.path.lexists(skill.folder):  # no other file of the folder may be run instead
        problem = f"has no workflow `{session.skill}`" if os.path.lexists(skill.folder) else "is missing"
        raise ChangedError(
            f"the skill's folder {skill.folder} {problem}, and session `{session.id}` runs code from it",
            hint=Hint("restore it, or end the session: ", Command("session abandon", session.id)),
            session=session.id,
        )
    if skill_folder.digests(skill.folder, definition.files) != definition.files:
        raise _code_changed(environment, session)
    return OpenedWorkflow(_open_again(environment, session, skill, file).workflow, definition)


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
        skill, file = _origin(environment, session, definition)
        if file is not None:
            return _open_again(environment, session, skill, file)
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
    migrate = Command("session migrate", session.id, store=environment.shown_store)
    return ChangedError(
        f"the code of session `{session.id}` changed after the session started",
        hint=Hint("continue with the changed code: ", migrate),
        session=session.id,
    )


def _origin(
    environment: Environment, session: Session, definition: StoredDefinition
) -> tuple[Skill, WorkflowFile | None]:
    """Return the skill and the file that a session was started from, if that exists."""
    skill = _skill_of(environment, session, definition)
    is_there = os.path.lexists(os.path.join(skill.folder, definition.file))
    return skill, skill_folder.file_at(skill.folder, session.skill, definition.file) if is_there else None


def _skill_of(environment: Environment, session: Session, definition: StoredDefinition) -> Skill:
    """Return the skill that a session was started from. What the session has stored about it is verified."""
    folder = definition_folder(definition)
    source, folder = _verified_origin(definition.source, session.skill, folder, environment.roots)
    hidden = _hidden(session.skill, folder, environment.roots)
    return Skill(session.skill.partition("/")[0], folder, source, hidden)


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


def _verified_origin(source: str, address: str, folder: str, roots: Sequence[Root]) -> tuple[str, str]:
    """Return where a skill is from and its folder. What the session has stored about this is verified first.

    A definition may have come with a clone, and code in the user's own locations runs without approval. If it claims
    to be from one, its folder must exist there and must not be a link.
    """
    if source not in _SCOPES:
        return Scope.PROJECT.value, folder
    if source not in OWN_SCOPES or source == BUNDLED:
        return source, folder
    name, real = address.partition("/")[0], os.path.realpath(folder)
    own = [os.path.join(path, name) for scope, path in places(roots) if scope in OWN_SCOPES]
    mine = next((path for path in own if os.path.realpath(path) == real), None)
    return (Scope.PROJECT.value, folder) if mine is None else (source, mine)


def _hidden(address: str, folder: str, roots: Sequence[Root]) -> tuple[Skill, ...]:
    """Return the user's own skills and the bundled one of that name that the skill in *folder* hides.

    All of them count, even if another one is nearer now: the session continues with this folder.
    """
    name, real = address.partition("/")[0], os.path.realpath(folder)
    own = [Skill(name, os.path.join(path, name), source) for source, path in places(roots)]
    return tuple(
        skill
        for skill in own
        if skill.source in OWN_SCOPES
        and os.path.realpath(skill.folder) != real
        and skill_folder.entry_file(skill.folder, name) is not None
    )


def start_command(environment: Environment, address: str) -> Command:
    """Return the command that starts a session of a skill, with placeholders for its required parameters.

    An unknown skill is refused.
    """
    find(address, environment.roots)
    return Command(
        "step",
        address,
        new=True,
        params=_left_to_give(address, environment.loader),
        store=environment.shown_store,
    )


def _left_to_give(address: str, loader: Loader) -> dict[str, str]:
    """Return the required parameters of a workflow, each with a placeholder as its value."""
    try:
        params = loader.load(address).definition.params
    except FlowError:
        return {}
    return {name: "…" for name, arg in params.items() if arg.required}
