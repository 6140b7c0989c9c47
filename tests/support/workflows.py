"""Makers of small workflows and sessions: steps in a line, loops, dispatches, questions and review gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowrail.machines import asked_questions as engine_questions
from flowrail.machines import gate_verdict
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.session import AskedQuestion, Report, Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import advance
from flowrail.machines.values import Arg
from flowrail.machines.walks.actions import ended_children
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

OK, FAIL, SKIP, ITERATE, DEFAULT = (str(each) for each in Outcome)
REPORTED = (OK, FAIL, SKIP, ITERATE)
NOW = "2026-11-18T12:00:00.000Z"
LATER = "2026-11-18T12:30:00.000Z"
MUCH_LATER = "2026-11-18T14:00:00.000Z"
ENDS: Mapping[str, str | None] = {"ok": None}


def step(step_id: str = "only", /, **parts: Any) -> StepDef:
    """Return a step with a title and instructions. By default it ends the run."""
    defaults: dict[str, Any] = {"title": str(step_id).title(), "actions": [f"Do {step_id}."], "next": ENDS}
    return StepDef(step_id, **{**defaults, **parts})


def workflow(*steps: StepDef, name: str = "dull", **parts: Any) -> Workflow:
    """Return a validated workflow of *steps*, by default of one step."""
    return Workflow(name, *(steps or (step(),)), **parts)


def unchecked(*steps: StepDef, name: str = "dull", **parts: Any) -> Workflow:
    """Return a workflow without validating it."""
    return Workflow(name, *steps, validate=False, **parts)


def linear(*step_ids: str, name: str = "dull", **parts: Any) -> Workflow:
    """Return a workflow that goes from each step to the next."""
    following = [*step_ids[1:], None]
    pairs = zip(step_ids, following, strict=True)
    return workflow(*(step(each, next={"ok": after}) for each, after in pairs), name=name, **parts)


def loop(limit: int | None = 3, **parts: Any) -> Workflow:
    """Return a workflow whose first step iterates, at most *limit* times, before the last."""
    again = {"ok": "last", "iterate": "look", "fail": "look", "skip": None}
    return workflow(step("look", next=again, limit=limit, **parts), step("last"))


# --- dispatches, questions and gates

AREAS = {"areas": Arg(type="list", default=["a", "b", "c"])}


def fan(*, over: Any = "areas", join: str = "all", **parts: Any) -> Workflow:
    """Return a workflow whose first step dispatches an agent for each area, and may fail."""
    work = Dispatch("explore", None, over, join=join, prompt=("Look at $item.",))
    given: dict[str, Any] = {"dispatch": work, "next": {"ok": "last", "fail": None}, **parts}
    return workflow(step("look", **given), step("last"), params=AREAS)


def yes_no(question_id: str = "go", **parts: Any) -> Question:
    """Return a question whose answers lead to ok or fail."""
    given: dict[str, Any] = {"options": (Option("Yes", outcome="ok"), Option("No", outcome="fail")), **parts}
    return Question(question_id, "Approve", f"Continue with {question_id}?", **given)


def review_loop(params: Mapping[str, Arg] | None = None, **gate: Any) -> Workflow:
    """Return a workflow with work, its review, and the gate that can send it back."""
    return workflow(
        step("work", next={"ok": "review"}),
        step("review", next={"ok": "gate"}),
        step(
            "gate", gate=GateConfig("Quality", review="review", **gate), next={"ok": "last", "fail": "work"}
        ),
        step("last"),
        params=params,
    )


def report(flow: Workflow, session: Session, *outcomes: str, now: str = NOW) -> Session:
    """Return *session* after these reports."""
    for outcome in outcomes:
        session = advance(flow, session, Report(outcome), now=now)
    return session


def found(flow: Workflow, session: Session, *severities: str) -> Session:
    """Return *session* with a finding of each severity."""
    for severity in severities:
        session, _ = gate_verdict.record(flow, session, severity=severity, text=f"a {severity}", at=NOW)
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


def ended(session: Session, *outcomes: str | None) -> dict[str, Session]:
    """Return the child sessions of *session* with these outcomes, in order. `None` leaves one open."""
    unfinished = [""] * (len(session.dispatches) - len(outcomes))
    return ended_children(session, [*(outcome or "" for outcome in outcomes), *unfinished])
