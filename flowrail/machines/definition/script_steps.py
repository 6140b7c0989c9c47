"""Types for scripts that print their own steps: where a step leads, and the next command.

New procedures are a `Workflow`, with outcomes and step ids. These classes serve scripts
that print their own steps, and the formatters that such scripts call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class LinearRouting:
    """The next step by number."""


@dataclass(frozen=True)
class BranchRouting:
    """One step if the work or its review passed, another one if not."""

    if_pass: int
    if_fail: int


@dataclass(frozen=True)
class TerminalRouting:
    """No next step: this is the last one."""


Routing: TypeAlias = LinearRouting | BranchRouting | TerminalRouting


@dataclass(frozen=True)
class Step:
    """One step of a script: its name, its instructions, its routing."""

    title: str
    actions: Sequence[str] = ()
    routing: Routing = field(default_factory=LinearRouting)
    phase: str | None = None

    def __post_init__(self) -> None:
        actions = (self.actions,) if isinstance(self.actions, str) else tuple(self.actions)
        object.__setattr__(self, "actions", actions)


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
"""What follows a step; nothing does after the last one."""


@dataclass(frozen=True)
class GuidanceResult:
    """The output of a script for one step: the values that `format_step_output` puts into XML."""

    title: str
    actions: Sequence[str] = ()
    next_command: NextCommand = None

    def __post_init__(self) -> None:
        actions = (self.actions,) if isinstance(self.actions, str) else tuple(self.actions)
        object.__setattr__(self, "actions", actions)


StepOutput: TypeAlias = GuidanceResult
"""The same, as a handler of such a script calls what it returns."""
