"""Commands for sessions: the group `flow session`, and `sessions`, `history` and `audit` of the top level."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_COMMANDS = "flowrail.cli.commands.sessions"
_CHANGE, _KEEP = "Change", "Keep"

command = LazyGroup(
    name="session",
    help="Change, verify and delete sessions",
    table={
        "rewind": Entry(f"{_COMMANDS}.rewind", _CHANGE, "Take a session back to an earlier revision"),
        "fork": Entry(
            f"{_COMMANDS}.fork", _CHANGE, "Start a new session from an earlier revision of another"
        ),
        "migrate": Entry(f"{_COMMANDS}.migrate", _CHANGE, "Move a session to a changed workflow"),
        "abandon": Entry(f"{_COMMANDS}.abandon", _CHANGE, "End a session that will not be finished"),
        "verify": Entry(f"{_COMMANDS}.verify", _KEEP, "Check that sessions are as they were written"),
        "adopt": Entry(f"{_COMMANDS}.adopt", _KEEP, "Make a foreign session yours"),
        "prune": Entry(f"{_COMMANDS}.prune", _KEEP, "Delete old sessions that have ended"),
    },
)
