"""The files of a session beside its journal: the definition of its workflow, and its working files.

A session uses its stored definition. If the skill's files have changed, they are loaded again and compared. With
changed texts the session continues. With a changed graph it continues if the current step and its transitions are the
same, and says so. Any other change stops it.

Working files are in the session's own folder. A printed path works from the project root.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from stat import S_ISREG

from flowrail.command import Command, Hint
from flowrail.discovery.project_root import find_project_root
from flowrail.errors import ChangedError, FlowError
from flowrail.machines.definition.plain_form import step_fingerprint, workflow_fingerprint
from flowrail.machines.guidance.guide import now_at
from flowrail.machines.loading import skill_folder
from flowrail.machines.sessions.record import StoredDefinition
from flowrail.machines.sessions.session import WORK, Session, WorkingFile
from flowrail.operations.environment import PROGRAM, Environment, OpenedWorkflow, definition_folder
from flowrail.operations.running import load_workflow
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text.safe_text import one_line

MOST_LISTED = 50
"""At most this many working files are listed, those changed last."""
MOST_BYTES = 16_000_000
"""Working files that are larger together have no digest."""
_STORE = ".flow"


def open_session(environment: Environment, session: Session) -> OpenedWorkflow:
    """Return the workflow of a session as it continues; `ChangedError` if it cannot."""
    definition = environment.store.definition(session)
    opened = as_it_is(environment, session, definition)
    return _compared(session, opened) if opened.changed or not definition.functions else opened


def file_exists(definition: StoredDefinition) -> bool:
    """Return whether the workflow's file still exists at its stored path."""
    return os.path.lexists(os.path.join(definition_folder(definition), definition.file))


def as_it_is(environment: Environment, session: Session, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow of a session as its files are now, even if its current step has changed."""
    is_program, folder = definition.source == PROGRAM, definition_folder(definition)
    known = definition.files
    now = known if is_program else skill_folder.digests(folder, known)
    if not definition.functions and session.skill not in (environment.workflows if is_program else ()):
        notes = (
            ()
            if now == known
            else (f"the skill's folder {folder} is missing; the session continues from its copy",)
        )
        if now == known or not any(now.values()):
            stored = environment.store.workflow(session, definition).located(folder or None)
            return OpenedWorkflow(stored, definition, session.source, notes)
    return load_workflow.open_again(environment, session, definition, now)


def _compared(session: Session, opened: OpenedWorkflow) -> OpenedWorkflow:
    """Return *opened* with a note if it changed elsewhere; refuse it if the current step changed."""
    workflow, step = opened.workflow, session.step
    if workflow_fingerprint(workflow) == session.workflow_fingerprint:
        return opened
    if step is None or (step in workflow and step_fingerprint(workflow, step) == session.step_fingerprint):
        note = f"the workflow `{session.skill}` changed elsewhere; this step and its transitions are the same"
        return opened._replace(notes=(*opened.notes, note))
    gone = [name for name in session.visits if name not in workflow] if step not in workflow else []
    if gone:
        message = f"the workflow no longer has step `{step}`, the current step of session `{session.id}`"
        renamed = Command("session migrate", session.id, map={step: "STEP"})
        hint = Hint("choose the new step: ", renamed)
    else:
        message = (
            f"the transitions of step `{step}`, the current step of session `{session.id}`, have changed"
        )
        hint = Hint("see the changes: ", Command("session migrate", session.id, plan=True))
    steps = [declared.id for declared in workflow.steps]
    raise ChangedError(message, hint=hint, session=session.id, step=step, gone=gone, steps=steps)


def on_this_machine(environment: Environment, session: Session) -> Session:
    """Return a new session with its machine and project, if its records may be elsewhere than its files.

    A sub-agent's session, and a copy, have the project of the session that they come from.
    """
    if not environment.store.is_database and os.path.basename(environment.store.path) == _STORE:
        return session
    project = session.project if os.path.isdir(session.project) else os.path.realpath(project_of(environment))
    return replace(
        session, work_machine=os.uname().nodename if environment.store.is_database else "", project=project
    )


def with_digest(environment: Environment, session: Session) -> Session:
    """Return a session in a database with the digest of its working files, if this machine has them.

    Files that were copied from the machine that had them belong to this machine from then on.
    """
    if not environment.store.is_database:
        return session
    machine, digest = os.uname().nodename, _digest(path_of(environment, session))
    if session.work_machine == machine:
        return replace(session, work_digest=digest)
    is_copy = bool(digest) and digest == session.work_digest
    return replace(session, work_machine=machine) if is_copy else session


def elsewhere(environment: Environment, session: Session) -> tuple[str, ...]:
    """Return a note about the working files if another machine has them and they were not copied."""
    if session.work_machine in {"", os.uname().nodename}:
        return ()
    digest = _digest(path_of(environment, session))
    if digest and digest == session.work_digest:
        return ()
    machine, folder = one_line(session.work_machine), one_line(session.work_folder)
    note = f"the working files of this session are on {machine}, in {folder}; "
    if digest and session.work_digest:
        return (f"{note}those on this machine differ from them",)
    return (f"{note}copy what you need from there",)


def make(environment: Environment, session: Session) -> None:
    """Make the folder for a session's working files."""
    files.make_private_dir(path_of(environment, session))


def path_of(environment: Environment, session: Session) -> str:
    """Return the folder of a session's working files as an absolute path. It follows from the store and the id alone."""
    return f"{environment.store.folder(session.id)}/{WORK}"


def project_of(environment: Environment, session: Session | None = None) -> str:
    """Return the project root, from which printed paths work: that of *session* if it is on record and exists here."""
    if session is not None and os.path.isdir(session.project):
        return session.project
    if os.path.basename(environment.store.path) == _STORE:
        return os.path.dirname(environment.store.path)
    return find_project_root(environment.cwd or os.getcwd())


def work_tree(environment: Environment, session: Session) -> str:
    """Return the folder in which the work of *session* is done.

    It is the project of the store, or the project in which the session started if the store is in none. So a report from
    elsewhere changes nothing. A sub-agent may work in a git worktree of the project.
    """
    project = os.path.realpath(project_of(environment, session))
    return project if session.parent is None else _worktree_of(project, environment.cwd) or project


def _worktree_of(project: str, cwd: str) -> str | None:
    """Return the git worktree of *project* that contains *cwd*, if there is one."""
    root = find_project_root(cwd) if cwd else ""
    if not root or os.path.realpath(project) == root:
        return None
    try:
        with open(os.path.join(root, ".git"), encoding="utf-8") as file:
            word, _, git_folder = file.read(4096).strip().partition(": ")
    except (OSError, UnicodeDecodeError):
        return None
    worktrees = os.path.realpath(os.path.join(project, ".git", "worktrees"))
    is_inside = os.path.dirname(os.path.realpath(git_folder)) == worktrees
    return root if word == "gitdir" and is_inside else None


def for_agents(environment: Environment, session: Session, value: object) -> object:
    """Return a value that a sub-agent gets: a path to the session's working files becomes absolute."""
    folder = session.work_folder
    if not isinstance(value, str) or folder not in value or os.path.isabs(folder):
        return value
    path = path_of(environment, session)
    return re.sub(rf"(?<![\w./-]){re.escape(folder)}(?![\w.-])", lambda _: path, value)


def listed(environment: Environment, session: Session) -> tuple[WorkingFile, ...]:
    """Return a session's working files with size and age: those at the top of the folder, then those below.

    In both groups those changed last come first, so a folder with many scratch files does not hide the notes.
    """
    folder = path_of(environment, session)
    now = datetime.fromisoformat(environment.now).timestamp()
    working_files = []
    for path in _paths(folder):
        with suppress(OSError):
            status = os.lstat(path)
            if S_ISREG(status.st_mode):
                name = os.path.relpath(path, folder)
                working_files.append(described(f"{session.work_folder}/{name}", status, now))
    working_files.sort(
        key=lambda file: (os.path.dirname(file.path) != session.work_folder, file.seconds, file.path)
    )
    return tuple(working_files[:MOST_LISTED])


def described(path: str, status: os.stat_result, now: float) -> WorkingFile:
    """Return a file with its size and age at the moment *now*."""
    changed = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    age = max(0.0, now - status.st_mtime)
    return WorkingFile(path, status.st_size, changed.replace("+00:00", "Z"), age)


def copy(environment: Environment, source: Session, target: Session) -> tuple[str, ...]:
    """Copy working files and the received payload to a fork; return notes about what could not be copied."""
    import shutil  # 2 ms with the archive formats that it imports, and only forks copy files

    try:
        with suppress(FileNotFoundError):
            shutil.copytree(
                path_of(environment, source), path_of(environment, target), symlinks=True, dirs_exist_ok=True
            )
        if source.received is not None:
            payload = now_at(source.received.payload, environment.store.folder(source.id))
            with suppress(FileNotFoundError):
                shutil.copy2(payload, environment.store.folder(target.id), follow_symlinks=False)
    except (OSError, shutil.Error) as error:
        return (f"the files of `{source.id}` were not all copied: {error}",)
    return ()


def _digest(folder: str) -> str:
    """Return a digest of the names and contents of the files in *folder*; empty if there are none, or too many."""
    lines, room = [], MOST_BYTES
    paths = sorted(path for path in _paths(folder) if os.path.isfile(path) and not os.path.islink(path))
    for path in paths:
        try:
            data = files.read_bounded(path, limit=room, what="a working file")
        except FlowError:
            return ""
        room -= len(data)
        name = os.path.relpath(path, folder)
        lines.append(f"{name}\0{sha256_hex(data)}\n")
    return sha256_hex("".join(lines).encode("utf-8", "surrogateescape")) if lines else ""


def _paths(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(parent, name)
