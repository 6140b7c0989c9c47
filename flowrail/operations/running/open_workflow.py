"""Find, approve and load a workflow, for a new session or an existing one.

A session uses the definition that it keeps. If the skill's files have changed, they are loaded again and compared.
With changed texts the session continues. With a changed graph it continues if the current step and its transitions
are the same, and says so. Any other change stops it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.locations import Root, Scope
from flowrail.errors import ChangedError, FlowError, StorageError, TrustError
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.machines.definition.workflow import (
    Workflow,
    from_plain,
    has_functions,
    step_fingerprint,
    to_plain,
    workflow_fingerprint,
)
from flowrail.machines.loading import skill_folder
from flowrail.machines.sessions.session import DEFINITION_FORMAT, Session
from flowrail.operations.environment import Environment, World
from flowrail.skills.catalog import (
    BUNDLED,
    OWN_SCOPES,
    Skill,
    UnknownSkillError,
    bundled_folder,
    find,
    places,
    workflow_file,
)
from flowrail.text.phrases import listed

if TYPE_CHECKING:
    from flowrail.machines.loading.workflow_source import LoadedWorkflow

PROGRAM = "library"
"""The source of a workflow that a Python program defined, not a skill's folder."""
_SCOPES = frozenset(scope.value for scope in Scope)
_SHAPE = {
    "source": str,
    "folder": str,
    "file": str,
    "texts": str,
    "files": dict,
    "functions": bool,
    "workflow": dict,
}


class OpenedWorkflow(NamedTuple):
    """A workflow that may run, its stored form, and notes for the user.

    ``changed`` is true if ``kept`` differs from what the session has stored.
    """

    workflow: Workflow
    kept: Mapping[str, Any]
    source: str
    notes: tuple[str, ...] = ()
    changed: bool = False

    @property
    def folder(self) -> str:
        """The skill's folder; empty if a Python program defined the workflow."""
        return "" if self.source == PROGRAM else _folder_of(self.kept)

    @property
    def named_root(self) -> str:
        """The location to name for a skill that is not found otherwise; empty if it is."""
        return os.path.dirname(_folder_of(self.kept)) if self.source == Scope.EXTRA.value else ""


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


def _opened(
    found: Skill, file: skill_folder.WorkflowFile, roots: Sequence[Root], state: str
) -> OpenedWorkflow:
    loaded = _run(found, file, roots, state)
    workflow = _with_resources(loaded.definition, roots, state)
    return OpenedWorkflow(workflow, _kept(workflow, loaded, file, found), found.source)


def _run(
    found: Skill, file: skill_folder.WorkflowFile, roots: Sequence[Root], state: str, session: str = ""
) -> LoadedWorkflow:
    # brings PyYAML; a report reads no workflow
    from flowrail.operations.running.permission import run_allowed

    return run_allowed(found, file, roots, state, session=session)


def of_program(workflow: Workflow, roots: Sequence[Root], state: str) -> OpenedWorkflow:
    """Return a workflow of the calling Python program."""
    return OpenedWorkflow(_with_resources(workflow, roots, state), _kept_of_program(workflow), PROGRAM)


def _with_resources(workflow: Workflow, roots: Sequence[Root], state: str) -> Workflow:
    """Return *workflow* with the resources that its functions can read through `ctx.resources`."""
    if workflow.provider is not None or not has_functions(workflow):
        return workflow
    environment = Environment()
    skill = () if workflow.folder is None else (workflow.folder,)
    resources = skill_folder.FolderResources(
        project=environment.project,
        resources=[os.path.join(folder, "resources") for folder in skill],
        conventions=[
            *(os.path.join(folder, "conventions") for folder in skill),
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
    source, place = _believed(str(kept["source"]), session.skill, _folder_of(kept), roots)
    if name == session.skill.partition("/")[0]:
        found = Skill(name, place, source, _hidden(session.skill, place, roots))
    else:
        found = find(address, [*_beside(place, source), *roots])
    try:
        file = workflow_file(address, found)
    except UnknownSkillError as error:  # it was there when the work was handed out
        error.hint = f"restore the workflow in {found.folder}, then run the command again"
        raise
    return _opened(found, file, roots, state)


def open_session(world: World, session: Session) -> OpenedWorkflow:
    """Return the workflow of a session as it continues; `ChangedError` if it cannot."""
    kept = world.store.definition(session.id)
    opened = as_it_is(world, session, kept)
    return _compared(session, opened) if opened.changed or not kept["functions"] else opened


def is_there(kept: Mapping[str, object]) -> bool:
    """Return whether the workflow's file is still where a session found it."""
    if any(type(kept.get(key)) is not str for key in ("source", "folder", "file")):
        return False
    return os.path.lexists(os.path.join(_folder_of(kept), str(kept["file"])))


def as_it_is(world: World, session: Session, kept: Mapping[str, Any]) -> OpenedWorkflow:
    """Return the workflow of a session as its files are now, even if its current step has changed."""
    roots, state = world.roots, world.state
    if any(type(kept.get(key)) is not kind for key, kind in _SHAPE.items()) or "\0" in kept["folder"]:
        raise _spoilt(session)
    if kept["source"] == PROGRAM:
        return _of_program_as_it_is(world, session, kept)
    place = _folder_of(kept)
    path, files = str(kept["file"]), dict(kept["files"])
    now = skill_folder.digests(place, files)
    functions = bool(kept["functions"])
    if not functions and (now == files or not any(now.values())):
        notes = (
            ()
            if now == files
            else (f"the skill's folder {place} is missing; the session continues from its copy",)
        )
        return OpenedWorkflow(_from_copy(session, kept), kept, session.source, notes)
    if not os.path.lexists(place):
        what = f"the skill's folder {place} is missing, and session `{session.id}` runs code from it"
        hint = Hint("restore the folder, or end the session: ", Command("session abandon", session.id))
        raise ChangedError(what, hint=hint, session=session.id)
    source, place = _believed(str(kept["source"]), session.skill, place, roots)
    found = Skill(session.skill.partition("/")[0], place, source, _hidden(session.skill, place, roots))
    file = skill_folder.file_at(place, session.skill, path)
    if file is None:  # any other file of a folder that may run would be run too
        raise _spoilt(session)
    try:
        loaded = _run(found, file, roots, state, session.id)
    except TrustError as error:
        error.hint = _of_that_folder(error.hint, session.skill, place, roots)
        raise
    workflow = _with_resources(loaded.definition, roots, state)
    if now == files and file.path == path:
        return OpenedWorkflow(workflow, kept, session.source)
    return OpenedWorkflow(workflow, _kept(workflow, loaded, file, found), found.source, (), changed=True)


def _of_program_as_it_is(world: World, session: Session, kept: Mapping[str, object]) -> OpenedWorkflow:
    """Return the program's workflow; a workflow without functions also continues without the program."""
    workflow = world.workflows.get(session.skill)
    if workflow is not None:
        opened = of_program(workflow, world.roots, world.state)
        return opened._replace(changed=opened.kept != kept)
    if not kept["functions"]:
        return OpenedWorkflow(_from_copy(session, kept), kept, PROGRAM)
    raise ChangedError(
        f"session `{session.id}` runs functions of the Python program that started it",
        hint="continue it in that program, or move the workflow into a skill's workflow.py",
        session=session.id,
    )


def _kept_of_program(workflow: Workflow) -> dict[str, object]:
    return {
        "format": DEFINITION_FORMAT,
        "skill": workflow.name,
        "source": PROGRAM,
        "folder": "",
        "file": "",
        "texts": "",
        "files": {},
        "functions": has_functions(workflow),
        "workflow": to_plain(workflow),
    }


def _from_copy(session: Session, kept: Mapping[str, Any]) -> Workflow:
    try:
        return from_plain(kept["workflow"]).located(_folder_of(kept) or None)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _spoilt(session) from None


def _spoilt(session: Session) -> StorageError:
    return StorageError(
        f"the workflow copy in session `{session.id}` is damaged",
        hint=Hint("write it again: ", Command("session migrate", session.id)),
        session=session.id,
    )


def _compared(session: Session, opened: OpenedWorkflow) -> OpenedWorkflow:
    workflow = opened.workflow
    if workflow_fingerprint(workflow) == session.workflow_fingerprint:
        return opened
    if session.step is None or (
        session.step in workflow and step_fingerprint(workflow, session.step) == session.step_fingerprint
    ):
        note = f"the workflow `{session.skill}` changed elsewhere; this step and its transitions are the same"
        return opened._replace(notes=(*opened.notes, note))
    raise changed_under(session, workflow)


def changed_under(session: Session, workflow: Workflow) -> ChangedError:
    """Return the refusal that says how the current step of *session* has changed."""
    if session.step not in workflow:
        gone = [step for step in session.visits if step not in workflow]
        what = f"the workflow no longer has step `{session.step}`, the current step of session `{session.id}`"
        renamed = Command("session migrate", session.id, map={str(session.step): "STEP"})
        hint = Hint("choose the new step: ", renamed)
    else:
        gone = []
        what = f"the transitions of step `{session.step}`, the current step of session `{session.id}`, have changed"
        hint = Hint("see the changes: ", Command("session migrate", session.id, plan=True))
    others = (
        f" (also removed: {listed(each for each in gone if each != session.step)})" if len(gone) > 1 else ""
    )
    return ChangedError(
        what + others,
        hint=hint,
        session=session.id,
        step=session.step,
        gone=gone,
        steps=[step.id for step in workflow.steps],
    )


def _kept(
    workflow: Workflow, loaded: LoadedWorkflow, file: skill_folder.WorkflowFile, found: Skill
) -> dict[str, object]:
    bundled = found.source == BUNDLED
    return {
        "format": DEFINITION_FORMAT,
        "skill": file.address,
        "source": found.source,
        "folder": found.name if bundled else os.path.abspath(found.folder),
        "file": file.path,
        "texts": file.text_folder,
        "files": loaded.digests,
        "functions": has_functions(workflow),
        "workflow": to_plain(workflow),
    }


def _folder_of(kept: Mapping[str, object]) -> str:
    name = str(kept["folder"])
    return os.path.join(bundled_folder(), os.path.basename(name)) if kept["source"] == BUNDLED else name


def _of_that_folder(hint: str | Hint, address: str, place: str, roots: Sequence[Root]) -> str | Hint:
    """Return *hint*. If a nearer folder has the same name, so that `flow skill trust` would mean that one, say so first."""
    try:
        nearest = find(address, roots).folder
    except FlowError:
        return hint
    if os.path.realpath(nearest) == os.path.realpath(place):
        return hint
    return Hint(f"the session runs {place}, but {nearest} is closer: move that away, then ", hint)


def _beside(place: str, source: str) -> list[Root]:
    """Return the folder that contains the skill at *place*; other skills are searched there first."""
    return [] if source == BUNDLED else [Root(os.path.dirname(place), Scope(source), place)]


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
