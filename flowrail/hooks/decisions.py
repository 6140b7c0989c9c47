"""What a hook says, once a glance has shown that there may be something: read from the journal itself.

Sessions that came with a clone, that are damaged or that moved meanwhile are passed over. What is said are
facts about a procedure, and the command that goes on; never an order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.hooks.dispatch import HookContext
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hosts.protocol import LONGEST, NOTHING, Answer, HookInput, block, context
from flowrail.machines.engine import agents
from flowrail.machines.engine.advance import settled
from flowrail.machines.sessions.host_binding import (
    HELD,
    held_once_more,
    is_of,
    times_held,
)
from flowrail.machines.sessions.session import ACTIVE, WAITING, Session
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.stored_session import Kept
from flowrail.operations.running.child_sessions import agents_at_work, reconciled, still_at_work
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.ownership import Owner
from flowrail.text.safe_text import in_quotes, one_line, shortened

MOST_HOLDS = 3
"""So often an agent is kept from ending its turn while its session stands where it stands."""
MOST_LOOKED_AT = 200
"""So many sessions are looked at when a conversation begins, those that moved last."""
_WAIT = 2.0
_BY = "hook"


def standing(found: Sequence[SessionGlance], heard: HookInput, rim: HookContext) -> Answer:
    """Return which sessions are open, where they stand, and the command that goes on; one's own first."""
    newest = sorted(found, key=lambda each: each.moved_at, reverse=True)[:MOST_LOOKED_AT]
    kept = [(each, session.session) for each in newest if (session := _read(each, rim)) is not None]
    kept = [(each, session) for each, session in kept if session.is_open and not session.parent]
    kept.sort(key=lambda pair: pair[1].moved_at, reverse=True)
    kept.sort(key=lambda pair: not is_of(pair[1].host, heard.conversations))
    if not kept:
        return NOTHING
    lines = [_line(each, session, heard, rim) for each, session in kept]
    head = "Procedures that are open in this folder, kept in files by `flow`:"
    return context("\n".join([head, *_fitting(lines, LONGEST - len(head) - 60)]))


def hold(found: Sequence[SessionGlance], heard: HookInput, rim: HookContext) -> Answer:
    """Return the answer that holds an agent whose session is not finished, and count it there."""
    for each in found:
        store = _store(each, rim)
        if store is None:
            continue
        try:
            if store.is_foreign(each.id):
                continue
            with store.change(each.id, wait=_WAIT) as change:
                now = rim.now()
                session = settled(change.kept.session, now)
                times = times_held(session.host, session.revision)
                if times >= MOST_HOLDS or change.is_full or not _is_at_work(store, session, heard):
                    continue
                note = {"times": times + 1}
                change.commit(held_once_more(change.kept.session), kind=HELD, at=now, by=_BY, note=note)
        except (FlowError, LockTimeoutError):
            continue
        return block(_why(each, session, times + 1, rim))
    return NOTHING


def why_not(glimpse: SessionGlance, rule: str, heard: HookInput, rim: HookContext) -> str | None:
    """Return why a tool is not used now; `None` where the session is another than it seemed."""
    kept = _read(glimpse, rim)
    if kept is None or kept.session.step != glimpse.step or not kept.session.is_open:
        return None
    session = kept.session
    if not is_of(session.host, heard.conversations):
        return None
    resume, abandon = (_command(verb, glimpse) for verb in ("resume", "session abandon"))
    return (
        f"Step {_quoted(session.step)} of the procedure {_quoted(session.skill)} does without {_quoted(rule)}. "
        f"`{resume}` shows the step and its ways on; `{abandon}` ends the procedure unfinished."
    )


def _is_at_work(store: Store, session: Session, heard: HookInput) -> bool:
    """Return whether it is this agent's to go on: nobody else is asked or at work."""
    if session.status != ACTIVE or not is_of(session.host, heard.conversations):
        return False
    if session.parent:
        still_at_work(store, session)
    if not session.dispatches:
        return True
    now = reconciled(store, session)
    if any(each.status == WAITING for each in agents_at_work(store, now)):
        return False
    claimed = any(each.status == agents.CLAIMED for each in agents.states(now))
    return not claimed or heard.background is False


def _why(glimpse: SessionGlance, session: Session, times: int, rim: HookContext) -> str:
    resume, ask, abandon = (
        _command("resume", glimpse),
        _command("ask", glimpse, "-"),
        _command("session abandon", glimpse),
    )
    back = "its agent's answer" if session.parent else "the turn"
    last = "" if times < MOST_HOLDS else " It is not held again before the session moves."
    return (
        f"The procedure {_quoted(session.skill)} is not finished: session {session.id} stands at "
        f"{_where(glimpse, session, rim)}. `{resume}` shows the step and its ways on. A question to the user is put "
        f"on record by `{ask}`, and while it waits {back} can end. `{abandon}` ends the procedure "
        f"unfinished. Held {times} of {MOST_HOLDS} times at this step.{last}"
    )


def _line(glimpse: SessionGlance, session: Session, heard: HookInput, rim: HookContext) -> str:
    if is_of(session.host, heard.conversations):
        whose = "of this conversation"
    else:
        whose = "of another conversation" if session.host else "of no conversation that is known"
    waits = ", waits for the user's answer" if session.status == WAITING else ""
    return (
        f"- {_quoted(session.skill)} at {_where(glimpse, session, rim)}{waits}, last moved {one_line(session.moved_at)}, "
        f"{whose}: `{_command('resume', glimpse)}` shows it and goes on"
    )


def _fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            yield f"- and {len(lines) - at} more: `flow sessions` lists them"
            return
        yield line


def _where(glimpse: SessionGlance, session: Session, rim: HookContext) -> str:
    steps = _steps(glimpse, rim)
    number = f" ({steps.index(session.step) + 1} of {len(steps)})" if session.step in steps else ""
    return f"step {_quoted(session.step)}{number}"


def _steps(glimpse: SessionGlance, rim: HookContext) -> list[object]:
    store = _store(glimpse, rim)
    try:
        definition: Mapping[str, Any] = store.definition(glimpse.id) if store else {}
        return [each["id"] for each in definition["workflow"]["steps"]]
    except (FlowError, KeyError, TypeError):
        return []


def _command(verb: str, glimpse: SessionGlance, *words: str) -> str:
    store = glimpse.shelf.path if glimpse.is_child else glimpse.shelf.named
    return one_line(str(Command(verb, glimpse.id, *words, store=store)))


def _quoted(text: object) -> str:
    return f"`{in_quotes(shortened(one_line(str(text)), 80))}`"


def _read(glimpse: SessionGlance, rim: HookContext) -> Kept | None:
    store = _store(glimpse, rim)
    try:
        return store.read(glimpse.id) if store and not store.is_foreign(glimpse.id) else None
    except FlowError:
        return None


def _store(glimpse: SessionGlance, rim: HookContext) -> Store | None:
    """Return the store of a session; `None` where this user began none, so that no key is made by looking."""
    if not os.path.exists(os.path.join(rim.state, "key")):
        return None
    return Store(glimpse.shelf.path, Owner(rim.state), named=glimpse.shelf.named)
