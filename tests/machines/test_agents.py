"""A step reserves one child session for each item, and waits until enough of them have succeeded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused
from support.workflows import AREAS, ended, fan, found, report, review_loop, step, workflow

from flowrail.errors import ConflictError
from flowrail.machines.agents import (
    replace_child,
)
from flowrail.machines.dispatch import MOST_DISPATCHES, Dispatch
from flowrail.machines.guidance.guide import guide
from flowrail.machines.session import Report, Session
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.outcome import Outcome
from flowrail.session_status import ABANDONED, COMPLETED, FAILED

# --- what entering a step records


def test_a_list_that_is_too_long_for_a_step_is_refused_at_the_start() -> None:
    with refused("TOO_MANY_DISPATCHES") as caught:
        start(fan(), {"areas": list(range(MOST_DISPATCHES + 1))})

    assert caught.value.exit_status == 2
    assert len(start(fan(), {"areas": list(range(MOST_DISPATCHES))}).dispatches) == MOST_DISPATCHES
    work = Dispatch("explore", None, "areas", prompt=("Look at $item.",))
    later = workflow(
        step("first", next={"ok": "look"}), step("look", dispatch=work, next={"ok": None}), params=AREAS
    )
    with refused("TOO_MANY_DISPATCHES", match="would create 201"):
        start(later, {"areas": list(range(201))})


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

    guidance = guide(flow, start(flow, {"areas": [["x", 1], "y"]}))
    first, second = guidance.dispatches

    assert first.vars == {
        "area": ("x", 1),
        "all": (("x", 1), "y"),
        "text": "x, 1 of T",
        "n": 3,
        "none": None,
    }
    assert second.vars["text"] == "y of T"
    assert guidance.work == flow.steps[0].work


# --- when enough is back

RESULT = st.sampled_from([None, "open", "ok", "fail"])
JOINS = st.sampled_from(["all", "any"]) | st.integers(1, 9).map(lambda least: f"at least {least}")
STATUSES = {"open": "active", "ok": COMPLETED, "fail": FAILED}


def children(session: Session, results: list[str | None]) -> dict[str, Session]:
    pairs = zip(session.dispatches, results, strict=True)
    return {each.child: Session(each.child, "x", None, status=STATUSES[r]) for each, r in pairs if r}


@given(st.lists(RESULT, min_size=1, max_size=8), JOINS)
def test_a_step_can_be_reported_exactly_when_enough_agents_have_succeeded(
    results: list[str | None], join: str
) -> None:
    flow = fan(join=join)
    session = start(flow, {"areas": list(range(len(results)))})
    agents = children(session, results)
    needed = {"all": len(results), "any": 1}.get(join) or min(len(results), int(join[-1]))
    succeeded = results.count("ok")
    unfinished = results.count(None) + results.count("open")
    is_met, is_hopeless = succeeded >= needed, succeeded + unfinished < needed

    offered = guide(flow, session, children=agents).next

    for outcome, to in (("ok", "last"), ("fail", None)):
        if is_met or (is_hopeless and not unfinished and outcome == "fail"):
            assert advance(flow, session, Report(outcome), children=agents).step == to
            assert outcome in [transition.outcome for transition in offered]
        else:
            with refused("JOIN_PENDING") as caught:
                advance(flow, session, Report(outcome), children=agents)
            assert caught.value.exit_status == 4
            assert len(caught.value.details["waits_for"]) == unfinished  # type: ignore[arg-type]
    assert all(bool(transition.waits_for) is (not is_met and unfinished > 0) for transition in offered)
    assert ("ok" in {transition.outcome for transition in offered}) is not is_hopeless


def test_a_step_that_decides_by_itself_cannot_pass_over_agents_that_failed() -> None:
    flow = fan(rules=[("ok", "mood == 'good'"), ("fail", None)], reports={"mood": Arg(default="")})
    session = start(flow)
    agents = ended(session, "ok", "fail", "ok")

    with refused("JOIN_PENDING", match="must succeed, 1 of 3 did not"):
        advance(flow, session, Report("done", {"mood": "good"}), children=agents)
    assert advance(flow, session, Report("done", {"mood": "bad"}), children=agents).status == "failed"


# --- replacing an agent


@pytest.mark.parametrize("name", ["2", "audit-k3x9q2.0.2", "b"])
def test_a_lost_agent_is_replaced_by_number_session_or_item(name: str) -> None:
    flow = fan()
    session = start(flow, session_id="audit-k3x9q2")
    lost = {session.dispatches[1].child: Session(session.dispatches[1].child, "x", None, status=ABANDONED)}

    once = replace_child(flow, session, name, lost)
    twice = replace_child(flow, once, "2", lost)

    assert [each.child for each in once.dispatches] == [
        "audit-k3x9q2.0.1",
        "audit-k3x9q2.0.2-2",
        "audit-k3x9q2.0.3",
    ]
    assert twice.dispatches[1].child == "audit-k3x9q2.0.2-3"


def test_an_agent_that_has_succeeded_is_not_replaced() -> None:
    session = start(fan(), session_id="audit-k3x9q2")

    with pytest.raises(ConflictError, match="has succeeded"):
        replace_child(fan(), session, "1", ended(session, "ok"))
    with refused("UNKNOWN_DISPATCH", match="no dispatch `9`"):
        replace_child(fan(), session, "9", {})


def test_a_reviewer_that_reported_fail_has_reviewed_if_it_recorded_findings() -> None:
    loop = review_loop()
    reviewing = replace(loop.step("review"), dispatch=Dispatch("quality-reviewer", prompt=("Review.",)))
    flow = workflow(*(reviewing if each.id == "review" else each for each in loop.steps))
    session = report(flow, start(flow), "ok")
    agents = ended(session, "fail")
    (reviewer,) = agents

    with refused("JOIN_PENDING"):
        advance(flow, session, Report("ok"), children=agents)
    judged = found(flow, session, "MUST")
    judged = replace(judged, findings=tuple(replace(each, by=reviewer) for each in judged.findings))
    at_gate = advance(flow, judged, Report("ok"), children=agents)

    assert at_gate.step == "gate"
    assert report(flow, at_gate, "done").step == "work"
