"""The start and end of a conversation and of a turn: a first look at the sessions that something may be said about."""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.hooks import first_look, subagents
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession
from flowrail.hosts.host import HOSTS
from flowrail.session_status import ABANDONED, ACTIVE, ENDED

MOST_READ = 200
"""When a conversation begins, at most this many sessions are read, newest first."""
_WITH_RESULT = tuple(status for status in ENDED if status != ABANDONED)


def look(event: str, call: Call) -> tuple[list[FoundSession] | None] | None:
    """Return the sessions that *event* is about; `None` if there is nothing to say.

    Instead of the sessions there is `None` for a database, which has to be read.
    """
    if event == "session-start":
        _export_conversation(call)
    elif event == "session-end":
        subagents.forget_old_children(call.state)
    if first_look.is_in_database(call):
        return (None,)
    found = _sessions(event, call)
    is_guarded = event == "session-start" and first_look.may_guard(call)
    return (found,) if found or is_guarded else None


def _sessions(event: str, call: Call) -> list[FoundSession]:
    """Return the sessions in files that an event is about."""
    folders = first_look.store_folders(call)
    if event == "subagent-stop":
        child = first_look.child_of(call, folders)
        found = [child] if child is not None else []
    elif event == "session-start":
        ended = [call.conversation] if call.conversation is not None else []
        found = [each for folder in folders for each in first_look.all_open(folder)]
        found += [each for folder in folders for each in first_look.sessions_of(folder, ended, _WITH_RESULT)]
        found.sort(key=lambda each: str(each.data["moved_at"]), reverse=True)
        found = [each for each in found if not each.is_child][:MOST_READ]
    else:
        found = [each for folder in folders for each in first_look.sessions_of(folder, call.conversations)]
    if event == "stop":
        found = [each for each in found if not each.is_child]
    return [each for each in found if each.data["status"] == ACTIVE or event.startswith("session")]


def _export_conversation(call: Call) -> None:
    """Export the conversation's id to its shell, if the host offers a file for that and does not export it."""
    for host in HOSTS if call.conversation is not None else ():
        path = call.environ.get(host.shell_file, "")
        if os.path.isabs(path) and not call.environ.get(host.conversation):
            with suppress(OSError), open(path, "a", encoding="utf-8") as file:
                file.write(f"export FLOW_HOST_SESSION={call.conversation}\n")
