"""The workflow of an existing session: the definition that it keeps, or its files if they have changed.

With changed texts the session continues. With a changed graph it continues if the current step and its transitions
are the same, and says so. Any other change stops it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, StorageError
from flowrail.machines.definition.workflow import Workflow, from_plain, step_fingerprint, workflow_fingerprint
from flowrail.machines.loading import skill_folder
from flowrail.machines.sessions.session import Session
from flowrail.operations.environment import PROGRAM, OpenedWorkflow, World, kept_folder
from flowrail.text.phrases import listed

_SHAPE = {
    "source": str,
    "folder": str,
    "file": str,
    "texts": str,
    "files": dict,
    "functions": bool,
    "workflow": dict,
}


def open_session(world: World, session: Session) -> OpenedWorkflow:
    """Return the workflow of a session as it continues; `ChangedError` if it cannot."""
    kept = world.store.definition(session.id)
    opened = as_it_is(world, session, kept)
    return _compared(session, opened) if opened.changed or not kept["functions"] else opened


def is_there(kept: Mapping[str, object]) -> bool:
    """Return whether the workflow's file is still where a session found it."""
    if any(type(kept.get(key)) is not str for key in ("source", "folder", "file")):
        return False
    return os.path.lexists(os.path.join(kept_folder(kept), str(kept["file"])))


def as_it_is(world: World, session: Session, kept: Mapping[str, Any]) -> OpenedWorkflow:
    """Return the workflow of a session as its files are now, even if its current step has changed."""
    if any(type(kept.get(key)) is not kind for key, kind in _SHAPE.items()) or "\0" in kept["folder"]:
        raise _spoilt(session)
    is_program = kept["source"] == PROGRAM
    files = dict(kept["files"])
    now = files if is_program else skill_folder.digests(kept_folder(kept), files)
    if not kept["functions"] and session.skill not in (world.workflows if is_program else ()):
        if now == files:
            return OpenedWorkflow(_from_copy(session, kept), kept, session.source)
        if not any(now.values()):
            note = f"the skill's folder {kept_folder(kept)} is missing; the session continues from its copy"
            return OpenedWorkflow(_from_copy(session, kept), kept, session.source, (note,))
    opened: OpenedWorkflow | None = loading().open_again(world, session, kept, now)
    if opened is None:  # any other file of a folder that may run would be run too
        raise _spoilt(session)
    return opened


def loading() -> ModuleType:
    """Return what finds and reads the files of workflows."""
    from flowrail.operations.running import load_workflow  # brings PyYAML, and a report reads no workflow

    return load_workflow


def _from_copy(session: Session, kept: Mapping[str, Any]) -> Workflow:
    try:
        return from_plain(kept["workflow"]).located(kept_folder(kept) or None)
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
