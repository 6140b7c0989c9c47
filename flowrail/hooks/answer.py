"""Answer a host's hook: with nothing, unless there is something to say.

If anything goes wrong, the answer is empty, because a failing hook must not stop an agent.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from flowrail.discovery.locations import find_project_root
from flowrail.hooks import fast_lookup, subagents
from flowrail.hooks.fast_lookup import NOTHING_FOUND, FirstLook, SessionFolder, SessionGlance
from flowrail.hooks.hook import Hook, read_input
from flowrail.hooks.subagents import Claim
from flowrail.hosts.host import (
    NOTHING,
    POST_TOOL_USE,
    POST_TOOL_USE_FAILURE,
    PRE_TOOL_USE,
    SESSION_END,
    SESSION_START,
    STOP,
    SUBAGENT_STOP,
    Answer,
)
from flowrail.rules.tools import SHELLS, ToolUse, forbidding

#: A hook that opens a database says nothing after so many seconds; hosts end hooks after 10.
DATABASE_SECONDS = 5.0
_BEFORE_AND_AFTER_TOOLS = (PRE_TOOL_USE, POST_TOOL_USE, POST_TOOL_USE_FAILURE)
_FORBIDS = b'"forbids"'


def answer(event: str, data: bytes, hook: Hook) -> Answer:
    """Return the answer to *event* with the input *data*, which is empty if there is nothing to say."""
    hook_input = read_input(data, hook.environ)
    if hook_input is None:
        return NOTHING
    if not os.path.isabs(hook_input.cwd):
        hook_input = hook_input._replace(cwd=hook.cwd)
    hook = hook._replace(input=hook_input)
    if not _in_database(hook):
        return _answer(event, hook)
    if event in _BEFORE_AND_AFTER_TOOLS and "flow" not in str(hook.input.tool_input.get("command", "")):
        return NOTHING  # these events are too frequent to open a database
    with _time_limit(DATABASE_SECONDS):
        return _answer(event, hook)


def _answer(event: str, hook: Hook) -> Answer:
    look = _LOOKS[event](hook)
    if look == NOTHING_FOUND:
        return NOTHING
    from flowrail.hooks import decisions  # imports cattrs, 25 ms

    return decisions.answer(event, look, hook)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after so many seconds, and each second after that: a database may not answer."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _session_start(hook: Hook) -> FirstLook:
    _export_conversation(hook)
    folders = _session_folders(hook)
    if _in_database(hook):  # a team may have many sessions in it
        glances = _own(hook)
    else:
        glances = [glance for folder in folders for glance in fast_lookup.open_sessions(folder)]
    if hook.input.host is not None:
        for folder in folders:
            glances += _lookup(folder).ended_sessions_of(folder, hook.input.host)
    return FirstLook(tuple(glance for glance in glances if not glance.is_child))


def _session_end(hook: Hook) -> FirstLook:
    subagents.CLAIMS.forget_old(hook.state)
    return FirstLook(tuple(_own(hook)))


def _stop(hook: Hook) -> FirstLook:
    own = _own(hook)
    return FirstLook(tuple(glance for glance in own if not glance.is_child and glance.status == "active"))


def _subagent_stop(hook: Hook) -> FirstLook:
    child = _child_of(hook)
    return FirstLook((child,)) if child is not None and child.status == "active" else NOTHING_FOUND


def _pre_tool_use(hook: Hook) -> FirstLook:
    if not hook.input.tool or _in_database(hook):
        return NOTHING_FOUND
    glances = _worked_on(hook)
    rules = [_forbidding_rule(glance, hook) for glance in glances]
    forbidding_sessions = tuple(
        glance for glance, rule in zip(glances, rules, strict=True) if rule is not None
    )
    return FirstLook(forbidding_sessions, tuple(rule for rule in rules if rule is not None))


def _forbidding_rule(glance: SessionGlance, hook: Hook) -> str | None:
    """Return the rule of a session's step that the tool meets."""
    rules = fast_lookup.step_of(glance, _FORBIDS).get("forbids")
    project = _project(glance, hook)
    work = os.path.join(glance.folder.path, "sessions", glance.id, "work")
    used = ToolUse(hook.input.tool, hook.input.tool_input, hook.input.cwd, project, hook.home, work)
    return forbidding(rules, used) if isinstance(rules, list) else None


def _post_tool_use(hook: Hook) -> FirstLook:
    """Return the sessions whose step ran the command; note the child session of a sub-agent."""
    command = hook.input.tool_input.get("command", "")
    if hook.input.tool not in SHELLS or not isinstance(command, str):
        return NOTHING_FOUND
    if hook.input.agent is not None and "flow" in command:
        _note_claim(hook.input.agent, command, hook)
    return _with_step(hook) if _has_ended(hook) else NOTHING_FOUND


def _note_claim(agent: str, command: str, hook: Hook) -> None:
    """Note the first child session that a sub-agent's *command* names."""
    for named in subagents.named_work(command):
        folders = _session_folders(hook)
        if named.store is not None and folders and "://" not in named.store:
            path = os.path.abspath(os.path.join(hook.input.cwd, named.store))
            folders = [SessionFolder(path, path)]
        for folder in folders:
            claim = _claim_in(folder, named)
            if claim is not None:
                subagents.note_claim(hook.state, agent, claim)
                return


def _post_tool_use_failure(hook: Hook) -> FirstLook:
    """Return the sessions whose step ran a command that failed."""
    is_shell = hook.input.tool in SHELLS and isinstance(hook.input.tool_input.get("command"), str)
    if not is_shell or hook.input.interrupted:
        return NOTHING_FOUND
    return _with_step(hook)


def _has_ended(hook: Hook) -> bool:
    """Return whether a command has ended, and without an interpretation of its exit status as harmless.

    Hosts whose answer has another form report failed commands in the same way, so their events prove nothing.
    """
    tool_input, response = hook.input.tool_input, hook.input.response
    if tool_input.get("run_in_background") or "stdout" not in response:
        return False
    return not any(
        response.get(name) for name in ("interrupted", "backgroundTaskId", "returnCodeInterpretation")
    )


def _with_step(hook: Hook) -> FirstLook:
    """Return the sessions of the caller that are in a step."""
    return NOTHING_FOUND if _in_database(hook) else FirstLook(tuple(_worked_on(hook)))


def _claim_in(folder: SessionFolder, named: subagents.NamedWork) -> Claim | None:
    """Return the child session that a command names."""
    match = _lookup(folder).session_at(folder, named.session)
    if match is None or not match[0].is_child:
        return None
    return Claim("" if folder.address else folder.path, match[0].id)


def _project(glance: SessionGlance, hook: Hook) -> str:
    """Return the project of a session: rules name paths relative to it."""
    if not hook.environ.get("FLOW_STORE"):
        return os.path.dirname(glance.folder.path)
    project = hook.environ.get("CLAUDE_PROJECT_DIR", "")
    return find_project_root(project if os.path.isabs(project) else hook.input.cwd)


def _own(hook: Hook) -> list[SessionGlance]:
    """Return the open sessions of this conversation, newest first."""
    if not hook.input.conversations:
        return []
    glances = [
        glance
        for folder in _session_folders(hook)
        for glance in _lookup(folder).sessions_of(folder, hook.input.conversations)
    ]
    return sorted(glances, key=lambda glance: glance.moved_at, reverse=True)


def _worked_on(hook: Hook) -> list[SessionGlance]:
    """Return the open sessions that the caller itself works on: the conversation's own, or the sub-agent's."""
    if hook.input.agent is None:
        return [glance for glance in _own(hook) if not glance.is_child]
    child = _child_of(hook)
    return [child] if child is not None else []


def _session_folders(hook: Hook) -> list[fast_lookup.SessionFolder]:
    """Return where sessions may be. A user without a key has started none in files."""
    if not os.path.exists(os.path.join(hook.state, "key")) and not _in_database(hook):
        return []
    return fast_lookup.session_folders(hook.input.cwd, hook.environ, hook.home)


def _in_database(hook: Hook) -> bool:
    return "://" in fast_lookup.named_store(hook.environ, hook.home)


class _Lookup(Protocol):
    """How sessions are found: in files, or in a database."""

    def sessions_of(self, folder: SessionFolder, conversations: Sequence[str]) -> Iterator[SessionGlance]: ...
    def ended_sessions_of(self, folder: SessionFolder, conversation: str) -> Iterator[SessionGlance]: ...
    def session_at(
        self, folder: SessionFolder, session_id: str
    ) -> tuple[SessionGlance, Mapping[str, object]] | None: ...


def _lookup(folder: SessionFolder) -> _Lookup:
    if not folder.address:
        return fast_lookup
    from flowrail.hooks import database_lookup  # needs the extra `sql`, and 200 ms

    return database_lookup


def _folder_of(claim: Claim, hook: Hook) -> fast_lookup.SessionFolder | None:
    """Return the store of a claim; `None` for a database that is not in use any more."""
    if claim.store:
        return SessionFolder(claim.store, None)
    folders = _session_folders(hook)
    return next((folder for folder in folders if folder.address), None)


def _child_of(hook: Hook) -> SessionGlance | None:
    """Return the open session that a sub-agent works on: the one that it claimed."""
    if hook.input.agent is None:
        return None
    claim = subagents.claim_of(hook.state, hook.input.agent)
    if claim is not None:
        folder = _folder_of(claim, hook)
        match = _lookup(folder).session_at(folder, claim.session) if folder is not None else None
        return match[0] if match is not None else None
    # A host may give each sub-agent a conversation of its own, which then claimed the work.
    own = [glance for glance in _own(hook._replace(input=hook.input._replace(host=None))) if glance.is_child]
    return own[0] if own else None


def _export_conversation(hook: Hook) -> None:
    """Export the conversation's id to its shell, if the host offers a file for that and does not export it."""
    path = hook.environ.get("CLAUDE_ENV_FILE", "")
    if hook.input.host is None or not os.path.isabs(path) or hook.environ.get("CLAUDE_CODE_SESSION_ID"):
        return
    with suppress(OSError), open(path, "a", encoding="utf-8") as file:
        file.write(f"export FLOW_HOST_SESSION={hook.input.host}\n")


_LOOKS = {
    SESSION_START: _session_start,
    SESSION_END: _session_end,
    STOP: _stop,
    SUBAGENT_STOP: _subagent_stop,
    PRE_TOOL_USE: _pre_tool_use,
    POST_TOOL_USE: _post_tool_use,
    POST_TOOL_USE_FAILURE: _post_tool_use_failure,
}
