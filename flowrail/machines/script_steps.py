"""Types for scripts that print their own steps: the routing of a step, and the next command.

New scripts use a `Workflow`, with outcomes and step ids. These classes are for scripts
that print their own steps, and for the formatters that such scripts call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from flowrail.machines.frozen import Definition, put


class QRStatus(StrEnum):
    """The result of a review."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"


class LoopState(StrEnum):
    """The state of a review loop when one of its steps is entered."""

    INITIAL = "initial"
    RETRY = "retry"
    COMPLETE = "complete"


class Confidence(StrEnum):
    """How sure an agent is, from looking around to certainty."""

    EXPLORING = "exploring"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CERTAIN = "certain"


class DocumentAvailability(StrEnum):
    """Whether the document that a step works on exists."""

    PROVIDED = "provided"
    EXISTS = "exists"
    MISSING = "missing"


@dataclass(frozen=True)
class QRState:
    """The state of a review loop: the round, whether findings must be fixed, and the last verdict."""

    iteration: int = 1
    failed: bool = False
    status: QRStatus | str | None = None

    def __post_init__(self) -> None:
        put(self, status=QRStatus(self.status) if self.status is not None else None)

    @property
    def state(self) -> LoopState:
        """Return the state of the loop."""
        if self.status is QRStatus.PASS:
            return LoopState.COMPLETE
        return LoopState.RETRY if self.failed or self.iteration > 1 else LoopState.INITIAL

    @property
    def passed(self) -> bool:
        """Return whether the last review passed."""
        return self.status is QRStatus.PASS


@dataclass(frozen=True)
class LinearRouting:
    """The next step by number."""


@dataclass(frozen=True)
class BranchRouting:
    """The step after a success of the work or its review, and the step after a failure."""

    if_pass: int
    if_fail: int


@dataclass(frozen=True)
class TerminalRouting:
    """No next step: this is the last one."""


Routing: TypeAlias = LinearRouting | BranchRouting | TerminalRouting


@dataclass(frozen=True)
class Step(Definition):
    """One step of a script: its name, its instructions, its routing."""

    title: str
    actions: Sequence[str] = ()
    routing: Routing = field(default_factory=LinearRouting)
    phase: str | None = None


@dataclass(frozen=True)
class FlatCommand:
    """The only next command."""

    command: str


@dataclass(frozen=True)
class BranchCommand:
    """Two commands, one of which is next."""

    if_pass: str
    if_fail: str


NextCommand: TypeAlias = FlatCommand | BranchCommand | None
"""The next command of a step; `None` after the last one."""


@dataclass(frozen=True)
class GuidanceResult(Definition):
    """The output of a script for one step: the values that `format_step_output` puts into XML."""

    title: str
    actions: Sequence[str] = ()
    next_command: NextCommand = None


StepOutput: TypeAlias = GuidanceResult
"""Another name of `GuidanceResult`, for the return value of a handler of such a script."""
