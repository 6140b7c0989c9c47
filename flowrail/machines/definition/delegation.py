"""Work that a step gives to sub-agents: the roles, what is dispatched, and how many must succeed."""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from flowrail.machines.definition.evidence import EvidenceCheck
from flowrail.machines.definition.frozen import Frozen, freeze, freeze_items
from flowrail.machines.definition.keys import DefinitionPart, Key, Scalar, Value

LEASE_SECONDS = 3_600
"""How long a dispatch stays reserved without a sign of life, unless its step sets `lease`."""
MOST_DISPATCHES = 200
"""How many dispatches a step makes at most."""
_JOIN = r"(?:all|any|at least (?P<least>[1-9][0-9]{0,2}))\Z"


class AgentRole(StrEnum):
    """Roles that every host knows. A dispatch may also name another agent of the host."""

    EXPLORE = "explore"
    GENERAL_PURPOSE = "general-purpose"
    DEVELOPER = "developer"
    QUALITY_REVIEWER = "quality-reviewer"
    TECHNICAL_WRITER = "technical-writer"


class Dispatch(DefinitionPart):
    """Work for sub-agents: one for each item of ``over``, otherwise one.

    As ``dispatch`` of a step or in place of its handler. ``script`` is the address of a workflow that the agent runs,
    or a Python module to run. Without it, or with ``free_form``, the agent works from ``prompt``, and without
    that from the step's text.
    """

    agent: Annotated[
        str,
        Key(
            "The agent: one of the five roles, or another agent that the host has.",
            is_name=True,
            decides=False,
            schema={"examples": [str(role) for role in AgentRole]},
        ),
    ]
    script: Annotated[
        str | None,
        Key("The workflow that the agent runs, such as planner/explore.", is_name=True, name="run", rank=1),
    ] = None
    over: Annotated[
        str | Sequence[Scalar] | None, Key("A list, or the fact that is one.", is_name=True, rank=2)
    ] = None
    context_vars: Annotated[
        Mapping[str, Value],
        Key(
            "The workflow's parameters. $item is the item; a name alone keeps its type.", name="vars", rank=3
        ),
    ] = Frozen()
    join: Annotated[str, Key("How many must succeed: all, any, or at least N.", is_name=True, rank=4)] = "all"
    model: Annotated[str | None, Key("The model to use, such as sonnet.", is_name=True, decides=False)] = None
    prompt: Annotated[
        Sequence[str],
        Key(
            "Without `run`: the file with the agent's instructions. By default, the step's own text.",
            file="prompt",
            decides=False,
        ),
    ] = ()
    lease: Annotated[
        float,
        Key(
            "How many seconds the dispatch stays reserved without a sign of life.",
            decides=False,
            schema={"minimum": 1},
        ),
    ] = LEASE_SECONDS
    free_form: Annotated[
        bool, Key("Whether the agent works from the step's text alone.", decides=False, in_file=False)
    ] = False
    evidence: Annotated[
        Sequence[EvidenceCheck],
        Key("Without `run`: the checks that must pass before `flow finish … ok` is accepted."),
    ] = ()
    total_steps: Annotated[
        int | None,
        Key("How many steps the workflow has; checked if given.", decides=False, in_file=False),
    ] = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if isinstance(self.over, list):
            put(self, "over", tuple(self.over))
        put(self, "context_vars", freeze(self.context_vars))
        if isinstance(self.agent, AgentRole):
            put(self, "agent", self.agent.value)
        put(self, "script", self.script or None)
        put(self, "prompt", freeze_items(self.prompt))
        put(self, "evidence", freeze_items(self.evidence))

    @property
    def run(self) -> str | None:
        """The address of the workflow that the agent runs; `None` if it works from a prompt."""
        return self.script if self.script and not self.free_form and "." not in self.script else None


def needed_by(join: str, total: int) -> int:
    """Return how many of *total* dispatches must succeed; `ValueError` if *join* is not a join."""
    found = re.match(_JOIN, join)
    if found is None:
        raise ValueError(f"invalid join `{join}`: write all, any or at least N")
    if join == "all":
        return total
    return int(found.group("least") or 1)
