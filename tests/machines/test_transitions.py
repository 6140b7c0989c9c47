"""The function that returns the transitions of an outcome agrees with the compiled machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import NOW, answered, loop, report, step, unchecked, workflow

from flowrail.machines.expressions import parse
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.guide import guide
from flowrail.machines.outcome import Outcome
from flowrail.machines.session import Grant, Report, Session
from flowrail.machines.statechart import (
    find_transition,
    landings,
)
from flowrail.machines.step import StepDef
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow

CONDITIONS = st.lists(
    st.sampled_from([None, "a == 1", "b == 1", "visit > 1", "limit > 1", "a == 1 or b == 1"]), max_size=6
)


def at(workflow: Workflow, step_id: str, visits: int = 1) -> Session:
    return replace(start(workflow), step=step_id, visits=Frozen({step_id: visits}))


def test_a_circle_of_steps_that_do_not_apply_leads_nowhere() -> None:
    flow = unchecked(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 5", next={"ok": "c"}),
        step("c", when="visit > 5", next={"ok": "b"}),
    )

    with pytest.raises(ValueError, match="no transition from step"):
        find_transition(flow, flow.step("a"), Session("s", "w", "a"), Outcome.OK, lambda *_: False)


def test_steps_with_the_same_condition_are_one_landing() -> None:
    ids = [f"s{number}" for number in range(50)]
    steps = [step(name, when="a == 1", next={"ok": after}) for name, after in pairwise(ids)]
    flow = unchecked(*steps, step(ids[-1], next={"ok": None}))

    targets = list(landings(flow, "s0"))

    assert [step_id for step_id, _ in targets] == ["s0", "s49"]
    assert targets[-1][1] == tuple(ids[:-1])


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

    def applies(target: StepDef, path: Sequence[str] = ()) -> bool:
        values = {"a": a, "b": b, "visit": 2 if ids.index(target.id) in again else 1, "limit": 1}
        return target.when is None or parse(str(target.when)).holds(values)

    transition = find_transition(flow, flow.step("first"), Session("s", "w", "first"), Outcome.OK, applies)

    assert transition.to == next(name for name in ids if applies(flow.step(name)))
    assert transition.skipped == tuple(ids[: ids.index(transition.to)])


def test_a_round_that_the_user_granted_counts_for_iterate_too() -> None:
    flow = loop(3)
    session = replace(at(flow, "look", 3), grants=Frozen({"look": Grant(rounds=1)}))

    after = advance(flow, session, Report("iterate"))

    assert after.last is not None
    assert (after.step, after.last.capped) == ("look", False)


def test_facts_of_a_report_that_asks_the_user_are_kept_and_not_asked_for_again() -> None:
    flow = workflow(
        step("a", next={"ok": None, "fail": "a"}, limit=1, reports={"why": Arg(required=True)}),
    )

    asked = advance(flow, start(flow, now=NOW), Report("fail", {"why": "red"}), now=NOW)
    session = answered(asked, "limit=another-round")

    assert asked.state == {"why": "red"}
    assert guide(flow, session).next[0].wants == {}
    assert report(flow, session, "done").visit == 2
