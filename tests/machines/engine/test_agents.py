"""A step creates one dispatch for each item; one agent holds it at a time, and the step waits until enough have ended."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import AREAS, LATER, NOW, ended, fan, report, step, workflow

from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.step_parts import MOST_DISPATCHES, Dispatch
from flowrail.machines.definition.values import Arg
from flowrail.machines.engine import dispatched_work
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.dispatched_work import (
    JoinPendingError,
    TooManyDispatchesError,
)
from flowrail.machines.guidance.guide import guide
from flowrail.machines.sessions.session import CANCELLED, CLAIMED, FINISHED, PENDING, Dispatched, Report
from flowrail.storage.journal import TooLargeError

# --- what entering a step records


def test_a_list_that_is_too_long_for_a_step_is_refused_at_the_start() -> None:
    with pytest.raises(TooManyDispatchesError) as caught:
        start(fan(), {"areas": ["x"] * (MOST_DISPATCHES + 1)})

    assert caught.value.exit_status == 2
    assert len(start(fan(), {"areas": ["x"] * MOST_DISPATCHES}).dispatches) == MOST_DISPATCHES
    work = Dispatch("explore", None, "areas", prompt=("Look at $item.",))
    later = workflow(
        step("first", next={"ok": "look"}), step("look", dispatch=work, next={"ok": None}), params=AREAS
    )
    with pytest.raises(TooManyDispatchesError, match="would create 201"):
        start(later, {"areas": ["x"] * 201})
    all_to_each = Dispatch("explore", "a/b", "areas", {"all": "$areas"})
    with pytest.raises(TooLargeError, match="the variables of the dispatches"):
        start(fan(dispatch=all_to_each), {"areas": ["x" * 1_000] * 100})


def test_variables_are_filled_and_one_alone_keeps_its_kind() -> None:
    given_vars: dict[str, Any] = {
        "area": "$item",
        "all": "$areas",
        "text": "$item of $topic",
        "n": 3,
        "none": "$missing",
    }
    flow = workflow(
        step("look", dispatch=Dispatch("explore", "a/b", "areas", given_vars), handler=lambda _: Outcome.OK),
        params={"areas": Arg(type="list"), "topic": Arg(default="T")},
    )

    first, second = start(flow, {"areas": [["x", 1], "y"]}).dispatches

    assert first.vars == {
        "area": ("x", 1),
        "all": (("x", 1), "y"),
        "text": "x, 1 of T",
        "n": 3,
        "none": None,
    }
    assert second.vars["text"] == "y of T"
    assert (first.workflow, first.agent, first.model) == ("a/b", "explore", None)


# --- when enough is back

STATUS = st.sampled_from([PENDING, CLAIMED, CANCELLED, "ok", "fail"])
JOINS = st.sampled_from(["all", "any"]) | st.integers(1, 9).map(lambda least: f"at least {least}")


def dispatched(statuses: list[str]) -> list[Dispatched]:
    return [
        Dispatched(f"d0-{number}", "explore", status=FINISHED, outcome=status)
        if status in {"ok", "fail"}
        else Dispatched(f"d0-{number}", "explore", status=status)
        for number, status in enumerate(statuses, 1)
    ]


@given(st.lists(STATUS, min_size=1, max_size=8), JOINS)
def test_a_step_can_be_reported_exactly_when_enough_agents_have_succeeded(
    statuses: list[str], join: str
) -> None:
    flow = fan(join=join)
    session = replace(start(flow), dispatches=tuple(dispatched(statuses)))
    needed = {"all": len(statuses), "any": 1}.get(join) or min(len(statuses), int(join[-1]))
    succeeded = statuses.count("ok")
    unfinished = statuses.count(PENDING) + statuses.count(CLAIMED)
    is_met, is_hopeless = succeeded >= needed, succeeded + unfinished < needed

    offered = guide(flow, session).next

    for outcome, to in (("ok", "last"), ("fail", None)):
        if is_met or (is_hopeless and not unfinished and outcome == "fail"):
            assert report(flow, session, outcome).step == to
            assert outcome in [transition.outcome for transition in offered]
        else:
            with pytest.raises(JoinPendingError) as caught:
                report(flow, session, outcome)
            assert caught.value.exit_status == 4
            assert len(caught.value.details["waits_for"]) == unfinished  # type: ignore[arg-type]
    assert all(bool(transition.waits_for) is (not is_met and unfinished > 0) for transition in offered)
    assert ("ok" in {transition.outcome for transition in offered}) is not is_hopeless


@pytest.mark.parametrize(
    ("join", "statuses", "ok", "fail"),
    [
        ("all", [PENDING] * 5, "d0-1 … d0-5 to succeed", "d0-1 … d0-5 to end"),
        (
            "at least 4",
            [CLAIMED] * 5,
            "any 4 of d0-1 … d0-5 to succeed",
            "any 4 of d0-1 … d0-5 to succeed, or all 5 to end",
        ),
        (
            "at least 4",
            ["ok", "ok", PENDING, "fail", PENDING],
            "d0-3, d0-5 to succeed",
            "d0-3, d0-5 to end",
        ),
        ("any", ["fail", CLAIMED, "fail", "fail", "fail"], "d0-2 to succeed", "d0-2 to end"),
        ("all", ["fail", CLAIMED, PENDING, CLAIMED, "ok"], None, "d0-2 … d0-4 to end"),
    ],
)
def test_an_outcome_says_which_agents_it_waits_for(
    join: str, statuses: list[str], ok: str | None, fail: str
) -> None:
    flow = fan(join=join)
    session = replace(start(flow), dispatches=tuple(dispatched(statuses)))

    waits = {transition.outcome: transition.waits_for for transition in guide(flow, session).next}
    assert waits == ({"ok": (ok,)} if ok else {}) | {"fail": (fail,)}


def test_a_step_that_decides_by_itself_cannot_pass_over_agents_that_failed() -> None:
    flow = fan(rules=[("ok", "mood == 'good'"), ("fail", None)], reports={"mood": Arg(default="")})
    session = ended(start(flow), "ok", "fail", "ok")

    with pytest.raises(JoinPendingError, match="must succeed, 1 of 3 did not"):
        advance(flow, session, Report("done", {"mood": "good"}))
    assert advance(flow, session, Report("done", {"mood": "bad"})).status == "failed"


# --- who may have it


@pytest.mark.parametrize(
    ("status", "outcome", "expires_at", "free"),
    [
        (PENDING, None, None, True),
        (CLAIMED, None, LATER, False),
        (CLAIMED, None, NOW, True),
        (CLAIMED, None, None, False),
        (FINISHED, "ok", None, False),
        (FINISHED, "fail", None, True),
        (CANCELLED, None, None, True),
    ],
)
def test_what_may_be_handed_out(status: str, outcome: str | None, expires_at: str | None, free: bool) -> None:
    dispatch = Dispatched("d0-1", "explore", status=status, outcome=outcome, expires_at=expires_at)

    assert dispatched_work.claimable(dispatch, NOW) is free


# --- results


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=300) | st.integers(), max_size=8))
def test_a_result_is_cut_where_it_is_long_and_says_where_the_rest_is(result: dict[str, Any]) -> None:
    whole = len(json.dumps(result))

    cut = dispatched_work.cut(result, 400, "see there")

    assert cut.keys() == result.keys()
    assert len(json.dumps(cut)) <= max(whole, 800)
    if whole <= 400:
        assert cut == result
    shortened = [name for name in result if cut[name] != result[name]]
    assert all(str(cut[name]).endswith("bytes: see there)") for name in shortened)
