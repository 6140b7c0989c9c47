"""What guidance says about agents, questions and findings at a step."""

from __future__ import annotations

from typing import Any

import pytest
from support.loops import (
    NOW,
    answered,
    asking_workflow,
    fan,
    found,
    report,
    review_loop,
)

from flowrail.formatters.guidance.content import result_lines
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions
from flowrail.machines.engine.advance import start
from flowrail.machines.guidance.guide import Guidance, guide, handed_back
from flowrail.machines.guidance.views import LoopView
from flowrail.machines.sessions.session import BY_AGENT, AnswerOption, AskedQuestion, ParentSession, Session

STORE = "/a b/.flow"


def told(flow: Workflow, session: Session, **more: Any) -> Guidance:
    return guide(flow, session._replace(id="dull-abc234"), place=STORE, **more)


# --- agents


def test_agents_commands_name_the_store_and_those_of_the_session_do_not() -> None:
    flow = fan()

    shown = told(flow, start(flow, now=NOW))

    assert [str(each.command) for each in shown.dispatches] == [
        f"flow claim dull-abc234 d0-{number} --store '/a b/.flow'" for number in (1, 2, 3)
    ]
    assert all("--store" not in str(way.command) for way in shown.next)


@pytest.mark.parametrize(
    ("status", "parts", "resume", "again"),
    [
        ("pending", {}, None, False),
        (
            "claimed",
            {"child": "dull-one-x", "token": "dull-one-x"},
            "flow resume dull-one-x --store '/a b/.flow'",
            False,
        ),
        (
            "claimed",
            {"token": "abc"},
            "flow claim dull-abc234 d0-1 --token abc --store '/a b/.flow'",
            False,
        ),
        ("done", {"outcome": "ok"}, None, False),
        ("done", {"outcome": "fail"}, None, True),
        ("cancelled", {}, None, True),
    ],
)
def test_a_piece_of_work_is_told_with_the_command_that_fits(
    status: str, parts: dict[str, str], resume: str | None, again: bool
) -> None:
    flow = fan()
    session = start(flow, now=NOW)
    first, *rest = session.dispatches
    session = session._replace(dispatches=(first._replace(status=status, **parts), *rest))  # type: ignore[arg-type]

    view = told(flow, session).dispatches[0]

    assert (view.status, view.resume and str(view.resume), view.again) == (status, resume, again)


def test_questions_of_agents_stand_beside_those_of_the_step() -> None:
    flow = fan()
    agent = questions.with_questions(
        start(flow, session_id="dull-one-abc234", now=NOW),
        [
            AskedQuestion(
                "db",
                "DB",
                "Which?",
                (AnswerOption("A"), AnswerOption("B")),
                source=BY_AGENT,
            )
        ],
    )

    shown = told(flow, start(flow, now=NOW), from_agents=[agent])
    without = told(flow, start(flow, now=NOW), from_agents=[answered(agent, "db=A")])

    (question,) = shown.questions
    assert (question.session, question.source) == ("dull-one-abc234", "agent")
    assert str(question.command) == "flow answer dull-one-abc234 db=OPTION --store '/a b/.flow'"
    assert shown.next[0].waits_for == ("the user's answer to `db`", "all of d0-1 … d0-3")
    assert without.questions == ()


# --- an agent's last answer


def test_a_last_answer_is_three_lines() -> None:
    session = Session(
        "dull-one-abc234", "dull/one", None, status="failed", state=Frozen({"a": "x\ny", "n": 1})
    )
    session = session._replace(parent=ParentSession("dull-abc234", "d3-1"))

    lines = result_lines(handed_back(session, STORE), str)

    assert lines == [
        "RESULT failed: session dull-one-abc234 of dull/one, dispatch d3-1",
        'FACTS {"a": "x\\ny", "n": 1}',
        "NEXT for the agent that launched this one: flow resume dull-abc234 --store '/a b/.flow'",
    ]


# --- review loops


def loop(flow: Workflow, session: Session) -> LoopView | None:
    return told(flow, session).loop


def test_a_loop_is_told_from_every_place_in_it() -> None:
    flow = review_loop(limit=2)
    at_work = start(flow, now=NOW)
    at_review = report(flow, at_work, "ok")
    at_gate = report(flow, found(flow, at_review, "MUST", "COULD"), "ok")
    sent_back = report(flow, at_gate, "done")
    again = report(flow, sent_back, "ok")
    last = report(flow, found(flow, again, "SHOULD"), "ok")

    assert loop(flow, at_work) is None
    assert loop(flow, at_review) is None
    every = ("MUST", "SHOULD", "COULD")
    assert loop(flow, at_gate) == LoopView("gate", "Quality", 1, 2, "re-verify", every, ("F1", "F2"), "Work")
    assert loop(flow, sent_back) == LoopView("gate", "Quality", 1, 2, "fix", every, ("F1", "F2"), "Work")
    assert loop(flow, again) == LoopView("gate", "Quality", 2, 2, "re-verify")
    assert loop(flow, last) == LoopView("gate", "Quality", 2, 2, "ask-user", every, ("F3",), "Work")
    assert loop(flow, report(flow, last, "done")) == loop(flow, last)
    passed = report(flow, again, "ok")
    assert loop(flow, passed) == LoopView("gate", "Quality", 2, 2, "passed", every, (), "Work")
    assert loop(flow, report(flow, passed, "done")) is None


def test_findings_stand_where_they_are_needed_and_nowhere_else() -> None:
    flow = review_loop()
    at_review = found(flow, report(flow, start(flow, now=NOW), "ok"), "MUST")
    at_gate = report(flow, at_review, "ok")
    sent_back = report(flow, at_gate, "done")
    again = report(flow, sent_back, "ok")

    shown = [len(told(flow, each).findings) for each in (at_review, at_gate, sent_back, again)]

    assert shown == [1, 1, 1, 0]


def test_a_session_that_waits_goes_on_from_its_plain_form() -> None:
    from flowrail.storage.records import from_plain, to_plain

    flow = asking_workflow()
    session = answered(start(flow, now=NOW), "go=No")

    again = from_plain(to_plain(session), Session)

    assert report(flow, again, "done").visit == 2
    assert again.last is None
    assert Outcome.FAIL in flow.step("plan").ways
