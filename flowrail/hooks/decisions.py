"""What a hook answers, after a first look has shown that there may be something to say.

The answer is read from the journal. Foreign and damaged sessions, and those that moved meanwhile, are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.formatters.guidance.content import agents_progress
from flowrail.hooks.fast_lookup import FirstLook, SessionFolder, SessionGlance
from flowrail.hooks.hook import Hook
from flowrail.hooks.observations import observe
from flowrail.hosts.conversation import FLEET, HELD
from flowrail.hosts.host import (
    LONGEST_ANSWER,
    NOTHING,
    POST_TOOL_USE,
    POST_TOOL_USE_FAILURE,
    PRE_TOOL_USE,
    SESSION_END,
    SESSION_START,
    Answer,
)
from flowrail.machines.engine.dispatched_work import Children
from flowrail.machines.guidance.agents import PENDING
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import ABANDONED, ACTIVE, COMPLETED, WAITING, Session
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import sql_backend
from flowrail.operations.running.child_sessions import check_still_working, children_of
from flowrail.operations.running.conversations import RESULT_SECONDS, release
from flowrail.storage.files import LockTimeoutError, sha256_hex
from flowrail.storage.ownership import Owner
from flowrail.text.phrases import ago, seconds_between
from flowrail.text.safe_text import in_quotes, shortened

#: An agent is kept from ending its turn at most this often while its session and its sub-agents make no progress.
MOST_HOLDS = 3
#: When a conversation begins, at most this many sessions are read, newest first.
MOST_READ = 200
_LONGEST_NAME = 80
_WAIT = 2.0
_BY = "hook"


class _Seen(NamedTuple):
    """A session as the hook describes it: the newest record, its child sessions, and its definition."""

    glance: SessionGlance
    session: Session
    children: Children
    steps: Sequence[Mapping[str, Any]]


def answer(event: str, look: FirstLook, hook: Hook) -> Answer:
    """Return the answer to *event* after a first look."""
    if event == SESSION_START:
        return _open_sessions(look.sessions, hook)
    if event == SESSION_END:
        _release(look.sessions, hook)
    elif event in {POST_TOOL_USE, POST_TOOL_USE_FAILURE}:
        for glance in look.sessions:
            observe(glance, str(hook.input.tool_input["command"]), hook)
    elif event == PRE_TOOL_USE:
        for glance, rule in zip(look.sessions, look.rules, strict=True):
            reason = _denial(glance, rule, hook)
            if reason is not None:
                return hook.host.deny(reason)
    else:
        return _hold(look.sessions, hook)
    return NOTHING


def _open_sessions(glances: Sequence[SessionGlance], hook: Hook) -> Answer:
    """Return the open sessions with the command that shows each, those of this conversation first."""
    newest = sorted(glances, key=lambda glance: glance.moved_at, reverse=True)[:MOST_READ]
    sessions = [seen for glance in newest if (seen := _seen(glance, hook)) is not None]
    sessions = [seen for seen in sessions if seen.session.is_open or _is_recent(seen.session, hook.now())]
    sessions.sort(key=lambda seen: seen.session.moved_at, reverse=True)
    sessions.sort(key=lambda seen: not seen.session.belongs_to(hook.input.conversations))
    sessions.sort(key=lambda seen: not seen.session.is_open)
    if not sessions:
        return NOTHING
    lines = [_description(seen, hook) for seen in sessions]
    return hook.host.context(
        SESSION_START, "\n".join(_fitting(["Sessions of `flow` in this folder:", *lines]))
    )


def _hold(glances: Sequence[SessionGlance], hook: Hook) -> Answer:
    """Return the answer that keeps an agent working on the first session that needs it, and count it there."""
    for glance in glances:
        store = _store(glance.folder, hook)
        if store is None:
            continue
        try:
            if store.is_foreign(glance.id):
                continue
            with store.change(glance.id, wait=_WAIT) as change:
                now, session = hook.now(), change.kept.session
                children = children_of(store, session.dispatches)
                progress = _progress(session, children)
                times = session.times_held(progress)
                if times >= MOST_HOLDS or change.is_full or not _has_work(store, session, children, hook):
                    continue
                if FLEET in hook.environ and _unfinished(session, children):
                    continue  # workers run them, and start an agent again afterwards
                bound = change.kept.session
                bound = bound if bound.host else bound.bound_to(hook.input.host)
                change.commit(
                    bound.held_again(progress), kind=HELD, at=now, by=_BY, note={"times": times + 1}
                )
        except (FlowError, LockTimeoutError):
            continue
        return hook.host.block(_reason(_Seen(glance, session, children, _steps(store, session)), hook))
    return NOTHING


def _denial(glance: SessionGlance, rule: str, hook: Hook) -> str | None:
    """Return why a tool is denied now, or `None` if the session has changed since the first look."""
    stored = _read(glance, hook)
    if stored is None or stored.session.step != glance.step or not stored.session.is_open:
        return None
    session = stored.session
    if not (session.parent or session.belongs_to(hook.input.conversations)):
        return None
    return (
        f"Step {_quoted(session.step)} of {_quoted(session.skill)} does not use {_quoted(rule)}. "
        f"`{_command('resume', glance)}` shows the step and its commands."
    )


def _release(glances: Sequence[SessionGlance], hook: Hook) -> None:
    """Record that the conversation of these sessions has ended, so that another one may continue them."""
    for glance in glances:
        store = _store(glance.folder, hook)
        if store is not None and hook.input.host is not None:
            release(store, [glance.id], hook.input.host, at=hook.now(), by=_BY)


def _has_work(store: Store, session: Session, children: Children, hook: Hook) -> bool:
    """Return whether the agent has something to do: to work on its step, or to launch agents.

    It has nothing to do while the user is asked, or while its sub-agents work.
    """
    if session.status != ACTIVE or not (session.parent or session.belongs_to(hook.input.conversations)):
        return False
    if session.parent:
        check_still_working(store, session)
    if any(child.status == WAITING for child in children.values()):
        return False
    unfinished = _unfinished(session, children)
    if any(child not in children for child in unfinished):
        return True  # some agents were never launched
    return not unfinished or hook.input.background is False


def _unfinished(session: Session, children: Children) -> list[str]:
    """Return the ids of the step's child sessions that have not ended."""
    ids = [dispatch.child for dispatch in session.dispatches]
    return [child for child in ids if child not in children or children[child].is_open]


def _progress(session: Session, children: Children) -> str:
    """Return a mark that changes whenever a sub-agent starts, reports, ends or is replaced."""
    if not session.dispatches:
        return ""
    agents = [(child.id, child.revision, child.status) for child in children.values()]
    return sha256_hex(repr((session.dispatches, agents)).encode())[:16]


def _agents_text(seen: _Seen, now: str) -> str:
    agents = [seen.children.get(dispatch.child) for dispatch in seen.session.dispatches]
    return agents_progress(
        [(child.status, child.moved_at) if child else (PENDING, "") for child in agents], now
    )


def _reason(seen: _Seen, hook: Hook) -> str:
    progress = _agents_text(seen, hook.now())
    return (
        f"You are not finished: {_topic(seen.session)}, {_position(seen)}."
        f"{f' {progress}.' if progress else ''} "
        f"Run `{_command('resume', seen.glance)}`, do the step, report it. "
        f"If you need the user, run `{_command('ask', seen.glance, '-')}`."
    )


def _description(seen: _Seen, hook: Hook) -> str:
    """Return one session as the agent reads it when its context is new."""
    session, now = seen.session, hook.now()
    if not session.is_open:
        return _result(seen, now)
    progress = _agents_text(seen, now)
    last = (
        f"last report {ago(session.moved_at, now)}"
        if session.revision
        else f"started {ago(session.started_at, now)}"
    )
    about = f"- {_topic(session)}, {_position(seen)}, {last}."
    about += f" {progress}." if progress else ""
    about += " Waits for the user's answer." if session.status == WAITING else ""
    resume = _command("resume", seen.glance)
    if session.belongs_to(hook.input.conversations):
        return f"{about}\n  Run this now; it does not move the session: `{resume}`"
    if session.owner is not None:
        return f"{about}\n  Belongs to another conversation. Leave it alone unless the user asks. ID: {session.id}"
    return f"{about}\n  Belongs to no conversation. If the user asks to continue it: `{resume}`"


def _is_recent(session: Session, now: str) -> bool:
    """Return whether a session ended less than a day ago."""
    seconds = seconds_between(session.moved_at, now)
    return seconds is not None and seconds < RESULT_SECONDS


def _result(seen: _Seen, now: str) -> str:
    """Return one session that has ended; its user may not know the result yet."""
    ended = "finished" if seen.session.status == COMPLETED else "failed"
    resume = _command("resume", seen.glance)
    return (
        f"- {_topic(seen.session)}, {ended} {ago(seen.session.moved_at, now)}.\n"
        f"  If the user does not know the result yet, run this and tell them: `{resume}`"
    )


def _fitting(lines: Sequence[str]) -> Iterator[str]:
    """Yield as many lines as an answer has room for, and the number of the others."""
    characters_left = LONGEST_ANSWER - 60
    for number, line in enumerate(lines):
        characters_left -= len(line) + 1
        if characters_left < 0:
            yield f"- and {len(lines) - number} more: run `flow sessions`"
            return
        yield line


def _topic(session: Session) -> str:
    """Return what a session is about, with its skill."""
    if not session.topic:
        return _plain(session.skill)
    topic = shortened(session.topic, _LONGEST_NAME).replace("`", "'")  # commands are between back quotes
    return f'"{topic}" ({_plain(session.skill)})'


def _position(seen: _Seen) -> str:
    ids = [step.get("id") for step in seen.steps]
    if seen.session.step not in ids:
        return f"step {_quoted(seen.session.step)}"
    return f"step {ids.index(seen.session.step) + 1} of {len(ids)}"


def _seen(glance: SessionGlance, hook: Hook) -> _Seen | None:
    """Return a session that belongs to no other session, as it is now."""
    store, stored = _store(glance.folder, hook), _read(glance, hook)
    if store is None or stored is None or stored.session.parent or stored.session.status == ABANDONED:
        return None
    children = children_of(store, stored.session.dispatches)
    return _Seen(glance, stored.session, children, _steps(store, stored.session))


def _steps(store: Store, session: Session) -> Sequence[Mapping[str, object]]:
    try:
        return store.definition(session).steps
    except FlowError:
        return ()


def _command(verb: str, glance: SessionGlance, *words: str) -> str:
    """Return a command that works from any folder."""
    store = None if glance.folder.address else glance.folder.path
    return _shown(Command(verb, glance.id, *words, store=store))


def _shown(command: Command) -> str:
    return in_quotes(shortened(str(command), LONGEST_ANSWER))


def _quoted(text: object) -> str:
    return f"`{_plain(text)}`"


def _plain(text: object) -> str:
    return in_quotes(shortened(str(text), _LONGEST_NAME))


def _read(glance: SessionGlance, hook: Hook) -> Record | None:
    store = _store(glance.folder, hook)
    try:
        return store.read(glance.id) if store and not store.is_foreign(glance.id) else None
    except FlowError:
        return None


def _store(folder: SessionFolder, hook: Hook) -> Store | None:
    """Return a store; `None` if this user has no key yet, because looking must not make one."""
    if folder.address:
        backend = sql_backend(folder.address, os.path.dirname(folder.path))
        return Store(folder.path, Owner(hook.state), named=folder.named, backend=backend)
    if not os.path.exists(os.path.join(hook.state, "key")):
        return None
    return Store(folder.path, Owner(hook.state), named=folder.named)
