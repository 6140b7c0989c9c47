"""`flow hook`."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_HERE = "flowrail.cli.commands.hook"
_EVENTS, _SETUP = "Called by a host: JSON in, JSON out", "Set up"

HELP = """Answer the hooks of an agent's host, and install them

A host calls a hook with one JSON object on standard input and reads one from standard output. Where
there is nothing to say, where the session is another conversation's, and whatever goes wrong, the
answer is {}, the exit status 0, and the agent is let go.
"""

command = LazyGroup(
    name="hook",
    help=HELP,
    table={
        "install": Entry(f"{_HERE}.install", _SETUP, "Add our hooks to a host's settings"),
        "uninstall": Entry(f"{_HERE}.uninstall", _SETUP, "Remove our hooks from a host's settings"),
        "session-start": Entry(f"{_HERE}.session_start", _EVENTS, "Tell which sessions are open here"),
        "stop": Entry(f"{_HERE}.stop", _EVENTS, "Keep an agent at a procedure that is not finished"),
        "subagent-stop": Entry(
            f"{_HERE}.subagent_stop", _EVENTS, "The same for an agent that works for another"
        ),
        "pre-tool-use": Entry(f"{_HERE}.pre_tool_use", _EVENTS, "Deny a tool that the current step forbids"),
        "plugin": Entry(f"{_HERE}.plugin", _SETUP, "Write a Claude Code plugin: hooks and skills in one"),
    },
)
