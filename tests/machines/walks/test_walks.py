"""Walks take every possible transition, give every answer, and repeat every loop."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from support.agent_workflow_model import mixed
from support.random_workflows import workflows
from support.workflows import step, workflow

from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.graph import edges
from flowrail.machines.next_step import TransitionKey
from flowrail.machines.session import Session
from flowrail.machines.transition import start
from flowrail.machines.walks.actions import perform
from flowrail.machines.walks.coverage import count
from flowrail.machines.walks.plan import Walk, plan, transitions_between
from flowrail.machines.workflow import Workflow

REVIEWED = workflow(
    step("fix", next={"ok": "review"}),
    step("review", next={"ok": "gate"}),
    step("gate", gate=GateConfig("Review", review="review", limit=2), next={"ok": None, "fail": "fix"}),
)


def follow(made: Workflow, walk: Walk) -> list[Session]:
    """Return the sessions that a walk goes through, in memory."""
    seen = [start(made, walk.params)]
    for act in walk.acts:
        seen.append(perform(made, seen[-1], act))
    return seen


def missing(made: Workflow, walks: tuple[Walk, ...]) -> tuple[TransitionKey, ...]:
    """Return the transitions that no walk takes."""
    return count(made, (transition for walk in walks for transition in walk.transitions)).missing


def test_every_transition_is_taken_and_every_round_shortest_first() -> None:
    made = workflow(
        step("a", next={"ok": "b", "skip": "c"}),
        step("b", next={"ok": "c", "fail": None}),
        step("c", next={"ok": None, "iterate": "c"}, limit=3),
    )

    planned = plan(made)

    taken = {transition for walk in planned.walks for transition in walk.transitions}
    rounds = max(walk.transitions.count(("c", "iterate")) for walk in planned.walks)
    assert taken == {(edge.source, str(edge.outcome)) for edge in edges(made)}
    assert rounds == 2
    lengths = [len(walk.acts) for walk in planned.walks]
    assert lengths == sorted(lengths)


def test_reviews_find_something_and_nothing_and_the_limit_gets_every_answer() -> None:
    planned = plan(REVIEWED)

    answers = {answer for walk in planned.walks for act in walk.acts for answer in act.answers}
    assert missing(REVIEWED, planned.walks) == ()
    assert {label for _, label in answers} == {"Another round", "Accept the risk", "Stop"}
    assert any(("gate", "stop") in walk.transitions for walk in planned.walks)
    stopped = next(walk for walk in planned.walks if ("gate", "stop") in walk.transitions)
    assert follow(REVIEWED, stopped)[-1].status == "failed"


@pytest.mark.parametrize(
    ("join", "endings"),
    [
        ("all", {("ok", "ok", "ok"), ("fail", "fail", "fail")}),
        ("any", {("ok", "ok", "ok"), ("ok", "fail", "fail"), ("fail", "fail", "fail")}),
        ("at least 2", {("ok", "ok", "ok"), ("ok", "ok", "fail"), ("fail", "fail", "fail")}),
    ],
)
def test_agents_come_back_well_and_badly(join: str, endings: set[tuple[str, ...]]) -> None:
    work = Dispatch("explore", None, ("a", "b", "c"), {}, join, None, ("Look at $item.",))
    made = workflow(step("look", dispatch=work, next={"ok": None, "fail": None}))

    planned = plan(made)

    assert {act.agents for walk in planned.walks for act in walk.acts} == endings
    assert missing(made, planned.walks) == ()


def transitions_of(made: Workflow, walk: Walk) -> tuple[TransitionKey, ...]:
    """Return the transitions that a walk takes when it is performed."""
    pairs = pairwise(follow(made, walk))
    return tuple(transition for pair in pairs for transition in transitions_between(*pair, made))


@given(mixed() | workflows(functions=False, most=4))
@settings(max_examples=5)
def test_walks_of_any_workflow_can_be_walked_to_an_end(made: Workflow) -> None:
    planned = plan(made)

    for walk in planned.walks:
        if walk.error is None and not walk.loose:
            assert not follow(made, walk)[-1].is_open
            assert walk.transitions == transitions_of(made, walk)


def tangle(count: int) -> Workflow:
    """Return a workflow in which each step can continue, repeat, or go back to the first."""
    targets = ({"ok": f"s{n + 1}", "iterate": f"s{n}", "fail": "s0"} for n in range(count - 1))
    steps = [step(f"s{n}", next=following, limit=3) for n, following in enumerate(targets)]
    return workflow(*steps, step(f"s{count - 1}"))


def test_of_a_large_workflow_so_much_is_walked_and_the_plan_says_so() -> None:
    made = tangle(9)
    whole = plan(made)

    with patch("flowrail.machines.walks.plan.EFFORT", 20_000):
        little_effort = plan(made)
    with patch("flowrail.machines.walks.plan.MOST_ACTS", 50):
        few_acts = plan(made)

    assert not whole.is_part
    for part in (little_effort, few_acts):
        assert part.is_part
        assert 0 < len(part.walks) < len(whole.walks)
        for walk in part.walks:
            assert not walk.loose
            assert not follow(made, walk)[-1].is_open
