"""At its limit a loop goes on or asks the user; always failing ends there and does not spin."""

from __future__ import annotations

import pytest
from support.loops import NOW, answered, found, report, review_loop
from support.workflows import step, workflow

from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.questions import BadAnswerError
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


AT_LIMIT, _ = failing(GATE, start(GATE, now=NOW))


# --- the gate under constant failure


def test_accepting_takes_a_reason_which_is_kept() -> None:
    with pytest.raises(BadAnswerError, match="needs a reason"):
        answered(AT_LIMIT, "limit=Accept the risk", reason=" ")

    session = answered(AT_LIMIT, "limit=Accept the risk", reason="it ships today")

    assert session.questions[0].reason == "it ships today"


# --- other steps that fail back


def test_facts_of_the_failing_report_are_kept_and_not_asked_for_again() -> None:
    flow = workflow(
        step("a", next={"ok": None, "fail": "a"}, limit=1, reports={"why": Arg(required=True)}),
    )
    asked = advance(flow, start(flow, now=NOW), Report("fail", {"why": "red"}), now=NOW)
    session = answered(asked, "limit=another-round")

    assert asked.state == {"why": "red"}
    assert guide(flow, session).next[0].wants == ()
    assert report(flow, session, "done").visit == 2
