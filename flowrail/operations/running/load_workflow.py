"""Find the files of a workflow, check that they may run, and load them: for a new session, or for one whose files changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope
from flowrail.errors import ChangedError, DocumentError
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.definition.workflow import Workflow, has_functions, to_plain
from flowrail.machines.loading import run_python, skill_folder
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.sessions.record import StoredDefinition
from flowrail.machines.sessions.session import Session
from flowrail.operations.environment import PROGRAM, Environment, OpenedWorkflow, World, definition_folder
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
from flowrail.skills.summary import left_to_give
from flowrail.text.phrases import joined

_SCOPES = frozenset(scope.value for scope in Scope)


def open_skill(address: str, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    """Return the loaded workflow at *address*; refuse it if its code may not run."""
    skill = find(address, roots)
    return _opened(skill, workflow_file(address, skill), roots, state)


def open_folder(folder: str, roots: Sequence[Root], state: str, *, address: str = "") -> OpenedWorkflow:
    """Return the workflow at *address* in the skill's *folder*, by default the entry workflow.

    *roots* say where the folder belongs; otherwise it counts as a project's.
    """
    skill = skill_in(folder, roots)
    return _opened(skill, workflow_file(address or skill.name, skill), roots, state)


def skill_in(folder: str, roots: Sequence[Root]) -> Skill:
    """Return the skill in *folder*, with the location that *roots* give it."""
    parent, name = os.path.split(os.path.abspath(folder))
    real = os.path.realpath(parent)
    same = [root for root in roots if os.path.realpath(root.path) == real]
    others = [root for root in roots if root not in same]
    skill = find(name, [*(same or [Root(parent, Scope.EXTRA, "")]), *others])
    if os.path.realpath(skill.folder) != os.path.join(real, name):
        raise UnknownSkillError(
            f"{folder} contains no workflow",
            hint=Hint("add a workflow.yaml or a workflow.py; see all problems: ", Command("check", folder)),
            folder=folder,
        )
    return skill


def _opened(skill: Skill, file: WorkflowFile, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    loaded = run_allowed(skill, file, roots, state)
    workflow = _with_resources(loaded.definition, roots, state)
    return OpenedWorkflow(workflow, _skill_definition(workflow, loaded, file, skill), skill.source)


def of_program(workflow: Workflow, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    """Return a workflow of the calling Python program."""
    definition = StoredDefinition(
        workflow.name, PROGRAM, "", "", {}, has_functions(workflow), to_plain(workflow)
    )
    return OpenedWorkflow(_with_resources(workflow, roots, state), definition, PROGRAM)


def _with_resources(workflow: Workflow, roots: Sequence[Root], state: str) -> Workflow:
    """Return *workflow* with the resources that its functions can read through `ctx.resources`."""
    if workflow.provider is not None or not has_functions(workflow):
        return workflow
    environment = Environment()
    folders = () if workflow.folder is None else (workflow.folder,)
    resources = skill_folder.ResourceProvider(
        project=environment.project,
        resources=[os.path.join(folder, "resources") for folder in folders],
        conventions=[
            *(os.path.join(folder, "conventions") for folder in folders),
            *environment.conventions,
        ],
        workflow=lambda address: open_skill(address, roots, state).workflow,
    )
    return workflow.located(workflow.folder, resources)


def open_beside(world: World, address: str, session: Session, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow that an agent of *session* must run, in any folder.

    A workflow of the same skill comes from the session's own skill folder. Another one is searched
    beside that folder first.
    """
    roots, state = world.roots, world.state
    if address in world.workflows:
        return of_program(world.workflows[address], roots, state)
    if definition.source == PROGRAM:
        return open_skill(address, roots, state)
    name = address.partition("/")[0]
    source, folder = _verified_origin(definition.source, session.skill, definition_folder(definition), roots)
    if name == session.skill.partition("/")[0]:
        skill = Skill(name, folder, source, _hidden(session.skill, folder, roots))
    else:
        beside = [] if source == BUNDLED else [Root(os.path.dirname(folder), Scope(source), folder)]
        skill = find(address, [*beside, *roots])
    return _opened(skill, workflow_file(address, skill), roots, state)


def open_again(
    world: World, session: Session, definition: StoredDefinition, now: Mapping[str, str]
) -> OpenedWorkflow:
    """Return the workflow of a session from its files.

    *now* are the digests of the files that the session knows.
    """
    roots, state = world.roots, world.state
    if definition.source == PROGRAM:
        if session.skill not in world.workflows:
            raise ChangedError(
                f"session `{session.id}` runs functions of the Python program that started it",
                hint="continue it in that program, or move the workflow into a skill's workflow.py",
                session=session.id,
            )
        opened = of_program(world.workflows[session.skill], roots, state)
        return opened._replace(changed=opened.definition != definition)
    folder = definition_folder(definition)
    if not os.path.lexists(folder):
        message = f"the skill's folder {folder} is missing, and session `{session.id}` runs code from it"
        hint = Hint("restore the folder, or end the session: ", Command("session abandon", session.id))
        raise ChangedError(message, hint=hint, session=session.id)
    source, folder = _verified_origin(definition.source, session.skill, folder, roots)
    skill = Skill(session.skill.partition("/")[0], folder, source, _hidden(session.skill, folder, roots))
    file = skill_folder.file_at(folder, session.skill, definition.file)
    if file is None:  # no other file of the folder may be run instead
        raise ChangedError(
            f"{folder} has no workflow `{session.skill}`, and session `{session.id}` runs code from it",
            hint=Hint("restore the file, or end the session: ", Command("session abandon", session.id)),
            session=session.id,
        )
    loaded = run_allowed(skill, file, roots, state, session=session.id)
    workflow = _with_resources(loaded.definition, roots, state)
    if now == definition.files and file.path == definition.file:
        return OpenedWorkflow(workflow, definition, session.source)
    renewed = _skill_definition(workflow, loaded, file, skill)
    return OpenedWorkflow(workflow, renewed, skill.source, (), changed=True)


def _skill_definition(
    workflow: Workflow, loaded: LoadedWorkflow, file: WorkflowFile, skill: Skill
) -> StoredDefinition:
    return StoredDefinition(
        skill=file.address,
        source=skill.source,
        folder=skill.name if skill.source == BUNDLED else os.path.abspath(skill.folder),
        file=file.path,
        files=loaded.digests,
        functions=has_functions(workflow),
        workflow=to_plain(workflow),
    )


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


def _hidden(address: str, folder: str, roots: Sequence[Root]) -> tuple[tuple[str, str], ...]:
    """Return the user's own skills and the bundled one of that name that *place* hides.

    All of them count, even if another one is nearer now: the session continues with this folder.
    """
    name, real = address.partition("/")[0], os.path.realpath(folder)
    own = [(source, os.path.join(path, name)) for source, path in places(roots) if source in OWN_SCOPES]
    return tuple(
        (source, path)
        for source, path in own
        if os.path.realpath(path) != real and skill_folder.entry_file(path, name) is not None
    )


def run_allowed(
    skill: Skill, file: WorkflowFile, roots: Sequence[Root], state: str, *, session: str = ""
) -> LoadedWorkflow:
    """Return the validated workflow in *file*, ready to run; refuse it if its code may not run.

    `ChangedError` if it has errors and the *session* with that id runs it already.
    """
    try:
        contents = allowed_contents(skill, file, roots, state)
        loaded = run_python.run(file, contents, convention=Environment().convention)
        loaded.workflow()
    except (DocumentError, WorkflowError) as error:
        if not session:
            raise
        raise ChangedError(
            f"the workflow of session `{session}` cannot be read: {error.message}",
            hint="fix the file, then run the command again",
            session=session,
        ) from None
    return loaded


def allowed_contents(
    skill: Skill, file: WorkflowFile, roots: Sequence[Root], state: str
) -> Mapping[str, bytes] | None:
    """Return the folder's content if running it needs approval, otherwise `None`."""
    tried = file.is_python and is_tried(
        skill.folder, roots
    )  # a named location counts as the user's own except for code
    if skill.source in OWN_SCOPES and not tried:
        return None
    root = os.path.dirname(skill.folder) if tried else named_root(skill)
    if file.is_python:
        why = "contains Python code"
        return approval.require(skill.folder, state, skill=skill.name, why=why, root=root).contents
    if not skill.hides_own:
        return None
    copy = of_bundled(skill)
    if copy is not None and not copy.changes:
        return copy.content.contents
    why, instead = _why_not(skill, copy)
    now = None if copy is None else copy.content
    return approval.require(
        skill.folder, state, skill=skill.name, why=why, instead=instead, root=root, content=now
    ).contents


def _why_not(skill: Skill, copy: BundledCopy | None) -> tuple[str, str | Hint]:
    """Return why a project's skill needs approval, and an alternative to approving it."""
    if copy is None:
        return f"of this project overrides your own at {skill.hides[-1][1]}", ""
    why = f"of this project overrides the bundled one and differs from it: {joined(copy.changes)}"
    folder = os.path.realpath(os.path.dirname(skill.folder))
    return why, Hint("or replace it: ", Command("install", skill.name, to=folder, force=True))


def start_command(world: World, address: str) -> Command:
    """Return the command that starts a session of a skill, with placeholders for its required parameters.

    An unknown skill is refused.
    """
    find(address, world.roots)
    return Command("start", address, params=left_to_give(address, world.roots), store=world.shown_store)
