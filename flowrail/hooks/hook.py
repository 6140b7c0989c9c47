"""A call of a hook: what the host says, and where and when it runs.

A value that does not have the form that hosts document is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.hosts.conversation import host_id, usable
from flowrail.hosts.host import CLAUDE_CODE, Host


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


def _text(received: Mapping[str, object], key: str) -> str:
    value = received.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


class Hook(NamedTuple):
    """A call of a hook. ``state`` is the user's own state folder."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]
    input: HookInput = HookInput()
    host: Host = CLAUDE_CODE
    """The host whose form the answer has."""
