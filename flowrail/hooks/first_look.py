"""A fast look at sessions: the last lines of their journals, read with `json` alone.

It decides that a hook has nothing to say, which is nearly always the case and has to be fast. Before anything is said
about a session, it is read from its store.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from flowrail.discovery.git_root import find_project_root
from flowrail.hooks import subagents
from flowrail.hooks.call import Call
from flowrail.hooks.subagents import SESSION_ID
from flowrail.hosts.host import named_project
from flowrail.session_status import OPEN
from flowrail.skills.guard_index import Guard, GuardIndex, matching, read_index
from flowrail.storage.named_store import named_store

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Any

MOST_SESSIONS = 5_000
_OPEN_MARKS = tuple(f'"status":"{status}"'.encode() for status in OPEN)
_JOURNAL = "journal.jsonl"
_SHORT, _LARGEST = 32_768, 64 * 1024 * 1024
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration)


class StoreFolder:
    """A store; with the ``address`` of a database, ``path`` is the folder of the sessions' files."""

    def __init__(self, path: str, named: str | None, address: str = "") -> None:
        self.path = path
        self.named = named
        """How commands name it; `None` if they do not have to."""
        self.address = address


class FoundSession:
    """A session as the last line of its journal describes it."""

    def __init__(self, store: StoreFolder, data: Mapping[str, Any]) -> None:
        self.store = store
        self.data = data

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.data["id"])

    @property
    def is_child(self) -> bool:
        """Whether it works for another session."""
        return bool(self.data.get("parent"))

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return os.path.join(self.store.path, "sessions", self.id)

    def belongs_to(self, conversation: str) -> bool:
        """Return whether it belongs to a conversation."""
        host = self.data.get("host")
        return isinstance(host, dict) and host.get("id") == conversation


def store_folders(call: Call) -> list[StoreFolder]:
    """Return where sessions may be: in a named store, in the project of the folder, in the project of the host.

    A user without a key has started none in files.
    """
    named = named_store(call.environ, call.home)
    if "://" in named:
        return [StoreFolder(os.path.join(find_project_root(call.cwd), ".flow"), None, named)]
    if not os.path.exists(os.path.join(call.state, "key")):
        return []
    if named:
        path = os.path.abspath(os.path.join(call.cwd, named))
        return [StoreFolder(path, path)]
    folders = [StoreFolder(os.path.join(find_project_root(call.cwd), ".flow"), None)]
    project = named_project(call.environ)
    if project:
        path = os.path.join(find_project_root(project), ".flow")
        folders += [StoreFolder(path, path)] if path != folders[0].path else []
    return folders


def is_in_database(call: Call) -> bool:
    """Return whether the store is a database."""
    return "://" in named_store(call.environ, call.home)


def all_open(folder: StoreFolder) -> Iterator[FoundSession]:
    """Yield the sessions that have not ended."""
    return _found(folder, _OPEN_MARKS, OPEN)


def sessions_of(
    folder: StoreFolder, conversations: Sequence[str], statuses: Sequence[str] = OPEN
) -> list[FoundSession]:
    """Return the sessions of these conversations in their order, the newest first."""
    marks = [f'"{conversation}"'.encode() for conversation in conversations]
    found = sorted(_found(folder, marks, statuses), key=lambda each: str(each.data["moved_at"]), reverse=True)
    return [each for conversation in conversations for each in found if each.belongs_to(conversation)]


def session_at(folder: StoreFolder, session_id: str) -> FoundSession | None:
    """Return an open session by its id."""
    if not re.match(SESSION_ID, session_id) or not _is_own(folder.path):
        return None
    return next(_read(folder, session_id, (b"",), OPEN), None)


def workflow_of(found: FoundSession) -> Mapping[str, Any]:
    """Return the workflow as the session's definition describes it."""
    with suppress(*_UNREADABLE), open(os.path.join(found.folder, _JOURNAL), "rb") as journal:
        line = next(line for number, line in enumerate(journal) if number == found.data["definition"])
        workflow: Mapping[str, Any] = json.loads(line)["definition"]["workflow"]
        return workflow
    return {}


def step_of(found: FoundSession, workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the current step in the session's *workflow*."""
    with suppress(*_UNREADABLE):
        step: Mapping[str, Any] = next(step for step in workflow["steps"] if step["id"] == found.data["step"])
        return step
    return {}


def own_sessions(call: Call) -> list[FoundSession]:
    """Return the open sessions in files that the caller itself works on: the conversation's, or the sub-agent's."""
    folders = [folder for folder in store_folders(call) if not folder.address]
    if call.agent is not None:
        child = child_of(call, folders)
        return [child] if child is not None else []
    if call.conversation is None:
        return []
    found = [each for folder in folders for each in sessions_of(folder, [call.conversation])]
    return [each for each in found if not each.is_child]


def child_of(call: Call, folders: Sequence[StoreFolder]) -> FoundSession | None:
    """Return the open session in files that a sub-agent works on."""
    if call.agent is None:
        return None
    child = subagents.noted_child(call.state, call.agent)
    if child is not None:
        stores = [StoreFolder(child.store, child.store)] if child.store else folders
        children = (session_at(store, child.session) for store in stores if not store.address)
        return next(filter(None, children), None)
    # A host may give each sub-agent a conversation of its own.
    own = [each for folder in folders for each in sessions_of(folder, [call.agent]) if each.is_child]
    return own[0] if own else None


def project_of(found: FoundSession, call: Call) -> str:
    """Return the project of a session: rules name paths relative to it."""
    if not call.environ.get("FLOW_STORE"):
        return os.path.dirname(found.store.path)
    return find_project_root(named_project(call.environ) or call.cwd)


def _found(folder: StoreFolder, marks: Sequence[bytes], statuses: Sequence[str]) -> Iterator[FoundSession]:
    """Yield each session of these statuses whose last line contains one of *marks*."""
    if marks and _is_own(folder.path) and _is_own(os.path.join(folder.path, "sessions")):
        for name in sorted(os.listdir(os.path.join(folder.path, "sessions")))[:MOST_SESSIONS]:
            yield from _read(folder, name, marks, statuses)


def _read(
    folder: StoreFolder, name: str, marks: Sequence[bytes], statuses: Sequence[str]
) -> Iterator[FoundSession]:
    with suppress(*_UNREADABLE):
        line = _last_line(os.path.join(folder.path, "sessions", name, _JOURNAL))
        if any(mark in line for mark in marks):
            data = json.loads(line)["session"]
            if data["id"] == name and data["status"] in statuses and data["moved_at"]:
                yield FoundSession(folder, data)


def _is_own(path: str) -> bool:
    """Return whether *path* is a folder of this user, and no link."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _last_line(path: str) -> bytes:
    """Return the last whole line of a file; empty without one."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        size, length = status.st_size, _SHORT
        while stat.S_ISREG(status.st_mode):
            start = max(0, size - length)
            data = os.pread(fd, size - start, start)
            end = data.rfind(b"\n")
            begin = data.rfind(b"\n", 0, max(end, 0))
            if end >= 0 and (begin >= 0 or start == 0):
                return data[begin + 1 : end]
            if start == 0 or length > _LARGEST:
                break
            length *= 8
        return b""
    finally:
        os.close(fd)


class GuardedCall:
    """A call that guards of a project may deny."""

    def __init__(self, project: str, guards: tuple[Guard, ...] | None) -> None:
        self.project = project
        self.guards = guards
        """The guards that match; `None` if the index is out of date."""


def guarded_calls(call: Call) -> Iterator[GuardedCall]:
    """Yield the call for each project whose guards may deny it."""
    for project in projects_of(call):
        index = _index_of(project, call)
        found = None if index is None else tuple(matching(index.guards, call.tool_use(project)))
        if found is None or found:
            yield GuardedCall(project, found)


def may_guard(call: Call) -> bool:
    """Return whether something may be said about guards here, as far as the index knows."""
    indexes = (_index_of(project, call) for project in projects_of(call))
    return any(index is None or index.guards or index.broken for index in indexes)


def _index_of(project: str, call: Call) -> GuardIndex | None:
    """Return the index of a project's guards if it is current."""
    index = read_index(project, state=call.state, environ=call.environ, home=call.home)
    return index if index is not None and index.is_current else None


def projects_of(call: Call) -> list[str]:
    """Return the project of the folder, and that of the host if it is another one."""
    folders = filter(None, (call.cwd, named_project(call.environ)))
    return list(dict.fromkeys(find_project_root(folder) for folder in folders))


def with_ancestors(found: Sequence[FoundSession]) -> Iterator[FoundSession]:
    """Yield sessions in files, each followed by the open sessions that it works for."""
    seen: set[str] = set()
    for each in found:
        session: FoundSession | None = each
        while session is not None and session.id not in seen:
            seen.add(session.id)
            yield session
            parent = session.data.get("parent") or {}
            session = session_at(session.store, str(parent.get("session", "")))
