"""Find the files of a workflow, check that they may run, and load them: for a new session, or for one whose files changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import BUNDLED, Root, Scope
from flowrail.errors import ChangedError, DocumentError
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.machines.definition.workflow import Workflow, has_functions, to_plain
from flowrail.machines.loading import run_python, skill_folder
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.sessions.session import DEFINITION_FORMAT, Session
from flowrail.operations.environment import PROGRAM, Environment, OpenedWorkflow, World, kept_folder
from flowrail.skills.bundled_copies import BundledCopy, in_few_words, of_bundled
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

_SCOPES = frozenset(scope.value for scope in Scope)


def open_skill(address: str, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    """Return the loaded workflow at *address*; refuse it if its code may not run."""
    found = find(address, roots)
    return _opened(found, workflow_file(address, found), roots, state)


def open_folder(folder: str, roots: Sequence[Root], state: str, *, address: str = "") -> OpenedWorkflow:
    """Return the workflow at *address* in the skill's *folder*, by default the entry workflow.

    *roots* say where the folder belongs; otherwise it counts as a project's.
    """
    found = skill_in(folder, roots)
    return _opened(found, workflow_file(address or found.name, found), roots, state)


def skill_in(folder: str, roots: Sequence[Root]) -> Skill:
    """Return the skill in *folder*, with the location that *roots* give it."""
    parent, name = os.path.split(os.path.abspath(folder))
    real = os.path.realpath(parent)
    same = [root for root in roots if os.path.realpath(root.path) == real]
    others = [root for root in roots if root not in same]
    found = find(name, [*(same or [Root(parent, Scope.EXTRA, "")]), *others])
    if os.path.realpath(found.folder) != os.path.join(real, name):
        raise UnknownSkillError(
            f"{folder} contains no workflow",
            hint=Hint("add a workflow.yaml or a workflow.py; see all problems: ", Command("check", folder)),
            folder=folder,
        )
    return found


def _opened(found: Skill, file: WorkflowFile, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    loaded = run_allowed(found, file, roots, state)
    workflow = _with_resources(loaded.definition, roots, state)
    return OpenedWorkflow(workflow, _kept_of_skill(workflow, loaded, file, found), found.source)


def of_program(workflow: Workflow, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    """Return a workflow of the calling Python program."""
    kept = _kept(workflow, skill=workflow.name, source=PROGRAM, folder="", file="", texts="", files={})
    return OpenedWorkflow(_with_resources(workflow, roots, state), kept, PROGRAM)


def _with_resources(workflow: Workflow, roots: Sequence[Root], state: str) -> Workflow:
    """Return *workflow* with the resources that its functions can read through `ctx.resources`."""
    if workflow.provider is not None or not has_functions(workflow):
        return workflow
    environment = Environment()
    folders = () if workflow.folder is None else (workflow.folder,)
    resources = skill_folder.FolderResources(
        project=environment.project,
        resources=[os.path.join(folder, "resources") for folder in folders],
        conventions=[
            *(os.path.join(folder, "conventions") for folder in folders),
            *environment.conventions,
        ],
        workflow=lambda address: open_skill(address, roots, state).workflow,
    )
    return workflow.located(workflow.folder, resources)


def open_beside(world: World, address: str, session: Session, kept: Mapping[str, object]) -> OpenedWorkflow:
    """Return the workflow that an agent of *session* must run, in any folder.

    A workflow of the same skill comes from the session's own skill folder. Another one is searched
    beside that folder first.
    """
    roots, state = world.roots, world.state
    if address in world.workflows:
        return of_program(world.workflows[address], roots, state)
    if kept["source"] == PROGRAM:
        return open_skill(address, roots, state)
    name = address.partition("/")[0]
    source, place = _believed(str(kept["source"]), session.skill, kept_folder(kept), roots)
    if name == session.skill.partition("/")[0]:
        found = Skill(name, place, source, _hidden(session.skill, place, roots))
    else:
        beside = [] if source == BUNDLED else [Root(os.path.dirname(place), Scope(source), place)]
        found = find(address, [*beside, *roots])
    return _opened(found, workflow_file(address, found), roots, state)


def open_again(
    world: World, session: Session, kept: Mapping[str, Any], now: Mapping[str, str]
) -> OpenedWorkflow | None:
    """Return the workflow of a session from its files; `None` if its skill does not have that workflow.

    *now* are the digests of the files that the session knows.
    """
    roots, state = world.roots, world.state
    if kept["source"] == PROGRAM:
        if session.skill not in world.workflows:
            raise ChangedError(
                f"session `{session.id}` runs functions of the Python program that started it",
                hint="continue it in that program, or move the workflow into a skill's workflow.py",
                session=session.id,
            )
        opened = of_program(world.workflows[session.skill], roots, state)
        return opened._replace(changed=opened.kept != kept)
    place = kept_folder(kept)
    if not os.path.lexists(place):
        what = f"the skill's folder {place} is missing, and session `{session.id}` runs code from it"
        hint = Hint("restore the folder, or end the session: ", Command("session abandon", session.id))
        raise ChangedError(what, hint=hint, session=session.id)
    source, place = _believed(str(kept["source"]), session.skill, place, roots)
    found = Skill(session.skill.partition("/")[0], place, source, _hidden(session.skill, place, roots))
    file = skill_folder.file_at(place, session.skill, str(kept["file"]))
    if file is None:
        return None
    loaded = run_allowed(found, file, roots, state, session=session.id)
    workflow = _with_resources(loaded.definition, roots, state)
    if now == kept["files"] and file.path == kept["file"]:
        return OpenedWorkflow(workflow, kept, session.source)
    renewed = _kept_of_skill(workflow, loaded, file, found)
    return OpenedWorkflow(workflow, renewed, found.source, (), changed=True)


def _kept(workflow: Workflow, **origin: object) -> dict[str, object]:
    """Return what a session keeps of *workflow*, given its origin: skill, source, folder and files."""
    return {
        "format": DEFINITION_FORMAT,
        **origin,
        "functions": has_functions(workflow),
        "workflow": to_plain(workflow),
    }


def _kept_of_skill(
    workflow: Workflow, loaded: LoadedWorkflow, file: WorkflowFile, found: Skill
) -> dict[str, object]:
    return _kept(
        workflow,
        skill=file.address,
        source=found.source,
        folder=found.name if found.source == BUNDLED else os.path.abspath(found.folder),
        file=file.path,
        texts=file.text_folder,
        files=loaded.digests,
    )


def _believed(source: str, address: str, place: str, roots: Sequence[Root]) -> tuple[str, str]:
    """Return where a skill is from and its folder. What a session says about this is checked, not believed.

    A definition may have come with a clone, and code in the user's own locations runs without approval. If it claims
    to be from one, the folder must really be there, and not be a link.
    """
    if source not in _SCOPES:
        return Scope.PROJECT.value, place
    if source not in OWN_SCOPES or source == BUNDLED:
        return source, place
    name, real = address.partition("/")[0], os.path.realpath(place)
    own = [os.path.join(path, name) for scope, path in places(roots) if scope in OWN_SCOPES]
    mine = next((each for each in own if os.path.realpath(each) == real), None)
    return (Scope.PROJECT.value, place) if mine is None else (source, mine)


def _hidden(address: str, place: str, roots: Sequence[Root]) -> tuple[tuple[str, str], ...]:
    """Return the user's own skills and the bundled one of that name that *place* hides.

    All of them count, even if another one is nearer by now: the session continues with this folder.
    """
    name, real = address.partition("/")[0], os.path.realpath(place)
    if not WORKFLOW_NAME.match(name):
        return ()
    own = [(source, os.path.join(path, name)) for source, path in places(roots) if source in OWN_SCOPES]
    return tuple(
        (source, path)
        for source, path in own
        if os.path.realpath(path) != real and skill_folder.entry_file(path, name) is not None
    )


def run_allowed(
    found: Skill, file: WorkflowFile, roots: Sequence[Root], state: str, *, session: str = ""
) -> LoadedWorkflow:
    """Return the validated workflow in *file*, ready to run; refuse it if its code may not run.

    `ChangedError` if it has errors and the *session* with that id runs it already.
    """
    try:
        contents = allowed_contents(found, file, roots, state)
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
    found: Skill, file: WorkflowFile, roots: Sequence[Root], state: str
) -> Mapping[str, bytes] | None:
    """Return the folder's content if running it needs approval, otherwise `None`."""
    tried = file.is_python and is_tried(found.folder, roots)  # it held none when it was looked at
    if found.source in OWN_SCOPES and not tried:
        return None
    root = os.path.dirname(found.folder) if tried else named_root(found)
    if file.is_python:
        why = "contains Python code"
        return approval.require(found.folder, state, skill=found.name, why=why, root=root).contents
    if not found.hides_own:
        return None
    copy = of_bundled(found)
    if copy is not None and copy.same:
        return copy.content.contents
    why, instead = _why_not(found, copy)
    now = None if copy is None else copy.content
    return approval.require(
        found.folder, state, skill=found.name, why=why, instead=instead, root=root, content=now
    ).contents


def _why_not(found: Skill, copy: BundledCopy | None) -> tuple[str, str | Hint]:
    """Return why a project's skill needs approval, and what to do instead of approving it."""
    if copy is None:
        return f"of this project overrides your own at {found.hides[-1][1]}", ""
    again = Command("install", found.name, to=os.path.realpath(os.path.dirname(found.folder)))
    what = "of this project overrides the bundled one and differs from it"
    changes = in_few_words(copy.changes)
    if copy.installed is not None:
        said = f"{what}, installed by flowrail {copy.installed} as its list says: {changes}"
        return said, Hint("bring it up to date: ", again)
    return f"{what}: {changes}", Hint("or undo the change: ", again.with_options(force=True))


def start_command(world: World, address: str) -> Command:
    """Return the command that starts a session of a skill, its required parameters left open; refuse an unknown one."""
    find(address, world.roots)
    return Command("start", address, params=left_to_give(address, world.roots), store=world.shown_store)
