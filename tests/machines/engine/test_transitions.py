"""The one function that knows where an outcome leads, and the compiled machine, agree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import linear, loop, step, unchecked, workflow

from flowrail.machines.definition.expressions import parse
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.transitions import (
    Transition,
    asks_user,
    find_transition,
    landings,
    transitions,
)
from flowrail.machines.sessions.session import Grant, Report, Session

CONDITIONS = st.lists(
    st.sampled_from([None, "a == 1", "b == 1", "visit > 1", "limit > 1", "a == 1 or b == 1"]), max_size=6
)


def chain() -> Workflow:
    return workflow(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 5", next={"ok": "a", "skip": "c"}),
        step("c", when="visit > 5", next={"ok": "d"}),
        step("d"),
    )


def at(workflow: Workflow, step_id: str, visits: int = 1) -> Session:
    return start(workflow)._replace(step=step_id, visits=Frozen({step_id: visits}))


def test_landings_are_tried_in_order_and_the_last_always_applies() -> None:
    found = list(landings(chain(), "b"))

    assert found == [("b", ()), ("c", ("b",)), ("d", ("b", "c"))]
    assert list(landings(chain(), None)) == [(None, ())]
    assert list(landings(linear("a"), "a")) == [("a", ())]


@pytest.mark.parametrize(
    ("applying", "to", "skipped"), [("bc", "b", ()), ("c", "c", ("b",)), ("", "d", ("b", "c"))]
)
def test_an_outcome_leads_to_the_first_step_that_applies(
    applying: str, to: str, skipped: tuple[str, ...]
) -> None:
    flow = chain()

    found = find_transition(
        flow, flow.step("a"), at(flow, "a"), Outcome.OK, lambda target: target.id in applying
    )

    assert found == Transition(to, skipped)


def test_a_circle_of_steps_that_do_not_apply_leads_nowhere() -> None:
    flow = unchecked(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 5", next={"ok": "c"}),
        step("c", when="visit > 5", next={"ok": "b"}),
    )

    with pytest.raises(ValueError, match="no transition from step"):
        find_transition(flow, flow.step("a"), Session("s", "w", "a"), Outcome.OK, lambda _: False)


def test_steps_with_the_same_condition_are_one_landing() -> None:
    ids = [f"s{number}" for number in range(50)]
    steps = [step(name, when="a == 1", next={"ok": after}) for name, after in pairwise(ids)]
    flow = unchecked(*steps, step(ids[-1], next={"ok": None}))

    found = list(landings(flow, "s0"))

    assert [step_id for step_id, _ in found] == ["s0", "s49"]
    assert found[-1][1] == tuple(ids[:-1])


@given(CONDITIONS, st.integers(0, 1), st.integers(0, 1), st.sets(st.integers(0, 6)))
def test_the_landing_is_the_step_that_a_run_would_reach_by_skipping(
    conditions: list[str | None], a: int, b: int, again: set[int]
) -> None:
    ids = [f"s{number}" for number in range(len(conditions) + 1)]
    steps = [
        step(name, when=when, next={"ok": after})
        for name, when, after in zip(ids, conditions, ids[1:], strict=False)
    ]
    flow = unchecked(step("first", next={"ok": "s0"}), *steps, step(ids[-1], next={"ok": None}))

    def applies(target: StepDef) -> bool:
        values = {"a": a, "b": b, "visit": 2 if ids.index(target.id) in again else 1, "limit": 1}
        return target.when is None or parse(str(target.when)).holds(values)

    found = find_transition(flow, flow.step("first"), Session("s", "w", "first"), Outcome.OK, applies)

    assert found.to == next(name for name in ids if applies(flow.step(name)))
    assert found.skipped == tuple(ids[: ids.index(found.to)])


@pytest.mark.parametrize(("visits", "capped"), [(1, False), (2, False), (3, True)])
def test_iterate_takes_the_transition_of_ok_at_the_limit(visits: int, capped: bool) -> None:
    flow = loop(3)
    session = at(flow, "look", visits)

    found = find_transition(flow, flow.step("look"), session, Outcome.ITERATE, lambda _: True)
    after = advance(flow, session, Report("iterate"))

    assert (found.to, found.capped) == ("last" if capped else "look", capped)
    assert after.last is not None
    assert (after.step, after.last.capped) == (found.to, found.capped)


def test_a_round_that_the_user_granted_counts_for_iterate_too() -> None:
    flow = loop(3)
    session = at(flow, "look", 3)._replace(grants=Frozen({"look": Grant(rounds=1)}))

    after = advance(flow, session, Report("iterate"))

    assert after.last is not None
    assert (after.step, after.last.capped) == ("look", False)


def test_a_fail_that_leads_back_asks_the_user_at_the_limit() -> None:
    flow = loop(3)
    look = flow.step("look")

    assert not asks_user(flow, look, at(flow, "look", 2), Outcome.FAIL)
    assert asks_user(flow, look, at(flow, "look", 3), Outcome.FAIL)
    assert [transition.asks_user for transition in transitions(flow, look, Outcome.FAIL)] == [False, True]
