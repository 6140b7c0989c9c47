"""What a host tells a hook, and what it wants to hear: one JSON object each way.

Whatever does not have the form that hosts document is taken as not said. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.sessions.host_binding import host_id, usable

SESSION_START, STOP, SUBAGENT_STOP, PRE_TOOL_USE = "session-start", "stop", "subagent-stop", "pre-tool-use"
EVENTS = {
    SESSION_START: "SessionStart",
    STOP: "Stop",
    SUBAGENT_STOP: "SubagentStop",
    PRE_TOOL_USE: "PreToolUse",
}
"""Our name of each hook, and the event of the hosts."""
LONGEST = 999
"""So many characters an answer's text has at most: it stands in somebody's context."""
Answer = Mapping[str, Any]
NOTHING: Answer = {}


class HookInput(NamedTuple):
    """What a hook was told: which conversation and agent, where, and what is about to happen.

    ``background`` is whether work goes on behind the conversation, `None` where the host does not say.
    """

    host: str | None = None
    agent: str | None = None
    cwd: str = ""
    source: str = ""
    transcript: str = ""
    tool: str = ""
    given: Mapping[str, Any] = {}
    background: bool | None = None

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names that a session of this agent may be bound to, the closest first."""
        return tuple(each for each in (self.agent, self.host) if each)


def read_input(data: bytes, environ: Mapping[str, str]) -> HookInput | None:
    """Return what *data* says, or `None` if it is not an object."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    given, tasks = said.get("tool_input"), said.get("background_tasks")
    return HookInput(
        host=usable(said.get("session_id")) or host_id(environ),
        agent=usable(said.get("agent_id")),
        cwd=_text(said, "cwd"),
        source=_text(said, "source"),
        transcript=_text(said, "agent_transcript_path"),
        tool=_text(said, "tool_name"),
        given=given if isinstance(given, dict) else {},
        background=bool(tasks) if isinstance(tasks, list) else None,
    )


def context(text: str) -> Answer:
    """Return the answer that adds *text* to what the agent knows."""
    told = {"hookEventName": EVENTS[SESSION_START], "additionalContext": bounded(text)}
    return {"hookSpecificOutput": told}


def block(reason: str) -> Answer:
    """Return the answer that lets an agent go on instead of ending its turn."""
    return {"decision": "block", "reason": bounded(reason)}


def deny(reason: str) -> Answer:
    """Return the answer that keeps a tool from being used."""
    told = {
        "hookEventName": EVENTS[PRE_TOOL_USE],
        "permissionDecision": "deny",
        "permissionDecisionReason": bounded(reason),
    }
    return {"hookSpecificOutput": told}


def bounded(text: str) -> str:
    """Return *text*, cut where it is too long for somebody's context."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(said: Mapping[str, object], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""
