"""Every policy of reporting ends every bundled workflow: first, last, by chance, and one outcome whenever possible.

The walks are in memory. `test_bundled.py` has walks by printed commands.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import start
from flowrail.machines.exploration.actions import Act, acts, perform, starts
from flowrail.machines.sessions.session import Session
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.summary import definition_of

ADDRESSES = [file.address for found in listing(()) for file in workflows(found)]
SEEDS = 20
MOST_ACTS = 400

Policy = Callable[[Workflow, Session, Sequence[Act]], Session]
"""Returns the session after the act that it chose."""


def policies() -> Iterator[tuple[str, Policy]]:
    yield "first", lambda workflow, session, possible: perform(workflow, session, possible[0])
    yield "last", lambda workflow, session, possible: perform(workflow, session, possible[-1])
    for seed in range(SEEDS):
        yield f"chance {seed}", by_chance(seed)
    for outcome in Outcome:
        yield f"{outcome} if possible", preferring(outcome)


def by_chance(seed: int) -> Policy:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    return lambda workflow, session, possible: perform(workflow, session, chance.choice(possible))


def preferring(outcome: Outcome) -> Policy:
    def choose(workflow: Workflow, session: Session, possible: Sequence[Act]) -> Session:
        for act in possible:
            after = perform(workflow, session, act)
            if after.last is not None and after.last.outcome == outcome:
                break
        return after

    return choose


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_policy_ends_a_workflow(address: str) -> None:
    workflow = definition_of(address, ())[0]

    for name, choose in policies():
        for params in starts(workflow):
            session = start(workflow, params)
            taken = 0
            while session.is_open:
                session = choose(workflow, session, list(acts(workflow, session)))
                taken += 1
                assert taken <= MOST_ACTS, (name, params, session.step)
            assert session.status in {"completed", "failed"}, (name, params)
