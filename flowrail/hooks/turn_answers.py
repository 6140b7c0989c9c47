"""The start and end of a conversation and of a turn: what is said about sessions, as their stores have them."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.hooks import guarded, session_start, stop, stored
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession
from flowrail.hooks.stored import HookSession
from flowrail.hosts.host import added_context, blocked_stop


def answer(event: str, call: Call, found: list[FoundSession] | None) -> Mapping[str, object]:
    """Return the answer to *event*; *found* is `None` if the store is a database."""
    if found is not None:
        return _answer(event, call, list(stored.stored_sessions(found, call)))
    with stored.time_limit():
        return _answer(event, call, _in_database(event, call))


def _in_database(event: str, call: Call) -> list[HookSession]:
    if event == "subagent-stop":
        child = stored.database_child(call)
        return [child] if child is not None else []
    sessions = stored.database_sessions(call)
    if event != "session-start":
        sessions = [each for each in sessions if each.session.is_open]
    return [each for each in sessions if event != "stop" or not each.session.parent]


def _answer(event: str, call: Call, sessions: list[HookSession]) -> Mapping[str, object]:
    if event == "session-start":
        text = "\n".join(filter(None, [session_start.overview(sessions, call), guarded.overview(call)]))
        return added_context(event, text) if text else {}
    if event == "session-end":
        stop.release_sessions(sessions, call)
        return {}
    reason = stop.reason_to_continue(sessions, call)
    return blocked_stop(reason) if reason else {}
