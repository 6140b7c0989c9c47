"""`flow hook EVENT`: answer one event of a host.

A host calls it for every tool that an agent uses. `flowrail.__main__` therefore answers it without the command line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from flowrail.hooks.entry import answer_of
from flowrail.hosts.host import Answer
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.report import Report

Event = Literal[
    "session-start",
    "session-end",
    "stop",
    "subagent-stop",
    "pre-tool-use",
    "post-tool-use",
    "post-tool-use-failure",
]


@dataclass(frozen=True)
class HookAnswer:
    """The answer to an event."""

    answer: Answer
    """The JSON object that the host reads."""

    def report(self) -> Report:
        """Return the JSON that the host reads."""
        yield json.dumps(self.answer)


@operation("hook", "flow hook stop")
def hook(
    environment: Environment,
    event: Annotated[Event, Help("What happens in the host.")],
) -> HookAnswer:
    """Answer an event of an agent's host: JSON in, JSON out

    `flow setup` writes these commands to the host's settings. A host calls a hook with one JSON object on standard
    input and reads one from standard output. If there is nothing to say, if the session belongs to another
    conversation, or if anything fails, the answer is {}, the exit status is 0, and the agent may stop.

    session-start lists the open sessions. session-end records that a conversation has ended. stop and subagent-stop
    keep an agent working until its session ends or waits for the user. pre-tool-use denies tools that the step
    forbids, commands that flow runs, and commands with which a person decides. post-tool-use and post-tool-use-failure
    note the shell commands of a step, and say once if an edit made the result of a command stale.
    """
    del environment
    return HookAnswer(answer_of(event))
