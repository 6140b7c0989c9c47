"""Which conversation of an agent's host goes on with a session, and how often it was held there.

Standard library only: hooks come through here on every tool that an agent uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowrail.machines.sessions.session import Session

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


def bound(session: Session, host: str | None) -> Session:
    """Return *session* as that of the conversation *host*; as it is where there is none."""
    if host is None or session.host.get("id") == host:
        return session
    return session._replace(host={"id": host})


def is_of(host: object, ids: tuple[str, ...]) -> bool:
    """Return whether what a session says of its *host* names one of these conversations."""
    return isinstance(host, dict) and host.get("id") in ids


def times_held(host: Mapping[str, Any], revision: int) -> int:
    """Return how often an agent was held at that revision."""
    held = host.get(HELD)
    if not isinstance(held, dict) or held.get("revision") != revision:
        return 0
    times = held.get("times")
    return times if type(times) is int else 0


def held_once_more(session: Session) -> Session:
    """Return *session* with one more time that its agent was held where it stands."""
    times = times_held(session.host, session.revision) + 1
    return session._replace(host={**session.host, HELD: {"revision": session.revision, "times": times}})
