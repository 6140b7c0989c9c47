"""A call of a hook: what the host says, and where and when it runs.

A value that does not have the form that hosts document is ignored. No dataclasses: importing them takes as long as
starting Python, and a host calls a hook for every tool.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.hosts.host import Host, calling_host
from flowrail.rules.tools import EDITS, SHELLS, ToolUse
from flowrail.text.safe_text import in_quotes, shortened

_CONVERSATION = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z"


class Call(NamedTuple):
    """What happens in a host, and in which environment."""

    host: Host
    """A host whose hooks have this form of input and answers."""
    environ: Mapping[str, str]
    home: str
    state: str
    """The user's own state folder."""
    now: str
    """When it was called."""
    cwd: str
    conversation: str | None = None
    agent: str | None = None
    """The id of the sub-agent."""
    tool: str = ""
    tool_input: Mapping[str, Any] = {}
    response: Mapping[str, Any] = {}
    """The answer of a tool that succeeded."""
    is_interrupted: bool = False
    has_background_tasks: bool | None = None
    """Whether the host still runs background tasks; `None` if it does not say."""

    @property
    def conversations(self) -> tuple[str, ...]:
        """The ids that a session of this agent may be bound to: its own, then the conversation's."""
        return tuple(known for known in (self.agent, self.conversation) if known)

    @property
    def shell_line(self) -> str:
        """The line that a shell runs, or nothing."""
        line = self.tool_input.get("command") if self.tool in SHELLS else None
        return line if isinstance(line, str) else ""

    @property
    def is_edit(self) -> bool:
        """Whether the tool changes files."""
        return self.tool in EDITS

    def tool_use(self, project: str, work: str = "") -> ToolUse:
        """Return the use of the tool in a project. *work* is the folder with the session's own files."""
        return ToolUse(self.tool, self.tool_input, self.cwd, project, self.home, work)


class Pending(NamedTuple):
    """What a look found: the module that answers, and what it is about."""

    module: str
    found: tuple[Any, ...] = ()


def read_call(
    event: str, data: bytes, *, environ: Mapping[str, str], home: str, state: str, now: str, cwd: str
) -> Call | None:
    """Return the call at *event* with the input *data*, or `None` if it is not an object."""
    try:
        received = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(received, dict):
        return None
    host = calling_host(event, received)
    keys = host.input_keys
    named, tasks = _text(received, keys.cwd), received.get(keys.background_tasks)
    return Call(
        host,
        environ,
        home,
        state,
        now,
        named if os.path.isabs(named) else cwd,
        _id(received, keys.conversation),
        _id(received, keys.agent),
        _text(received, keys.tool),
        _object(received, keys.tool_input),
        _object(received, keys.response),
        received.get(keys.interrupted) is True,
        bool(tasks) if isinstance(tasks, list) else None,
    )


def plain(text: object) -> str:
    """Return a short text that can be between back quotes."""
    return in_quotes(shortened(str(text), 80))


def _id(received: Mapping[str, object], key: str) -> str | None:
    value = received.get(key)
    return value if isinstance(value, str) and re.match(_CONVERSATION, value) else None


def _text(received: Mapping[str, object], key: str) -> str:
    value = received.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


def _object(received: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = received.get(key)
    return value if isinstance(value, dict) else {}
