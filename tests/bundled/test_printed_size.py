"""A step of a bundled skill is short enough to be read: instructions, resources and commands, as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from support.sandbox import BUNDLED

from flowrail.command import Command
from flowrail.machines.next_step import TransitionKey
from flowrail.machines.walks.plan import Walk
from flowrail.operations.environment import Environment
from flowrail.skills.catalog import listing, workflows
from flowrail.testing.walks.play import Player
from flowrail.testing.walks.run import plan_walks, stage_for
from flowrail.testing.walks.stage import Reply, Stage

MOST_PRINTED = 4096
"""Bytes of an answer that shows a step or hands out work."""
MOST_MEDIAN = 1536
"""Bytes of the instructions of a step, with resources; without what every step with agents says of questions."""


class Printed(NamedTuple):
    """How long an answer is: all of it, and its instructions, in bytes."""

    answer: int
    text: int


class MeasuringStage(Stage):
    """Keeps the longest answer of each step and each dispatch."""

    def __init__(self, world: Environment, longest: dict[str, Printed]) -> None:
        super().__init__(world)
        self.longest = longest

    def run(self, command: Command) -> Reply:
        reply = super().run(command)
        if command.verb == "step" and not reply.problem:
            step = reply.data.get("step")
            name = " ".join(command.arguments)
            if step:
                later = " again" if step["attempt"] > 1 else ""
                name = f"{reply.data['skill']} {step['id']}{later}"
            own = (
                [action for action in reply.data["actions"] if not action.startswith("<question_")]
                if step
                else []
            )
            answer = reply.result.xml().replace(f" --store {self.environment.store.path}", "")
            printed = Printed(_bytes(answer), _bytes("\n".join(own)))
            self.longest[name] = max(self.longest.get(name, printed), printed)
        return reply


def _bytes(text: str) -> int:
    return len(text.encode())


def measured(skill: str) -> dict[str, Printed]:
    """Return the longest answer of each step, from walks that take every transition."""
    files = [file for found in listing(()) if found.name == skill for file in workflows(found)]
    longest: dict[str, Printed] = {}

    with stage_for(files, Environment()) as plain:
        stage = MeasuringStage(plain.environment.replaced(shown_store=None), longest)
        player = Player(stage)
        for file in files:
            plan, result = plan_walks(stage, file.address)
            assert plan is not None, result
            assert not result.missing
            for walk in covering(plan.walks):
                played = player.play(file.address, walk)
                assert played.passed, played
    return longest


def covering(walks: Sequence[Walk]) -> Iterator[Walk]:
    """Yield the walks that take a transition which no earlier one takes."""
    taken: set[TransitionKey] = set()
    for walk in walks:
        if not taken.issuperset(walk.transitions):
            taken.update(walk.transitions)
            yield walk


def test_no_answer_is_longer_than_the_limit_and_half_of_the_instructions_are_short() -> None:
    printed = {name: size for skill in BUNDLED for name, size in measured(skill).items()}

    assert {name: size for name, size in printed.items() if size.answer > MOST_PRINTED} == {}
    assert median(size.text for size in printed.values() if size.text) <= MOST_MEDIAN
