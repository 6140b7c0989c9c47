"""A limit counts the attempts since its loop was entered, and a person's answer is never changed by it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from support.random_workflows import facts_of, workflows
from support.workflows import answered, report, step, workflow

from flowrail.machines.asked_questions import ANOTHER, STOP
from flowrail.machines.checks.check import check
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.session import Report, Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

MOST_MOVES = 3_000


def go(flow: Workflow, session: Session, outcomes: Sequence[str]) -> Session:
    for outcome in outcomes:
        session = advance(flow, session, Report(outcome))
    return session


def test_a_review_in_a_loop_over_items_counts_for_each_item() -> None:
    flow = workflow(
        step("take", next={"ok": "review"}),
        step("review", limit=3, next={"ok": "next", "fail": "fix"}),
        step("fix", next={"ok": "review"}),
        step("next", limit=9, next={"ok": None, "iterate": "take"}),
    )
    session = start(flow)

    for _ in range(6):
        session = go(flow, session, ["ok", "fail", "ok", "fail", "ok", "ok", "iterate"])

    assert (session.step, session.status) == ("take", "active")


def test_a_visit_starts_again_after_a_return_from_an_outer_review() -> None:
    flow = workflow(
        step("write", next={"ok": "check"}),
        step("check", limit=3, next={"ok": "review", "fail": "write"}),
        step("review", limit=3, next={"ok": None, "fail": "write"}),
    )

    session = go(flow, start(flow), ["ok", "fail", "ok", "ok", "fail"])

    assert (session.step, session.visit) == ("write", 1)


@pytest.mark.parametrize(
    ("steps", "outcomes", "at"),
    [
        pytest.param(
            [
                step("head", limit=2, next={"ok": "tail", "iterate": "head"}),
                step("tail", limit=2, next={"ok": None, "fail": "head"}),
            ],
            ["iterate", "ok", "fail"],
            ("head", 1),
            id="two loops with one header",
        ),
        pytest.param(
            [
                step("first", limit=5, next={"ok": "a", "fail": "b", "iterate": "first"}),
                step("a", next={"ok": "b"}),
                step("b", limit=2, next={"ok": "last", "iterate": "a"}),
                step("last", limit=2, next={"ok": None, "fail": "first"}),
            ],
            ["ok", "ok", "iterate", "ok", "ok", "fail", "fail"],
            ("b", 1),
            id="a loop with two entries",
        ),
        pytest.param(
            [
                step("look", limit=2, next={"ok": "aside", "fail": "look"}),
                step("aside", when="visit > 5", next={"ok": "again"}),
                step("again", limit=4, next={"ok": None, "iterate": "look"}),
            ],
            ["fail", "ok", "iterate"],
            ("look", 1),
            id="a step that is skipped",
        ),
        pytest.param(
            [
                step("plan", next={"ok": "review"}),
                step("review", next={"ok": "gate", "fail": "gate"}),
                step(
                    "gate",
                    gate=GateConfig("Quality", review="review", limit=2),
                    next={"ok": "last", "fail": "review"},
                ),
                step("last", limit=3, next={"ok": None, "fail": "plan"}),
            ],
            ["ok", "ok", "done", "fail", "ok", "ok"],
            ("gate", 1),
            id="a gate",
        ),
    ],
)
def test_a_count_starts_again_when_a_move_enters_its_loop_from_outside(
    steps: list[StepDef], outcomes: list[str], at: tuple[str, int]
) -> None:
    flow = workflow(*steps)

    session = go(flow, start(flow), outcomes)

    assert (session.step, session.visit) == at


def asking() -> Workflow:
    options = (Option("Yes", outcome=Outcome.OK), Option("No", outcome=Outcome.ITERATE))
    ask = Question("ship", "Ship", "Publish it?", options)
    return workflow(
        step("ask", questions=[ask], limit=3, next={"ok": "publish", "iterate": "ask"}), step("publish")
    )


def test_a_third_no_never_becomes_a_yes() -> None:
    flow = asking()
    session = start(flow)

    for _ in range(3):
        session = report(flow, answered(session, "ship=No"), "done")

    assert (session.step, session.status) == ("ask", "waiting")
    question = session.limit_question
    assert question is not None
    assert [option.outcome for option in question.options] == [ANOTHER, STOP]
    assert question.text == "Ask: 3 attempts, and the answer is still `No`. What next?"


def test_after_the_limit_a_person_may_ask_for_another_round_or_stop() -> None:
    flow = asking()
    session = start(flow)
    for _ in range(3):
        session = report(flow, answered(session, "ship=No"), "done")

    another = report(flow, answered(session, f"limit={ANOTHER}"), "done")
    stopped = report(flow, answered(session, f"limit={STOP}"), "done")

    assert (another.step, another.visit, another.status) == ("ask", 4, "waiting")
    assert stopped.status == "failed"


@settings(max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(workflows(functions=False, most=6), st.data())
def test_every_run_of_a_workflow_whose_loops_have_limits_ends(flow: Workflow, data: st.DataObject) -> None:
    assume(not any(finding.code == "FR163" for finding in check(flow, advice=True)))
    session = start(flow)

    for _ in range(MOST_MOVES):
        if not session.is_open:
            return
        if session.limit_question is not None:
            session = report(flow, answered(session, f"limit={STOP}"), "done")
            continue
        current = flow.step(str(session.step))
        outcome = (
            "done"
            if current.decides
            else data.draw(st.sampled_from([str(name) for name in current.transitions]))
        )
        session = advance(flow, session, Report(outcome, data.draw(facts_of(current))))
    raise AssertionError("the run does not end")
