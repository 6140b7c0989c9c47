"""A workflow as its file defines it, before the texts that it names are read."""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.machines.findings import Finding, Locate, UnplacedFinding
from flowrail.machines.workflow import Workflow


@dataclass(frozen=True)
class WrittenWorkflow:
    """What a file defines, before the texts that it names are read."""

    findings: list[Finding]
    """What is wrong with the file."""
    place: Locate
    """Returns where a path is written in the file."""
    workflow: Workflow | None = None
    """`None` if nothing of it can be read."""
    problems: tuple[UnplacedFinding, ...] = ()
    """Values of the wrong form, which the workflow does not have."""
    unread: frozenset[int] = frozenset()
    """The positions of the steps of the wrong form. Another step is in the place of each."""
