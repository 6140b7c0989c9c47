"""Which conversation of an agent's host goes on with a session, and how often it was held there.

Standard library only: hooks come through here on every tool that an agent uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

VARIABLES = ("FLOW_HOST_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Where hosts tell the commands that they run which conversation this is; ours first."""
HELD = "held"
"""The kind of record by which it is counted that an agent was kept from ending its turn."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")


def host_id(environ: Mapping[str, str]) -> str | None:
    """Return the conversation that a command was called in, as its host names it."""
    return next((found for name in VARIABLES if (found := usable(environ.get(name)))), None)


def usable(value: object) -> str | None:
    """Return *value* where it can name a conversation."""
    return value if isinstance(value, str) and _ID.match(value) else None
