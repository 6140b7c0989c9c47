"""After a sub-agent ran a command that names its work: the child session in the database is noted."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.hooks import subagents
from flowrail.hooks.after_tool import named_folders
from flowrail.hooks.call import Call
from flowrail.hooks.stored import session_in_database, time_limit


def answer(event: str, call: Call, host: str) -> Mapping[str, object]:
    """Note the first child session that the command names."""
    del event, host
    with time_limit():
        for session_id, folder in named_folders(call):
            found = session_in_database(session_id, folder) if folder.address else None
            if found is not None and found.session.is_open and found.session.parent is not None:
                subagents.note_claim(call.state, str(call.agent), subagents.Claim("", session_id))
                break
    return {}
