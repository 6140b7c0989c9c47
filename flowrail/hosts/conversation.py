"""Which conversation of a host runs a command."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.hosts.host import HOSTS

VARIABLES = ("FLOW_HOST_SESSION", *(host.conversation for host in HOSTS if host.conversation))
"""The environment variables that name the conversation of a command, ours first."""
MARKS = tuple(dict.fromkeys((*VARIABLES, *(mark for host in HOSTS for mark in host.marks))))
"""The environment variables that mark the shell of an agent. No person decides there."""
FLEET = "FLOW_FLEET"
"""The environment variable of an agent whose sub-agents are started by the workers of a fleet."""
FLEET_OWNER = "fleet"
"""The conversation that a session of a fleet belongs to until its first run, so that no other agent continues it unasked."""
HELD = "held"
"""The kind of record that counts how often an agent was kept from ending its turn."""
RELEASED = "released"
"""The kind of record that says that the conversation of a session has ended."""
_SHOWN = 8
_LONGEST_ID = 128
_SIGNS = str.maketrans("", "", "._:-")


def host_id(environ: Mapping[str, str]) -> str | None:
    """Return the conversation that a command was called in, by its host's id."""
    return next((conversation for name in VARIABLES if (conversation := usable(environ.get(name)))), None)


def agent_mark(environ: Mapping[str, str]) -> str:
    """Return the variable that marks the shell of an agent, or an empty text."""
    return next((name for name in MARKS if environ.get(name)), "")


def usable(value: object) -> str | None:
    """Return *value* if it can be the id of a conversation: letters, digits and `._:-`."""
    if not isinstance(value, str) or len(value) > _LONGEST_ID or not value.isascii():
        return None
    return value if value[:1].isalnum() and value.translate(_SIGNS).isalnum() else None


def short_id(conversation: str) -> str:
    """Return the id of a conversation as people read it: its beginning."""
    return f"conversation {conversation[:_SHOWN]}"
