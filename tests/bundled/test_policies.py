"""Every policy of reporting ends every bundled workflow: first, last, by chance, and one outcome whenever possible.

The walks are in memory. `test_bundled.py` has walks by printed commands.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from flowrail.machines.session import Session
from flowrail.machines.transition import start
from flowrail.machines.walks.actions import acts, perform, starts
from flowrail.outcome import Outcome
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.loader import Loader

MOST_ACTS = 400
MOST_ROUNDS = 6
"""After so many rounds the person stops: only a person can end a loop of their own answers."""

Policy = Callable[[Sequence[Callable[[], Session]]], Session]
"""Chooses among the possible acts, each a function that returns the session after it."""


def preferring(outcome: Outcome) -> Policy:
    def choose(possible: Sequence[Callable[[], Session]]) -> Session:
        for act in possible:
            after = act()
            if after.last is not None and after.last.outcome == outcome:
                break
        return after

    return choose


def by_chance(seed: int) -> Policy:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    return lambda possible: chance.choice(possible)()


POLICIES: dict[str, Policy] = {
    "first": lambda possible: possible[0](),
    "last": lambda possible: possible[-1](),
    **{f"{outcome} if possible": preferring(outcome) for outcome in Outcome},
}


@pytest.mark.parametrize("seeds", [2, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("address", [file.address for skill in listing(()) for file in workflows(skill)])
def test_every_policy_ends_a_workflow(address: str, seeds: int) -> None:
    workflow = Loader().load(address).definition
    policies = {**POLICIES, **{f"chance {seed}": by_chance(seed) for seed in range(seeds)}}

    for name, choose in policies.items():
        for params in starts(workflow):
            session, taken = start(workflow, params), 0
            while session.is_open and taken < MOST_ACTS:
                possible = [partial(perform, workflow, session, act) for act in acts(workflow, session)]
                is_enough = session.limit_question is not None and session.visit > MOST_ROUNDS
                session = possible[-1]() if is_enough else choose(possible)
                taken += 1
            assert session.status in {"completed", "failed"}, (name, params, session.step)
