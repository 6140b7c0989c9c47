"""A session at its current step, as commands print it: XML for agents, text for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowrail.formatters.data import as_data
from flowrail.formatters.guidance import blocks
from flowrail.machines.guidance.guide import Guidance
from flowrail.operations.environment import Environment
from flowrail.operations.running.steps import Answer
from flowrail.text.report import Report


@dataclass(frozen=True)
class ShownStep:
    """What an agent or a person reads about a session now."""

    guidance: Guidance

    def xml(self) -> str:
        """Return what an agent reads."""
        return blocks.xml(self.guidance)

    def report(self) -> Report:
        """Return what a person reads."""
        return blocks.report(self.guidance)

    def data(self) -> Mapping[str, Any]:
        """Return what a program reads."""
        data: Mapping[str, Any] = as_data(self.guidance)
        return data


def shown(environment: Environment, answer: Answer) -> ShownStep:
    """Return an answer as a result, after its notes were told."""
    for note in answer.notes:
        environment.tell(note)
    return ShownStep(answer.guidance)
