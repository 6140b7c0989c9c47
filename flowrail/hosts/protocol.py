"""The protocol between a host and a hook: one JSON object each way.

A value that does not have the form that hosts document is ignored. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.hosts.conversation import host_id, usable

SESSION_START, SESSION_END, STOP = "session-start", "session-end", "stop"
SUBAGENT_STOP, PRE_TOOL_USE, POST_TOOL_USE = "subagent-stop", "pre-tool-use", "post-tool-use"
POST_TOOL_USE_FAILURE = "post-tool-use-failure"
EVENTS = {
    SESSION_START: "SessionStart",
    SESSION_END: "SessionEnd",
    STOP: "Stop",
    SUBAGENT_STOP: "SubagentStop",
    PRE_TOOL_USE: "PreToolUse",
    POST_TOOL_USE: "PostToolUse",
    POST_TOOL_USE_FAILURE: "PostToolUseFailure",
}
"""Our name of each hook, and the event of the hosts."""
LONGEST = 4_000
"""The most characters of an answer's text, which becomes part of the agent's context."""
Answer = Mapping[str, object]
NOTHING: Answer = {}


class HookInput(NamedTuple):
    """The input of a hook: which conversation and agent, where, and what happens.

    ``background`` is whether the host still runs background tasks, `None` if the host does not say. ``response`` is the
    answer of a tool that succeeded, ``error`` that of one that failed. ``seconds`` is how long it took, `None` if the
    host does not say.
    """

    host: str | None = None
    agent: str | None = None
    cwd: str = ""
    source: str = ""
    tool: str = ""
    tool_input: Mapping[str, Any] = {}
    background: bool | None = None
    response: Mapping[str, Any] = {}
    error: str = ""
    interrupted: bool = False
    seconds: float | None = None

    @property
    def conversations(self) -> tuple[str, ...]:
        """The ids that a session of this agent may be bound to: its own, then the conversation's."""
        return tuple(conversation for conversation in (self.agent, self.host) if conversation)


def read_input(data: bytes, environ: Mapping[str, str]) -> HookInput | None:
    """Return the input in *data*, or `None` if it is not an object."""
    try:
        received = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(received, dict):
        return None
    tool_input, tasks = received.get("tool_input"), received.get("background_tasks")
    response, took = received.get("tool_response"), received.get("duration_ms")
    return HookInput(
        host=usable(received.get("session_id")) or host_id(environ),
        agent=usable(received.get("agent_id")),
        cwd=_text(received, "cwd"),
        source=_text(received, "source"),
        tool=_text(received, "tool_name"),
        tool_input=tool_input if isinstance(tool_input, dict) else {},
        background=bool(tasks) if isinstance(tasks, list) else None,
        response=response if isinstance(response, dict) else {},
        error=_text(received, "error"),
        interrupted=received.get("is_interrupt") is True,
        seconds=took / 1000 if isinstance(took, int | float) else None,
    )


def context(text: str) -> Answer:
    """Return the answer that adds *text* to what the agent knows."""
    output = {"hookEventName": EVENTS[SESSION_START], "additionalContext": bounded(text)}
    return {"hookSpecificOutput": output}


def block(reason: str) -> Answer:
    """Return the answer that keeps an agent from ending its turn."""
    return {"decision": "block", "reason": bounded(reason)}


def deny(reason: str) -> Answer:
    """Return the answer that keeps a tool from being used."""
    output = {
        "hookEventName": EVENTS[PRE_TOOL_USE],
        "permissionDecision": "deny",
        "permissionDecisionReason": bounded(reason),
    }
    return {"hookSpecificOutput": output}


def bounded(text: str) -> str:
    """Return *text*, cut if it is too long for an agent's context."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(received: Mapping[str, object], key: str) -> str:
    value = received.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""
