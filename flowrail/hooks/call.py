"""A call of a hook: what the host says, and where and when it runs.

A value that does not have the form that hosts document is ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from flowrail.hosts.conversation import usable
from flowrail.hosts.host import Host, host_of_input
from flowrail.rules.tools import EDITS, ToolUse

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Any


class Call:
    """What happens in a host, and in which environment."""

    def __init__(
        self,
        received: Mapping[str, object],
        host: Host,
        *,
        environ: Mapping[str, str],
        home: str,
        state: str,
        now: str,
        cwd: str,
    ) -> None:
        """*received* is the input of the hook, and *cwd* the folder if the input names none."""
        keys = host.input_keys
        named, tasks = _text(received, keys.cwd), received.get(keys.background_tasks)
        self.host = host
        """A host whose hooks have this form of input and answers."""
        self.environ = environ
        self.home = home
        self.state = state
        """The user's own state folder."""
        self.now = now
        """When it was called."""
        self.cwd = named if os.path.isabs(named) else cwd
        self.conversation = usable(received.get(keys.conversation))
        self.agent = usable(received.get(keys.agent))
        """The id of the sub-agent."""
        self.tool = _text(received, keys.tool)
        self.tool_input = _object(received, keys.tool_input)
        self.response = _object(received, keys.response)
        """The answer of a tool that succeeded."""
        self.is_interrupted = received.get(keys.interrupted) is True
        self.has_background_tasks = bool(tasks) if isinstance(tasks, list) else None
        """Whether the host still runs background tasks; `None` if it does not say."""

    @property
    def conversations(self) -> tuple[str, ...]:
        """The ids that a session of this agent may be bound to: its own, then the conversation's."""
        return tuple(known for known in (self.agent, self.conversation) if known)

    @property
    def shell_line(self) -> str:
        """The line that a shell runs, or nothing."""
        return self.tool_use(self.cwd).line

    @property
    def is_edit(self) -> bool:
        """Whether the tool changes files."""
        return self.tool in EDITS

    def tool_use(self, project: str, work: str = "") -> ToolUse:
        """Return the use of the tool in a project. *work* is the folder with the session's own files."""
        return ToolUse(self.tool, self.tool_input, self.cwd, project, self.home, work)


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
    host = host_of_input(event, received)
    return Call(received, host, environ=environ, home=home, state=state, now=now, cwd=cwd)


def _text(received: Mapping[str, object], key: str) -> str:
    value = received.get(key)
    return value if isinstance(value, str) and "\0" not in value else ""


def _object(received: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = received.get(key)
    return value if isinstance(value, dict) else {}
