"""A workflow made ready to run: found, allowed, loaded; and that of a session that goes on.

A session works from the definition it keeps. Only when the skill's files have other bytes than
then is anything loaded again, and the two are compared: other texts go on; another graph goes on
where it leaves the current step and its ways on alone, which is told; anything else stops.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowrail import trust
from flowrail.discovery.locations import Root
from flowrail.errors import ChangedError, DocumentError, FlowError, StorageError
from flowrail.machines import folder
from flowrail.machines.findings import WorkflowError
from flowrail.machines.fingerprint import graph_print, step_print
from flowrail.machines.plain import from_plain, has_functions, to_plain
from flowrail.machines.session import Session
from flowrail.machines.wording import listed
from flowrail.machines.workflow import Workflow
from flowrail.skills.catalog import BUNDLED, OWN_SCOPES, Found, bundled_folder, find, workflow_file

FORMAT = 1
_SHAPE = {
    "source": str,
    "folder": str,
    "file": str,
    "texts": str,
    "files": dict,
    "functions": bool,
    "workflow": dict,
}


class Opened(NamedTuple):
    """A workflow that may run, what a session keeps of it, and what is worth telling.

    ``changed`` says that ``kept`` is not what the session keeps so far.
    """

    workflow: Workflow
    kept: Mapping[str, Any]
    source: str
    notes: tuple[str, ...] = ()
    changed: bool = False


def open_skill(address: str, roots: Sequence[Root], state: str) -> Opened:
    """Return the workflow at *address*, loaded; refused where its code may not run."""
    found = find(address, roots)
    file = workflow_file(address, found)
    loaded = folder.run(file, _allowed(found, file, state))
    workflow = loaded.workflow()
    return Opened(workflow, _kept(workflow, loaded, file, found), found.source)


def open_session(session: Session, kept: Mapping[str, Any], roots: Sequence[Root], state: str) -> Opened:
    """Return the workflow of a session as it is to go on; `ChangedError` where it cannot."""
    if any(type(kept.get(key)) is not kind for key, kind in _SHAPE.items()):
        raise _spoilt(session)
    place = _folder_of(kept)
    path, files = str(kept["file"]), dict(kept["files"])
    now = folder.digests(place, files)
    functions = bool(kept["functions"])
    if not functions and (now == files or not any(now.values())):
        notes = (
            ()
            if now == files
            else (f"the skill's folder {place} is gone; the session goes on from its copy",)
        )
        return Opened(_from_copy(session, kept), kept, session.source, notes)
    found = Found(
        session.skill.partition("/")[0], place, str(kept["source"]), _hidden(session.skill, place, roots)
    )
    file = folder.WorkflowFile(session.skill, place, path, str(kept["texts"]))
    try:
        loaded = folder.run(file, _allowed(found, file, state))
        workflow = loaded.workflow()
    except (DocumentError, WorkflowError) as error:
        raise ChangedError(
            f"the workflow of session `{session.id}` can no longer be read: {error.message}",
            hint="put the file right, then repeat the command",
            session=session.id,
        ) from None
    if now == files:
        return Opened(workflow, kept, session.source)
    return _compared(session, workflow, _kept(workflow, loaded, file, found), found)


def _from_copy(session: Session, kept: Mapping[str, Any]) -> Workflow:
    try:
        return from_plain(kept["workflow"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _spoilt(session) from None


def _spoilt(session: Session) -> StorageError:
    return StorageError(
        f"what session `{session.id}` keeps of its workflow is damaged",
        hint=f"`flow migrate {session.id}` writes it anew",
        session=session.id,
    )


def _compared(session: Session, workflow: Workflow, kept: Mapping[str, Any], found: Found) -> Opened:
    if graph_print(workflow) == session.graph:
        return Opened(workflow, kept, found.source, (), changed=True)
    if session.step is None or (
        session.step in workflow and step_print(workflow, session.step) == session.here
    ):
        note = f"the workflow `{session.skill}` changed elsewhere; this step and its ways on are as they were"
        return Opened(workflow, kept, found.source, (note,), changed=True)
    raise changed_under(session, workflow)


def changed_under(session: Session, workflow: Workflow) -> ChangedError:
    """Return the refusal that says what became of the step that *session* stands at."""
    if session.step not in workflow:
        gone = [step for step in session.visits if step not in workflow]
        what = f"step `{session.step}`, where session `{session.id}` stands, is gone from the workflow"
        hint = f"say which step it is now: flow migrate {session.id} --map {session.step}=STEP"
    else:
        gone = []
        what = f"the ways on from step `{session.step}`, where session `{session.id}` stands, are others now"
        hint = f"look at what changed: flow migrate {session.id} --plan"
    others = f" (also gone: {listed(each for each in gone if each != session.step)})" if len(gone) > 1 else ""
    return ChangedError(
        what + others,
        hint=hint,
        session=session.id,
        step=session.step,
        gone=gone,
        steps=[step.id for step in workflow.steps],
    )


def _kept(
    workflow: Workflow, loaded: folder.Loaded, file: folder.WorkflowFile, found: Found
) -> dict[str, Any]:
    bundled = found.source == BUNDLED
    return {
        "format": FORMAT,
        "skill": file.address,
        "source": found.source,
        "folder": found.name if bundled else os.path.abspath(found.folder),
        "file": file.path,
        "texts": file.text_folder,
        "files": dict(loaded.files),
        "functions": has_functions(workflow),
        "workflow": to_plain(workflow),
    }


def _folder_of(kept: Mapping[str, Any]) -> str:
    name = str(kept["folder"])
    return os.path.join(bundled_folder(), os.path.basename(name)) if kept["source"] == BUNDLED else name


def _allowed(found: Found, file: folder.WorkflowFile, state: str) -> Mapping[str, bytes] | None:
    """Return the folder's content where running it has to be allowed, `None` where it need not."""
    if found.source in OWN_SCOPES:
        return None
    if file.is_python:
        why = "is Python code of this project"
    elif found.hides_own:
        why = f"of this project stands in front of your own at {found.hides[-1][1]}"
    else:
        return None
    return trust.require(found.folder, state, skill=found.name, why=why).contents


def _hidden(address: str, place: str, roots: Sequence[Root]) -> tuple[tuple[str, str], ...]:
    try:
        found = find(address, roots)
    except FlowError:
        return ()
    return found.hides if os.path.realpath(found.folder) == os.path.realpath(place) else ()
