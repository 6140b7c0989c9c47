"""What a small plan prints to an agent that plays all roles: the price of fresh reviews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.sandbox import Ran
from support.simulated_agents import Habit, StepOutput, Team

MOST_PRINTED = 140_000
"""Bytes of a plan for a small change whose plan and code are each sent back once."""


PROJECT = "/home/ada/project"
"""Printed in place of the folder of the project, so that the length of its path does not count."""
START = "flow step planner -p task='add rate limiting'"
CHEAPER = f"{START} -p policy='none / 1-4 / 5+'"


@dataclass
class MeasuringTeam(Team):
    """Counts the bytes that the commands print."""

    printed: int = 0

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        ran = super()._ran(line, refused=refused)
        self.printed += len(ran.out.replace(str(Path.cwd()), PROJECT).encode())
        return ran


class OneFinding(Habit):
    """Reviewers who find something in the first round of the reviews that are named."""

    def __init__(self, *reviews: str) -> None:
        self.left = list(reviews)

    def found(self, output: StepOutput) -> Sequence[str]:
        if output.skill not in self.left:
            return []
        self.left.remove(output.skill)
        return ["COULD"]


BOTH = ("planner/plan-completeness", "planner/plan-code")


@pytest.mark.parametrize(
    ("start", "reviews", "most"),
    [
        (START, (), 85_000),
        pytest.param(START, ("planner/plan-code",), 118_000, marks=pytest.mark.long),
        (START, BOTH, MOST_PRINTED),
        (CHEAPER, BOTH, 85_000),
    ],
    ids=["nothing found", "the code once", "the plan and the code once", "both, and nobody repairs a COULD"],
)
def test_a_small_plan_prints_little(start: str, reviews: tuple[str, ...], most: int) -> None:
    team = MeasuringTeam(OneFinding(*reviews))

    end = team.run(start)

    assert (end.status, team.habit.left) == ("completed", [])  # type: ignore[attr-defined]
    assert team.printed < most, (team.commands, team.printed)
