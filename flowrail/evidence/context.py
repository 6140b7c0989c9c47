"""What a check is evaluated with, and what its evaluation found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.evidence_results import CommandRun, StepEvidence


class Context(NamedTuple):
    """The session and the values with which checks are evaluated."""

    evidence: StepEvidence
    values: Mapping[str, object]
    """The values of placeholders."""
    session: str
    run_of: Callable[[str], tuple[CommandRun | None, str]]
    """From the name of a command to its newest run that counts, and the first file that changed since, if any."""
    is_reviewed: bool = False
    """Whether a review was submitted."""
    open_findings: tuple[str, ...] = ()
    store: str | None = None

    @property
    def folder(self) -> str:
        """The folder of the project, fixed when the step was entered."""
        return self.evidence.folder


class Found(NamedTuple):
    """The verdict of a check, what was found, and what to do about it."""

    verdict: Verdict
    found: str
    remedy: str = ""
