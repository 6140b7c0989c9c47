"""From what a host tells a hook to what it is answered: nothing, unless there is something to say.

Whatever goes wrong, the agent is let go: a hook that fails must not stand in anybody's way.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from flowrail.discovery.locations import find_project_root
from flowrail.hooks import fast_lookup
from flowrail.hooks.fast_lookup import SessionGlance
from flowrail.hosts.protocol import (
    NOTHING,
    PRE_TOOL_USE,
    SESSION_START,
    STOP,
    SUBAGENT_STOP,
    Answer,
    HookInput,
    deny,
    hear,
)
from flowrail.machines.definition.tool_rules import Used, forbidding

MOST_OWN = 50
"""So many sessions of one conversation are looked at, those that moved last."""
_FORBIDS = b'"forbids"'


class HookContext(NamedTuple):
    """What a hook may know of the world beside what it is told."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]


def answer(event: str, data: bytes, rim: HookContext) -> Answer:
    """Return the answer to *event*; nothing where there is nothing to say, and where anything goes wrong."""
    heard = hear(data, rim.environ)
    if heard is None:
        return NOTHING
    if not os.path.isabs(heard.cwd):
        heard = heard._replace(cwd=rim.cwd)
    return _ANSWERS[event](heard, rim)


def _session_start(heard: HookInput, rim: HookContext) -> Answer:
    _tell_the_shell(heard, rim.environ)
    found = [
        each
        for shelf in _shelves(heard, rim)
        for each in fast_lookup.open_sessions(shelf)
        if not each.is_child
    ]
    if not found:
        return NOTHING
    from flowrail.hooks.decisions import standing  # brings cattrs, which is worth it only now

    return standing(found, heard, rim)


def _stop(heard: HookInput, rim: HookContext) -> Answer:
    found = [each for each in _own(heard, rim) if not each.is_child and each.status == "active"]
    return _held(found, heard, rim)


def _subagent_stop(heard: HookInput, rim: HookContext) -> Answer:
    mine = _of_the_agent(heard, rim)
    return _held([mine] if mine is not None and mine.status == "active" else [], heard, rim)


def _pre_tool_use(heard: HookInput, rim: HookContext) -> Answer:
    if not heard.tool:
        return NOTHING
    if heard.agent is None:
        found = [each for each in _own(heard, rim) if not each.is_child]
    else:
        mine = _of_the_agent(heard, rim)
        found = [mine] if mine is not None else []
    for each in found:
        rules = fast_lookup.step_of(each, _FORBIDS).get("forbids")
        used = Used(heard.tool, heard.given, heard.cwd, _project(each, heard, rim), rim.home)
        rule = forbidding(rules, used) if isinstance(rules, list) else None
        if rule is not None:
            from flowrail.hooks.decisions import why_not

            reason = why_not(each, rule, heard, rim)
            if reason is not None:
                return deny(reason)
    return NOTHING


def _project(glimpse: SessionGlance, heard: HookInput, rim: HookContext) -> str:
    """Return the folder that paths in rules are from: where the sessions lie, unless they lie elsewhere."""
    if not rim.environ.get("FLOW_STORE"):
        return os.path.dirname(glimpse.shelf.path)
    project = rim.environ.get("CLAUDE_PROJECT_DIR", "")
    return find_project_root(project if os.path.isabs(project) else heard.cwd)


def _held(found: Sequence[SessionGlance], heard: HookInput, rim: HookContext) -> Answer:
    if not found:
        return NOTHING
    from flowrail.hooks.decisions import hold

    return hold(found, heard, rim)


def _own(heard: HookInput, rim: HookContext) -> list[SessionGlance]:
    """Return the open sessions of this conversation, the one that moved last first."""
    if not heard.conversations:
        return []
    found = [
        each for shelf in _shelves(heard, rim) for each in fast_lookup.sessions_of(shelf, heard.conversations)
    ]
    return sorted(found, key=lambda each: each.moved_at, reverse=True)[:MOST_OWN]


def _shelves(heard: HookInput, rim: HookContext) -> list[fast_lookup.SessionFolder]:
    """Return where sessions may be; nowhere where this user never began one: then none is theirs."""
    if not os.path.exists(os.path.join(rim.state, "key")):
        return []
    return fast_lookup.shelves(heard.cwd, rim.environ)


def _of_the_agent(heard: HookInput, rim: HookContext) -> SessionGlance | None:
    """Return the session that a sub-agent works in: bound to it, told of in its transcript, or the only one."""
    if heard.agent is not None:
        alone = _own(heard._replace(host=None), rim)
        if alone:
            return alone[0]
    found = [each for each in _own(heard._replace(agent=None), rim) if each.is_child]
    if heard.transcript:
        return fast_lookup.told_in(heard.transcript, found)
    return found[0] if len(found) == 1 else None


def _tell_the_shell(heard: HookInput, environ: Mapping[str, str]) -> None:
    """Let the shell of the conversation know its name, where the host has a file for that and does not."""
    path = environ.get("CLAUDE_ENV_FILE", "")
    if heard.host is None or not os.path.isabs(path) or environ.get("CLAUDE_CODE_SESSION_ID"):
        return
    line = f"export FLOW_HOST_SESSION={shlex.quote(heard.host)}\n".encode()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError):
        fd = os.open(path, flags, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)


_ANSWERS = {
    SESSION_START: _session_start,
    STOP: _stop,
    SUBAGENT_STOP: _subagent_stop,
    PRE_TOOL_USE: _pre_tool_use,
}
