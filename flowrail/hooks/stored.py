"""Sessions as their stores have them, for a hook that may have something to say.

Foreign and damaged sessions are ignored, and looking makes no key.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.evidence.shell_history import LONGEST_LINE
from flowrail.hooks import subagents
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, StoreFolder, is_in_database, store_folders
from flowrail.hosts.host import LONGEST_ANSWER
from flowrail.machines.agents import Children
from flowrail.machines.order_watch import CALL, DENIED, called
from flowrail.machines.session import Session
from flowrail.machines.session_store import Store
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.processes import time_limit
from flowrail.rules.tools import ToolUse
from flowrail.storage.backend import open_backend
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_mark import Owner
from flowrail.text.safe_text import in_quotes, one_line, quotable, shortened

DATABASE_SECONDS = 5.0
"""A hook that opens a database says nothing after so many seconds; hosts end hooks after 10."""
_LONGEST_NAME = 80
_WAIT = 2.0
_BY = "hook"


@dataclass(frozen=True)
class HookSession:
    """A session that is this user's, with its store."""

    store: Store
    folder: StoreFolder
    session: Session

    def command(self, verb: str, *words: str) -> str:
        """Return a command about the session that works from any folder."""
        store = None if self.folder.address else self.folder.path
        return in_quotes(shortened(str(Command(verb, self.session.id, *words, store=store)), LONGEST_ANSWER))

    @property
    def topic(self) -> str:
        """What the session is about, with its skill."""
        if not self.session.topic:
            return quotable(self.session.skill)
        topic = shortened(self.session.topic, _LONGEST_NAME).replace(
            "`", "'"
        )  # commands are between back quotes
        return f'"{topic}" ({quotable(self.session.skill)})'

    @property
    def position(self) -> str:
        """Where the session is, such as `step 2 of 5`."""
        steps: Sequence[Mapping[str, Any]] = ()
        with suppress(FlowError):
            steps = self.store.definition(self.session).steps
        ids = [step.get("id") for step in steps]
        if self.session.step not in ids:
            return f"step `{quotable(self.session.step)}`"
        return f"step {ids.index(self.session.step) + 1} of {len(ids)}"

    @property
    def children(self) -> Children:
        """The child sessions of the current step."""
        return children_of(self.store, self.session.dispatches)


def stored_sessions(found: Iterable[FoundSession], call: Call) -> Iterator[HookSession]:
    """Yield sessions that were found in files, as their stores have them now."""
    stores: dict[str, Store] = {}
    for each in found:
        path = each.store.path
        backend = FileBackend(path, Owner(call.state))
        store = stores.setdefault(path, Store(backend, named=each.store.named))
        try:
            if not store.is_foreign(each.id):
                yield HookSession(store, each.store, store.read(each.id).session)
        except FlowError:
            continue


def database_sessions(call: Call) -> list[HookSession]:
    """Return this conversation's sessions in the database, open or not. Marks of owners are not used there."""
    folder = _database(call)
    if folder is None:
        return []
    ids = _store_at(folder).ids_of_conversations(call.conversations)
    found = [each for session_id in ids if (each := _session_in_database(session_id, folder)) is not None]
    return sorted(found, key=lambda each: each.session.moved_at, reverse=True)


def database_child(call: Call) -> HookSession | None:
    """Return the open session in the database that a sub-agent works on."""
    folder = _database(call)
    if call.agent is None or folder is None:
        return None
    child = subagents.noted_child(call.state, call.agent)
    if child is not None:
        found = [_session_in_database(child.session, folder)]
    else:
        own = [each for each in database_sessions(call) if each.session.belongs_to((call.agent,))]
        found = [each for each in own if each.session.parent]
    return next((each for each in found if each is not None and each.session.is_open), None)


def is_at(allowed: Collection[tuple[str, str]], found: Iterable[FoundSession], call: Call) -> bool:
    """Return whether one of these sessions, or of the conversation's in the database, is at an allowed step of a skill.

    A session that this user did not start allows nothing.
    """
    if is_in_database(call):
        with database_limit():
            sessions = [each.session for each in _database_chain(call)]
    else:
        sessions = [each.session for each in stored_sessions(found, call)]
    return any(session.is_open and (session.skill, session.step) in allowed for session in sessions)


def record_call(found: FoundSession, use: ToolUse, call: Call) -> str | None:
    """Record a tool call that counts for the order rules of a session; return why a rule denies it, if one does."""
    for each in stored_sessions([found], call):
        with suppress(FlowError), each.store.change(each.session.id, wait=_WAIT) as change:
            session = change.kept.session
            after, broken = called(each.store.workflow(session), session, use)
            note = {"call": shortened(one_line(call.shell_line or call.tool), LONGEST_LINE)}
            if broken:
                note["rule"] = broken[0].text
                change.commit(session, kind=DENIED, at=call.now, by=_BY, note=note)
                return (
                    f"The order rule `{quotable(broken[0].text)}` of `{quotable(session.skill)}` denies this: "
                    f"{quotable(broken[0].missing)}. `{each.command('resume')}` shows the current step."
                )
            if after != session:
                change.commit(after, kind=CALL, at=call.now, by=_BY, note=note)
    return None


def _database_chain(call: Call) -> Iterator[HookSession]:
    """Yield this conversation's sessions in the database, and the sessions that they work for."""
    folder, child = _database(call), database_child(call)
    for each in [child, *database_sessions(call)]:
        found = each
        while found is not None and folder is not None:
            yield found
            parent = found.session.parent
            found = None if parent is None else _session_in_database(parent.session, folder)


def _session_in_database(session_id: str, folder: StoreFolder) -> HookSession | None:
    """Return a session in a database by its id."""
    store = _store_at(folder)
    try:
        return HookSession(store, folder, store.read(session_id).session)
    except FlowError:
        return None


def _database(call: Call) -> StoreFolder | None:
    return next((folder for folder in store_folders(call) if folder.address), None)


def _store_at(folder: StoreFolder) -> Store:
    cwd = os.path.dirname(folder.path)
    backend = open_backend(folder.address, cwd=cwd, folder=folder.path, owner=Owner(""))
    return Store(backend, named=folder.named)


def database_limit() -> AbstractContextManager[None]:
    """Return a context that raises `TimeoutError` after some seconds: a database may not answer."""
    return time_limit(DATABASE_SECONDS, TimeoutError)
