"""The start and end of a conversation and of a turn: what is said about sessions, if a first look finds any."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from flowrail.hooks import first_look, guards, subagents
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import ENDED, FoundSession

if TYPE_CHECKING:
    from flowrail.hosts.host import Host

MOST_READ = 200
"""When a conversation begins, at most this many sessions are read, newest first."""


def answer(event: str, call: Call, host: str) -> Mapping[str, object]:
    """Return the answer to *event* in the form of *host*, which is empty if there is nothing to say."""
    if event == "session-start":
        _export_conversation(call)
    elif event == "session-end":
        subagents.forget_old_claims(call.state)
    if first_look.is_in_database(call):
        from flowrail.hooks.stored import time_limit  # needs the extra `sql`, and 200 ms

        with time_limit():
            return _answer_from_stores(event, call, host, None)
    found = _sessions(event, call)
    if found:
        return _answer_from_stores(event, call, host, found)
    text = guards.overview(call) if event == "session-start" else ""
    return _host(host).context(event, text) if text else {}


def _host(name: str) -> Host:
    from flowrail.hosts.host import host_named  # dataclasses, which take as long as starting Python

    return host_named(name)


def _sessions(event: str, call: Call) -> list[FoundSession]:
    """Return the sessions in files that an event is about."""
    folders = first_look.store_folders(call)
    if event == "subagent-stop":
        child = first_look.child_of(call, folders)
        found = [child] if child is not None else []
    elif event == "session-start":
        ended = [call.conversation] if call.conversation is not None else []
        found = [each for folder in folders for each in first_look.all_open(folder)]
        found += [each for folder in folders for each in first_look.sessions_of(folder, ended, ENDED)]
        found.sort(key=lambda each: str(each.data["moved_at"]), reverse=True)
        found = [each for each in found if not each.is_child][:MOST_READ]
    else:
        found = [each for folder in folders for each in first_look.sessions_of(folder, call.conversations)]
    if event == "stop":
        found = [each for each in found if not each.is_child]
    return [each for each in found if each.data["status"] == "active" or event.startswith("session")]


def _answer_from_stores(
    event: str, call: Call, host: str, found: list[FoundSession] | None
) -> Mapping[str, object]:
    """Return the answer from the stores; *found* is `None` if the store is a database."""
    from flowrail.hooks import session_start, stored, turns  # brings cattrs and the engine

    if found is not None:
        sessions = list(stored.stored_sessions(found, call))
    elif event == "subagent-stop":
        child = stored.database_child(call)
        sessions = [child] if child is not None else []
    else:
        sessions = stored.database_sessions(call)
        if event != "session-start":
            sessions = [each for each in sessions if each.session.is_open]
        if event == "stop":
            sessions = [each for each in sessions if not each.session.parent]
    if event == "session-start":
        text = "\n".join(filter(None, [session_start.overview(sessions, call), guards.overview(call)]))
        return _host(host).context(event, text) if text else {}
    if event == "session-end":
        turns.release_sessions(sessions, call)
        return {}
    reason = turns.reason_to_continue(sessions, call)
    return _host(host).block(reason) if reason else {}


def _export_conversation(call: Call) -> None:
    """Export the conversation's id to its shell, if the host offers a file for that and does not export it."""
    path = call.environ.get("CLAUDE_ENV_FILE", "")
    if call.conversation is None or not os.path.isabs(path) or call.environ.get("CLAUDE_CODE_SESSION_ID"):
        return
    with suppress(OSError), open(path, "a", encoding="utf-8") as file:
        file.write(f"export FLOW_HOST_SESSION={call.conversation}\n")
