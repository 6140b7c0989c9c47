"""The working files of a session: in its own folder, with paths that work from the project root."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from stat import S_ISREG

from flowrail.discovery.git_root import find_project_root
from flowrail.discovery.locations import OFFERED
from flowrail.machines.session import Session, WorkingFile
from flowrail.machines.work_folder import WORK
from flowrail.operations.environment import Environment
from flowrail.storage import files
from flowrail.text.safe_text import one_line

MOST_LISTED = 50
"""At most this many working files are listed, those changed last."""
_STORE = ".flow"


def in_project(environment: Environment, session: Session) -> Session:
    """Return a new session with its project, if that does not follow from the store.

    A sub-agent's session, and a copy, have the project of the session that they come from.
    """
    if not environment.store.is_database and os.path.basename(environment.store.path) == _STORE:
        return session
    is_known = os.path.isdir(session.project)
    return session if is_known else replace(session, project=os.path.realpath(project_of(environment)))


def elsewhere(environment: Environment, session: Session) -> tuple[str, ...]:
    """Return a note if the records are in a database, and this machine does not have the working files."""
    if not environment.store.is_database or os.path.isdir(path_of(environment, session)):
        return ()
    folder = one_line(session.work_folder)
    return (
        f"this machine does not have the working files of this session; copy {folder} from the one that does",
    )


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
    now = environment.moment.timestamp()
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


def forget_offered(environment: Environment, session_id: str) -> None:
    """Delete the skills that were offered to a session, because it is not where it was: they are searched again."""
    with suppress(OSError):
        os.unlink(os.path.join(environment.store.folder(session_id), OFFERED))


def _paths(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(parent, name)
