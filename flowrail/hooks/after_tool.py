"""After a tool was used: a first look at whether a session notes it."""

from __future__ import annotations

from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, own_sessions
from flowrail.rules.tools import is_ours


def look(event: str, call: Call) -> tuple[FoundSession, ...] | None:
    """Return the sessions of the caller that note the call; none of them as long as a sub-agent may name its session.

    `None` if no session notes it.
    """
    del event
    if call.agent is not None and "flow" in call.shell_line:
        return ()
    is_noted = (call.shell_line and not is_ours(call.shell_line)) or call.is_edit
    return tuple(own_sessions(call)) or None if is_noted else None
