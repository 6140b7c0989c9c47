"""`flow hook`."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_HERE = "flowrail.cli.commands.hook"
_EVENTS, _SETUP = "Called by a host: JSON in, JSON out", "Set up"

HELP = """Answer the hooks of an agent's host, and install them

A host calls a hook with one JSON object on standard input and reads one from standard output. If
there is nothing to say, if the session belongs to another conversation, or if anything fails, the
answer is {}, the exit status is 0, and the agent may stop.
"""

command = LazyGroup(
    name="hook",
    help=HELP,
    table={
        "install": Entry(f"{_HERE}.install", _SETUP, "Add our hooks to a host's settings"),
        "uninstall": Entry(f"{_HERE}.uninstall", _SETUP, "Remove our hooks from a host's settings"),
        "session-start": Entry(f"{_HERE}.session_start", _EVENTS, "List the open sessions for the agent"),
        "stop": Entry(f"{_HERE}.stop", _EVENTS, "Keep an agent working until its session ends"),
        "subagent-stop": Entry(
            f"{_HERE}.subagent_stop", _EVENTS, "Keep a sub-agent working until its session ends"
        ),
        "pre-tool-use": Entry(f"{_HERE}.pre_tool_use", _EVENTS, "Deny a tool that the current step forbids"),
        "plugin": Entry(f"{_HERE}.plugin", _SETUP, "Write a Claude Code plugin: hooks and skills in one"),
    },
)
