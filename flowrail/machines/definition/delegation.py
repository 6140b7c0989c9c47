"""Work given to another agent: roles, what is dispatched, and how its result becomes an outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from flowrail.machines.definition.frozen import Frozen, freeze
from flowrail.machines.definition.gates import QRStatus
from flowrail.machines.definition.step import Outcome

MOST_DISPATCHES = 200
"""How many dispatches a step makes at most."""
_JOIN = re.compile(r"(?:all|any|at least (?P<least>[1-9][0-9]{0,2}))\Z")


class AgentRole(StrEnum):
    """Who a step can be given to."""

    EXPLORE = "explore"
    GENERAL_PURPOSE = "general-purpose"
    DEVELOPER = "developer"
    QUALITY_REVIEWER = "quality-reviewer"
    TECHNICAL_WRITER = "technical-writer"


@dataclass(frozen=True)
class Dispatch:
    """A step's work, given to an agent: ``script`` names the workflow that it runs.

    Without a script, or with ``free_form``, the agent works from the step's text alone. The
    orchestrator launches the agent, waits, and reports its result as an outcome.
    """

    agent: AgentRole | str
    script: str = ""
    context_vars: Mapping[str, Any] = field(default_factory=Frozen)
    free_form: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", AgentRole(self.agent))
        object.__setattr__(self, "context_vars", freeze(self.context_vars))


RESULTS: Mapping[QRStatus, Outcome] = freeze({QRStatus.PASS: Outcome.OK, QRStatus.FAIL: Outcome.FAIL})
"""The outcome that a reviewer's verdict stands for."""


def needed_by(join: str, total: int) -> int:
    """Return how many of *total* dispatches must succeed; `ValueError` if *join* is not a join."""
    found = _JOIN.match(join)
    if found is None:
        raise ValueError(f"`{join}` is no join; write all, any or at least N")
    if join == "all":
        return total
    return int(found.group("least") or 1)
