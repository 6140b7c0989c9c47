"""What a small plan prints in all: the price of fresh reviews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from support.sandbox import Ran
from support.simulated_agents import Habit, StepOutput, Team

MOST_PRINTED = 145_000
"""Bytes of a plan for a small change whose plan and code are each sent back once."""


@dataclass
class MeasuringTeam(Team):
    """Counts what is printed."""

    printed: int = 0

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        ran = super()._ran(line, refused=refused)
        self.printed += len(ran.out.encode())
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


@pytest.mark.parametrize(
    ("reviews", "most"),
    [
        ((), 90_000),
        pytest.param(("planner/plan-code",), 125_000, marks=pytest.mark.long),
        (("planner/plan-completeness", "planner/plan-code"), MOST_PRINTED),
    ],
    ids=["nothing found", "the code once", "the plan and the code once"],
)
def test_a_small_plan_prints_little(reviews: tuple[str, ...], most: int) -> None:
    team = MeasuringTeam(OneFinding(*reviews))

    end = team.run("flow step planner -p task='add rate limiting'")

    assert (end.status, team.habit.left) == ("completed", [])  # type: ignore[attr-defined]
    assert team.printed < most, (team.commands, team.printed)
