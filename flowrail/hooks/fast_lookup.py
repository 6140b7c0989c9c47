"""A fast first look at sessions, from the last lines of their journals.

It decides that a hook has nothing to say, which is nearly always the case and has to be fast. Before anything is said,
`decisions` reads the journal. Only the standard library, `storage.files` and `storage.journal` are imported.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from flowrail.discovery.locations import find_project_root
from flowrail.errors import FlowError
from flowrail.storage import files, journal
from flowrail.storage.ownership import configured_store

MOST_SESSIONS = 5_000
_JOURNAL = "journal.jsonl"
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}(?:\.\d+\.\d+(?:-\d+)?)*\Z")
_OPEN = (b'"status":"active"', b'"status":"waiting"')
_OPEN_STATUSES = ("active", "waiting")


class SessionFolder(NamedTuple):
    """A store; ``named`` is how commands name it, `None` if they do not have to.

    With the ``address`` of a database, ``path`` is the folder of the sessions' files.
    """

    path: str
    named: str | None
    address: str = ""


class SessionGlance(NamedTuple):
    """A session as the last line of its journal shows it."""

    folder: SessionFolder
    id: str
    status: str
    step: str
    moved_at: str
    is_child: bool
    definition: int = 0
    """The number of the record that has the definition of its workflow."""


class FirstLook(NamedTuple):
    """The sessions that a hook may have to say something about.

    Before a tool is used, ``rules`` has the rule of each session that forbids the tool.
    """

    sessions: tuple[SessionGlance, ...] = ()
    rules: tuple[str, ...] = ()


NOTHING_FOUND = FirstLook()


def named_store(environ: Mapping[str, str], home: str) -> str:
    """Return the store that the environment or the user's configuration names, or nothing."""
    return environ.get("FLOW_STORE") or configured_store(environ, home)


def session_folders(cwd: str, environ: Mapping[str, str], home: str) -> list[SessionFolder]:
    """Return where sessions may be for *cwd*: a named store, the project of *cwd*, the project of the host."""
    named = named_store(environ, home)
    if "://" in named:
        path = os.path.join(find_project_root(cwd), ".flow")
        return [SessionFolder(path, None, named)]
    if named:
        path = os.path.abspath(os.path.join(cwd, named))
        return [SessionFolder(path, path)]
    folders = [SessionFolder(os.path.join(find_project_root(cwd), ".flow"), None)]
    project = environ.get("CLAUDE_PROJECT_DIR", "")
    if os.path.isabs(project):
        path = os.path.join(find_project_root(project), ".flow")
        folders += [SessionFolder(path, path)] if path != folders[0].path else []
    return folders


def open_sessions(folder: SessionFolder) -> Iterator[SessionGlance]:
    """Yield the sessions that have not ended."""
    yield from (glance for glance, _ in _last_lines(folder, _OPEN))


def ended_sessions_of(folder: SessionFolder, conversation: str) -> Iterator[SessionGlance]:
    """Yield the sessions of a conversation that ended, well or not."""
    mark = f'"{conversation}"'.encode()
    for glance, host in _last_lines(folder, (mark,), statuses=("completed", "failed")):
        if host.get("id") == conversation and not glance.is_child:
            yield glance


def sessions_of(folder: SessionFolder, conversations: Sequence[str]) -> Iterator[SessionGlance]:
    """Yield the open sessions that belong to one of *conversations*, in their order."""
    marks = tuple(f'"{conversation}"'.encode() for conversation in conversations)
    matches = [
        (glance, host) for glance, host in _last_lines(folder, marks) if _is_one_of(host, conversations)
    ]
    for conversation in conversations:
        yield from (glance for glance, host in matches if host.get("id") == conversation)


def step_of(glance: SessionGlance, part: bytes = b"") -> Mapping[str, object]:
    """Return the current step from the session's definition, or nothing if the definition does not contain *part*."""
    path = os.path.join(glance.folder.path, "sessions", glance.id, _JOURNAL)
    with (
        suppress(FlowError, OSError, ValueError, KeyError, TypeError, RecursionError),
        journal.opened(path) as opened,
    ):
        data = next(line for number, line in enumerate(opened.lines()) if number == glance.definition)
        if part in data:
            steps = json.loads(data)["definition"]["workflow"]["steps"]
            return next((step for step in steps if step["id"] == glance.step), {})
    return {}


def _is_one_of(host: object, conversations: Sequence[str]) -> bool:
    return isinstance(host, dict) and host.get("id") in conversations


def session_at(folder: SessionFolder, session_id: str) -> tuple[SessionGlance, Mapping[str, object]] | None:
    """Return an open session by its id, with its content."""
    path = os.path.join(folder.path, "sessions", session_id, _JOURNAL)
    with (
        suppress(FlowError, OSError, ValueError, KeyError, TypeError, RecursionError),
        journal.opened(path) as opened,
    ):
        files.check_private_dir(folder.path)
        session = json.loads(opened.last_line())["session"]
        glance = _glance(folder, session_id, session)
        return (glance, session) if glance is not None else None
    return None


def _last_lines(
    folder: SessionFolder, marks: Sequence[bytes], statuses: Sequence[str] = _OPEN_STATUSES
) -> Iterator[tuple[SessionGlance, Mapping[str, object]]]:
    """Yield each session of these statuses whose last line contains one of *marks*, with its host."""
    sessions = os.path.join(folder.path, "sessions")
    try:
        files.check_private_dir(folder.path)
        files.check_private_dir(sessions)
        names = sorted(name for name in os.listdir(sessions) if _ID.match(name))[:MOST_SESSIONS]
    except (OSError, FlowError):
        return
    for name in names:
        path = os.path.join(sessions, name, _JOURNAL)
        with suppress(FlowError, OSError, ValueError, KeyError, TypeError, RecursionError):
            with journal.opened(path) as opened:
                data = opened.last_line()
            if not any(mark in data for mark in marks):
                continue
            session = json.loads(data)["session"]
            glance = _glance(folder, name, session, statuses)
            host = session.get("host")
            if glance is not None:
                yield glance, host if isinstance(host, dict) else {}


def _glance(
    folder: SessionFolder, name: str, session: Mapping[str, object], statuses: Sequence[str] = _OPEN_STATUSES
) -> SessionGlance | None:
    """Return what a last line shows of a session with one of these statuses."""
    status = str(session["status"])
    if status not in statuses or session["id"] != name:
        return None
    is_child = bool(session.get("parent"))
    return SessionGlance(
        folder, name, status, str(session["step"]), str(session["moved_at"]), is_child, _number(session)
    )


def _number(session: Mapping[str, object]) -> int:
    number = session["definition"]
    return number if isinstance(number, int) else 0
