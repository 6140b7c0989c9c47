"""What a hook answers, once a first look has shown that there may be something to say.

The answer is read from the journal. Foreign and damaged sessions, and those that moved meanwhile, are ignored. An
answer states facts about a workflow and the command that continues it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.hooks.environment import HookEnvironment
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hosts.protocol import LONGEST, NOTHING, Answer, HookInput, block, context
from flowrail.machines.engine.advance import settled
from flowrail.machines.sessions.host_binding import HELD
from flowrail.machines.sessions.session import ACTIVE, CLAIMED, WAITING, Session
from flowrail.machines.sessions.store import Store, StoredSession
from flowrail.operations.running.child_sessions import agents_at_work, reconciled, still_at_work
from flowrail.storage.locking import LockTimeoutError
from flowrail.storage.ownership import Owner
from flowrail.text.safe_text import in_quotes, one_line, shortened

#: An agent is kept from ending its turn at most this often while its session stays at one step.
MOST_HOLDS = 3
#: When a conversation begins, at most this many sessions are read, newest first.
MOST_LOOKED_AT = 200
_WAIT = 2.0
_BY = "hook"


def open_sessions_context(
    found: Sequence[SessionGlance], hook_input: HookInput, environment: HookEnvironment
) -> Answer:
    """Return which sessions are open, where they stand, and the command that goes on; one's own first."""
    newest = sorted(found, key=lambda each: each.moved_at, reverse=True)[:MOST_LOOKED_AT]
    kept = [(each, session.session) for each in newest if (session := _read(each, environment)) is not None]
    kept = [(each, session) for each, session in kept if session.is_open and not session.parent]
    kept.sort(key=lambda pair: pair[1].moved_at, reverse=True)
    kept.sort(key=lambda pair: not pair[1].belongs_to(hook_input.conversations))
    if not kept:
        return NOTHING
    lines = [_line(each, session, hook_input, environment) for each, session in kept]
    head = "Open sessions of `flow` in this folder:"
    return context("\n".join([head, *_fitting(lines, LONGEST - len(head) - 60)]))


def hold(found: Sequence[SessionGlance], hook_input: HookInput, environment: HookEnvironment) -> Answer:
    """Return the answer that holds an agent whose session is not finished, and count it there."""
    for each in found:
        store = _store(each, environment)
        if store is None:
            continue
        try:
            if store.is_foreign(each.id):
                continue
            with store.change(each.id, wait=_WAIT) as change:
                now = environment.now()
                session = settled(change.kept.session, now)
                times = session.times_held
                if times >= MOST_HOLDS or change.is_full or not _is_at_work(store, session, hook_input):
                    continue
                note = {"times": times + 1}
                change.commit(change.kept.session.held_again(), kind=HELD, at=now, by=_BY, note=note)
        except (FlowError, LockTimeoutError):
            continue
        return block(_why(each, session, times + 1, environment))
    return NOTHING


def why_not(
    glance: SessionGlance, rule: str, hook_input: HookInput, environment: HookEnvironment
) -> str | None:
    """Return why a tool is not used now; `None` where the session is another than it seemed."""
    kept = _read(glance, environment)
    if kept is None or kept.session.step != glance.step or not kept.session.is_open:
        return None
    session = kept.session
    if not session.belongs_to(hook_input.conversations):
        return None
    resume, abandon = (_command(verb, glance) for verb in ("resume", "session abandon"))
    return (
        f"Step {_quoted(session.step)} of {_quoted(session.skill)} forbids {_quoted(rule)}. "
        f"`{resume}` shows the step and its commands; `{abandon}` ends the session unfinished."
    )


def _is_at_work(store: Store, session: Session, hook_input: HookInput) -> bool:
    """Return whether it is this agent's to go on: nobody else is asked or at work."""
    if session.status != ACTIVE or not session.belongs_to(hook_input.conversations):
        return False
    if session.parent:
        still_at_work(store, session)
    if not session.dispatches:
        return True
    now = reconciled(store, session)
    if any(each.status == WAITING for each in agents_at_work(store, now)):
        return False
    claimed = any(each.status == CLAIMED for each in now.dispatches)
    return not claimed or hook_input.background is False


def _why(glance: SessionGlance, session: Session, times: int, environment: HookEnvironment) -> str:
    resume, ask, abandon = (
        _command("resume", glance),
        _command("ask", glance, "-"),
        _command("session abandon", glance),
    )
    back = "its agent's answer" if session.parent else "the turn"
    last = "" if times < MOST_HOLDS else " It is not held again until the session moves."
    return (
        f"The workflow {_quoted(session.skill)} is not finished: session {session.id} is at "
        f"{_where(glance, session, environment)}. `{resume}` shows the step and its "
        f"commands. `{ask}` records a question to the user; while it waits for the answer, {back} can end. "
        f"`{abandon}` ends the session unfinished. Held {times} of {MOST_HOLDS} times at this step.{last}"
    )


def _line(
    glance: SessionGlance, session: Session, hook_input: HookInput, environment: HookEnvironment
) -> str:
    if session.belongs_to(hook_input.conversations):
        whose = "of this conversation"
    else:
        whose = "of another conversation" if session.host else "of no known conversation"
    waits = ", waits for the user's answer" if session.status == WAITING else ""
    return (
        f"- {_quoted(session.skill)} at {_where(glance, session, environment)}{waits}, "
        f"last moved {one_line(session.moved_at)}, "
        f"{whose}: `{_command('resume', glance)}` continues it"
    )


def _fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            yield f"- and {len(lines) - at} more: see `flow sessions`"
            return
        yield line


def _where(glance: SessionGlance, session: Session, environment: HookEnvironment) -> str:
    steps = _steps(glance, environment)
    number = f" ({steps.index(session.step) + 1} of {len(steps)})" if session.step in steps else ""
    return f"step {_quoted(session.step)}{number}"


def _steps(glance: SessionGlance, environment: HookEnvironment) -> list[object]:
    store = _store(glance, environment)
    try:
        definition: Mapping[str, Any] = store.definition(glance.id) if store else {}
        return [each["id"] for each in definition["workflow"]["steps"]]
    except (FlowError, KeyError, TypeError):
        return []


def _command(verb: str, glance: SessionGlance, *words: str) -> str:
    store = glance.folder.path if glance.is_child else glance.folder.named
    return one_line(str(Command(verb, glance.id, *words, store=store)))


def _quoted(text: object) -> str:
    return f"`{in_quotes(shortened(one_line(str(text)), 80))}`"


def _read(glance: SessionGlance, environment: HookEnvironment) -> StoredSession | None:
    store = _store(glance, environment)
    try:
        return store.read(glance.id) if store and not store.is_foreign(glance.id) else None
    except FlowError:
        return None


def _store(glance: SessionGlance, environment: HookEnvironment) -> Store | None:
    """Return the store of a session; `None` where this user began none, so that no key is made by looking."""
    if not os.path.exists(os.path.join(environment.state, "key")):
        return None
    return Store(glance.folder.path, Owner(environment.state), named=glance.folder.named)
