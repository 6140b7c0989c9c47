"""Work for sub-agents, as a step declares it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from flowrail.machines.frozen import FILLED, TEXT, Definition, Frozen, NotInFiles, Scalar, Value, put

MOST_DISPATCHES = 200
"""The largest number of dispatches of one step."""
_JOIN = r"(?:all|any|at least (?P<least>[1-9][0-9]{0,2}))\Z"


class AgentRole(StrEnum):
    """Roles that every host knows. A dispatch may also name another agent of the host."""

    EXPLORE = "explore"
    GENERAL_PURPOSE = "general-purpose"
    DEVELOPER = "developer"
    QUALITY_REVIEWER = "quality-reviewer"
    TECHNICAL_WRITER = "technical-writer"


@dataclass(frozen=True)
class Dispatch(Definition):
    """Work for sub-agents: one dispatch for each item of ``over``, or a single one without ``over``.

    As ``dispatch`` of a step or in place of its handler. Without a ``workflow`` or a ``script``, the agent works
    from ``prompt``, and without that from the step's text.
    """

    agent: str = field(metadata={**TEXT, "examples": [str(role) for role in AgentRole]})
    """`explore`, `general-purpose`, `developer`, `quality-reviewer`, `technical-writer`, or an agent of the host."""
    workflow: str | None = None
    """The workflow that the agent runs, such as planner/explore."""
    over: str | Sequence[Scalar] | None = None
    """A list, or the name of a fact that is one. Each item is dispatched once, so none may be there twice."""
    vars: Mapping[str, Value] = field(default=Frozen(), metadata=FILLED)
    """The parameters of `workflow`. $item is the item; a placeholder alone keeps its type."""
    join: str = "all"
    """How many dispatches must succeed: all, any, or at least N."""
    model: str | None = field(default=None, metadata=TEXT)
    """The model to use, such as sonnet."""
    prompt: str | Sequence[str] = field(default=(), metadata={**TEXT, **FILLED})
    """Without `workflow`: the agent's instructions, or the .md file with them. By default, the step's own text."""
    script: Annotated[str | None, NotInFiles()] = None
    """The workflow that the agent runs, or a Python module to run."""
    total_steps: Annotated[int | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """How many steps the workflow has; checked if given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        is_module = isinstance(self.script, str) and "." in self.script
        put(
            self,
            agent=self.agent.value if isinstance(self.agent, AgentRole) else self.agent,
            workflow=self.workflow or (None if is_module else self.script) or None,
            script=self.script if is_module else None,
        )


def needed_by(join: str, total: int) -> int:
    """Return how many of *total* dispatches must succeed; `ValueError` if *join* is not a join."""
    match = re.match(_JOIN, join)
    if match is None:
        raise ValueError(f"invalid join `{join}`: write all, any or at least N")
    if join == "all":
        return total
    return int(match.group("least") or 1)
