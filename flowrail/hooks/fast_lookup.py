"""A quick look at sessions: what their readable copies say, without proof.

A glance decides only that there is nothing to say, which is nearly always so and has to cost next to nothing;
before anything is said, `judging` looks at the journal. Standard library and `_files` only.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.discovery.locations import find_project_root
from flowrail.errors import FlowError
from flowrail.machines.sessions.host_binding import is_of
from flowrail.storage import files

MOST_SESSIONS = 5_000
LARGEST_COPY = 1024 * 1024
"""A copy says what one line of a journal does, and that has no more."""
LARGEST_DEFINITION = 4 * 1024 * 1024
MOST_READ, MOST_PARSED = 64_000_000, 8_000_000
"""So many bytes of copies are looked at, and parsed, for one answer; the sessions after that are passed over."""
LONGEST_TRANSCRIPT = 2_000_000
_COPY, _USUAL = "session.json", 65_536
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}\Z")
_OPEN = (b'"status": "active"', b'"status": "waiting"')


class SessionFolder(NamedTuple):
    """A folder of sessions; ``named`` is how commands name it, `None` where they need not."""

    path: str
    named: str | None


class SessionGlance(NamedTuple):
    """A session as its copy shows it."""

    shelf: SessionFolder
    id: str
    status: str
    step: str
    moved_at: str
    is_child: bool


def shelves(cwd: str, environ: Mapping[str, str]) -> list[SessionFolder]:
    """Return where sessions of somebody in *cwd* may be: a named store, the folder's, the host's project's."""
    named = environ.get("FLOW_STORE")
    if named:
        path = os.path.abspath(os.path.join(cwd, named))
        return [SessionFolder(path, path)]
    found = [SessionFolder(os.path.join(find_project_root(cwd), ".flow"), None)]
    project = environ.get("CLAUDE_PROJECT_DIR", "")
    if os.path.isabs(project):
        path = os.path.join(find_project_root(project), ".flow")
        found += [SessionFolder(path, path)] if path != found[0].path else []
    return found


def open_sessions(shelf: SessionFolder) -> Iterator[SessionGlance]:
    """Yield the sessions that have not ended."""
    yield from (each for each, _ in _copies(shelf, _OPEN))


def sessions_of(shelf: SessionFolder, conversations: Sequence[str]) -> Iterator[SessionGlance]:
    """Yield the sessions that have not ended and belong to one of these conversations, the closest first."""
    marks = tuple(f'"{each}"'.encode() for each in conversations)
    found = [(each, host) for each, host in _copies(shelf, marks) if is_of(host, tuple(conversations))]
    for name in conversations:
        yield from (each for each, host in found if host.get("id") == name)


def step_of(glimpse: SessionGlance, part: bytes = b"") -> Mapping[str, Any]:
    """Return the current step as the session keeps its definition; nothing where *part* is nowhere in it."""
    path = os.path.join(glimpse.shelf.path, "sessions", glimpse.id, "definition.json")
    with suppress(FlowError, ValueError, KeyError, TypeError, RecursionError):
        data = files.read_bounded(path, limit=LARGEST_DEFINITION, what="the session's definition")
        if part in data:
            steps = json.loads(data)["workflow"]["steps"]
            return next((each for each in steps if each["id"] == glimpse.step), {})
    return {}


def told_in(transcript: str, glimpses: Sequence[SessionGlance]) -> SessionGlance | None:
    """Return the session that an agent's *transcript* speaks of most; `None` where it speaks of none."""
    text = _end_of(transcript)
    spoken = [(text.count(each.id.encode()), at, each) for at, each in enumerate(glimpses)]
    most = max(spoken, default=(0, 0, None), key=lambda each: (each[0], -each[1]))
    return most[2] if most[0] else None


def _copies(
    shelf: SessionFolder, marks: Sequence[bytes]
) -> Iterator[tuple[SessionGlance, Mapping[str, Any]]]:
    """Yield each session that is open and whose copy holds one of *marks*, and what it says of its host."""
    folder = os.path.join(shelf.path, "sessions")
    try:
        files.check_private_dir(shelf.path)
        files.check_private_dir(folder)
        names = sorted(name for name in os.listdir(folder) if _ID.match(name))[:MOST_SESSIONS]
    except (OSError, FlowError):
        return
    names.sort(key=lambda name: _is_large(os.path.join(folder, name, _COPY)))
    unread, unparsed = MOST_READ, MOST_PARSED
    for name in names:
        if min(unread, unparsed) < 0:
            return
        with suppress(FlowError, ValueError, KeyError, TypeError, RecursionError):
            path = os.path.join(folder, name, _COPY)
            data = files.read_bounded(path, limit=LARGEST_COPY, what="the session's copy")
            unread -= len(data)
            if not any(mark in data for mark in marks):
                continue
            unparsed -= len(data)
            session = json.loads(data)["session"]
            if session["status"] not in {"active", "waiting"} or session["id"] != name:
                continue
            about = SessionGlance(
                shelf,
                name,
                session["status"],
                str(session["step"]),
                str(session["moved_at"]),
                bool(session.get("parent")),
            )
            host = session.get("host")
            yield about, host if isinstance(host, dict) else {}


def _is_large(path: str) -> bool:
    """Return whether a copy is larger than most: those come last, so that they hide no other."""
    try:
        return os.lstat(path).st_size > _USUAL
    except OSError:
        return False


def _end_of(path: str) -> bytes:
    """Return the last part of a file of one's own; nothing where it is none."""
    if not os.path.isabs(path):
        return b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        about = os.fstat(fd)
        if about.st_uid != os.geteuid() or not stat.S_ISREG(about.st_mode):
            return b""
        return os.pread(fd, LONGEST_TRANSCRIPT, max(0, about.st_size - LONGEST_TRANSCRIPT))
    finally:
        os.close(fd)
