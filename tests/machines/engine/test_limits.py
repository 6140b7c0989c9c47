"""At its limit a loop goes on or asks the user; always failing ends there and does not spin."""

from __future__ import annotations

import pytest
from support.loops import NOW, answered, found, report, review_loop
from support.workflows import step, workflow

from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import MOST_EXTRA_ROUNDS, advance, start
from flowrail.machines.engine.questions import BadAnswerError
from flowrail.machines.engine.reports import OutcomeNotOpenError
from flowrail.machines.guidance.guide import guide
from flowrail.machines.sessions.session import Report, Session

GATE = review_loop()


def failing(flow: Workflow, session: Session) -> tuple[Session, int]:
    """Return the session that waits for the user, and after how many rounds that all found something."""
    rounds = 0
    while session.is_open and session.status != "waiting":
        if session.step == "review":
            session = found(flow, session, "MUST")
        rounds += session.step == "gate"
        session = report(flow, session, "done" if session.step == "gate" else "ok")
    return session, rounds


def offered(session: Session) -> list[str]:
    (question,) = [each for each in session.questions if each.source == "limit"]
    return [str(option.outcome) for option in question.options]


AT_LIMIT, _ = failing(GATE, start(GATE, now=NOW))


# --- the gate under constant failure


def test_another_round_is_offered_twice_at_most() -> None:
    session = AT_LIMIT
    for number in range(MOST_EXTRA_ROUNDS):
        assert "another-round" in offered(session)
        session, rounds = failing(GATE, report(GATE, answered(session, "limit=another-round"), "done"))
        assert (rounds, session.visit) == (1, 6 + number)

    assert offered(session) == ["must-only", "accept-the-risk", "stop"]


def test_accepting_takes_a_reason_which_is_kept() -> None:
    with pytest.raises(BadAnswerError, match="needs a reason"):
        answered(AT_LIMIT, "limit=Accept the risk", reason=" ")

    session = answered(AT_LIMIT, "limit=Accept the risk", reason="it ships today")

    assert session.questions[0].reason == "it ships today"


def test_the_revision_counts_moves_and_the_question_is_none() -> None:
    at_gate = start(GATE, now=NOW)
    for _ in range(4):
        at_gate = report(GATE, found(GATE, report(GATE, at_gate, "ok"), "MUST"), "ok", "done")
    at_gate = report(GATE, found(GATE, report(GATE, at_gate, "ok"), "MUST"), "ok")

    asked = report(GATE, at_gate, "done")

    assert (at_gate.step, asked.revision, asked.last) == ("gate", at_gate.revision, at_gate.last)


# --- other steps that fail back


def approving(limit: int = 3) -> Workflow:
    return workflow(
        step("plan", next={"ok": "approve"}),
        step("approve", limit=limit, next={"ok": "last", "fail": "plan"}),
        step("last"),
    )


@pytest.mark.parametrize(
    ("answer", "status", "to"),
    [
        ("another-round", "active", "plan"),
        ("accept-the-risk", "active", "last"),
        ("stop", "failed", None),
    ],
)
def test_its_answers_lead_on(answer: str, status: str, to: str | None) -> None:
    flow = approving(1)
    session = answered(report(flow, start(flow, now=NOW), "ok", "fail"), f"limit={answer}")

    with pytest.raises(OutcomeNotOpenError):
        report(flow, session, "fail")
    after = report(flow, session, "done")

    assert (after.status, after.step) == (status, to)


def test_without_a_way_of_ok_nothing_can_be_accepted() -> None:
    flow = workflow(step("a", next={"fail": "b", "skip": None}, limit=1), step("b", next={"ok": "a"}))

    assert offered(report(flow, start(flow, now=NOW), "fail")) == ["another-round", "stop"]


def test_facts_of_the_failing_report_are_kept_and_not_asked_for_again() -> None:
    flow = workflow(
        step("a", next={"ok": None, "fail": "a"}, limit=1, reports={"why": Arg(required=True)}),
    )
    asked = advance(flow, start(flow, now=NOW), Report("fail", {"why": "red"}), now=NOW)
    session = answered(asked, "limit=another-round")

    assert asked.state == {"why": "red"}
    assert guide(flow, session).next[0].wants == ()
    assert report(flow, session, "done").visit == 2
