"""Review gates, as a step declares them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from flowrail.machines.dispatch import AgentRole
from flowrail.machines.frozen import TEXT, Definition, NotInFiles, put
from flowrail.text.validation import Bounds


@dataclass(frozen=True)
class GateConfig(Definition):
    """A review gate: its outcome follows from the findings that its review recorded.

    A step's ``gate`` needs ``review``; ``limit`` and ``policy`` set the number of rounds and the severities that
    block. The other fields are for scripts that print their own steps with the formatters: the number of the step
    that does the work, the step after a passed review, and the agent that fixes the findings.
    """

    name: str = field(default="", metadata=TEXT)
    """The purpose of the review, in a few words."""
    work_step: Annotated[int, NotInFiles()] = field(default=0, metadata=TEXT)
    """The number of the step that does the work."""
    pass_step: Annotated[int | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """The number of the step after a passed review."""
    pass_message: Annotated[str, NotInFiles()] = field(default="", metadata=TEXT)
    """The text after a passed review."""
    self_fix: Annotated[bool, NotInFiles()] = field(default=False, metadata=TEXT)
    """Whether the same agent fixes the findings."""
    fix_target: Annotated[AgentRole | None, NotInFiles()] = field(default=None, metadata=TEXT)
    """The agent that fixes the findings."""
    qr_name: Annotated[str, NotInFiles()] = field(default="", metadata=TEXT)
    """The name, as scripts give it."""
    review: str = ""
    """The step that reviews."""
    limit: Annotated[int, Bounds(ge=1)] = 5
    """After how many rounds the user is asked."""
    policy: str | None = None
    """In which rounds all, MUST and SHOULD, or MUST findings block: `1-2 / 3-4 / 5+` (the default) or `none / 1-4 / 5+`. Or
    the `$name` of a parameter with these choices."""

    def __post_init__(self) -> None:
        put(self, name=self.name or self.qr_name, qr_name="")
