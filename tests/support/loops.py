"""Workflows with agents, questions and gates, with dull defaults; and the tables that settle a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.workflows import step, workflow

from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step_parts import Dispatch, GateConfig, Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions as engine_questions
from flowrail.machines.engine import reviews
from flowrail.machines.engine.advance import advance
from flowrail.machines.sessions.session import CANCELLED, FINISHED, AskedQuestion, Dispatched, Report, Session

NOW = "2026-11-18T12:00:00.000Z"
LATER = "2026-11-18T12:30:00.000Z"
MUCH_LATER = "2026-11-18T14:00:00.000Z"

AREAS = {"areas": Arg(type="list", default=["a", "b", "c"])}


def fan(*, over: Any = "areas", join: str = "all", **parts: Any) -> Workflow:
    """Return a workflow whose first step gives each area to an agent, and may fail."""
    work = Dispatch("explore", None, over, join=join, prompt=("Look at $item.",))
    given: dict[str, Any] = {"dispatch": work, "next": {"ok": "last", "fail": None}, **parts}
    return workflow(step("look", **given), step("last"), params=AREAS)


def yes_no(question_id: str = "go", **parts: Any) -> Question:
    """Return a question that goes on by ok or fail."""
    given: dict[str, Any] = {"options": (Option("Yes", outcome="ok"), Option("No", outcome="fail")), **parts}
    return Question(question_id, "Approve", f"Continue with {question_id}?", **given)


def asking_workflow(*questions: Question, **parts: Any) -> Workflow:
    """Return a workflow whose first step asks, and goes back to itself by fail."""
    given: dict[str, Any] = {"next": {"ok": "last", "fail": "plan"}, "limit": 3, **parts}
    return workflow(step("plan", questions=questions or (yes_no(),), **given), step("last"))


def review_loop(**gate: Any) -> Workflow:
    """Return a workflow of work, its review, and the gate that sends it back."""
    return workflow(
        step("work", next={"ok": "review"}),
        step("review", next={"ok": "gate"}),
        step(
            "gate", gate=GateConfig("Quality", review="review", **gate), next={"ok": "last", "fail": "work"}
        ),
        step("last"),
    )


def report(flow: Workflow, session: Session, *outcomes: str, now: str = NOW) -> Session:
    """Return *session* after these reports."""
    for outcome in outcomes:
        session = advance(flow, session, Report(outcome), now=now)
    return session


def found(flow: Workflow, session: Session, *severities: str) -> Session:
    """Return *session* with a finding of each severity on record."""
    for severity in severities:
        session, _ = reviews.record(flow, session, severity=severity, text=f"a {severity}", at=NOW)
    return session


def answered(session: Session, *pairs: str, now: str = NOW, reason: str = "because") -> Session:
    """Return *session* with ``Q=OPTION`` answered."""
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, word = pair.partition("=")
        given.setdefault(name, []).append(word)
    questions = [_answered(each, given.get(each.id, []), now, reason) for each in session.questions]
    return engine_questions.with_questions(session, questions)


def _answered(question: AskedQuestion, words: Sequence[str], now: str, reason: str) -> AskedQuestion:
    return (
        engine_questions.answer_question(question, words, at=now, by="me", reason=reason)
        if words
        else question
    )


def ended(session: Session, *outcomes: str | None) -> Session:
    """Return *session* with its dispatches ended so, in order; `None` leaves one as it is."""
    known = session.dispatches
    pairs = [*zip(known, [*outcomes, *[None] * len(known)], strict=False)]
    return session._replace(dispatches=tuple(_ended(each, outcome) for each, outcome in pairs))


def _ended(dispatch: Dispatched, outcome: str | None) -> Dispatched:
    if outcome is None:
        return dispatch
    if outcome == CANCELLED:
        return dispatch._replace(status=CANCELLED)
    return dispatch._replace(status=FINISHED, outcome=outcome, result=Frozen())
