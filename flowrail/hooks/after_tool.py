"""After a tool was used: a first look at whether a session notes it."""

from __future__ import annotations

from flowrail.hooks.call import Call
from flowrail.hooks.first_look import own_sessions
from flowrail.rules.tools import is_ours


def look(event: str, call: Call) -> tuple[()] | None:
    """Return whether a session of the caller, or one that a sub-agent names, notes the call: `()`, otherwise `None`."""
    del event
    if call.agent is not None and "flow" in call.shell_line:
        return ()
    is_noted = (call.shell_line and not is_ours(call.shell_line)) or call.is_edit
    return () if is_noted and own_sessions(call) else None
