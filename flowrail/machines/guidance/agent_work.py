"""The guidance about a step's agents, questions and findings."""

from __future__ import annotations

from dataclasses import replace

from flowrail.command import Command
from flowrail.machines import agents, reviews
from flowrail.machines import asked_questions as engine_questions
from flowrail.machines.agents import Children, Join
from flowrail.machines.decision import name_of, names_in, session_context
from flowrail.machines.guidance.views import DispatchView, LoopView, QuestionView
from flowrail.machines.outcome import Outcome
from flowrail.machines.reported_values import ReviewPendingError
from flowrail.machines.reviews import blocking_now, round_findings, verdict
from flowrail.machines.session import (
    AnswerOption,
    AskedQuestion,
    Dispatched,
    RecordedFinding,
    Session,
)
from flowrail.machines.severities import Severity
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow

FIX, FAILED, REVERIFY = "fix", "failed", "re-verify"
PENDING = "pending"
"""The status of a dispatch whose child session has not started."""


def dispatches_of(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    children: Children,
    join: Join | None,
    address: str | None,
) -> tuple[DispatchView, ...]:
    """Return the dispatches of the current step. *address* is the store's."""
    needed = join is not None and not join.met
    return tuple(
        _dispatch(workflow, step, session, dispatch, children, address=address, needed=needed)
        for dispatch in session.dispatches
    )


def join_at(workflow: Workflow, step: StepDef, session: Session, children: Children) -> Join | None:
    """Return the progress of the step's dispatches; `None` if it has none."""
    goes_over = bool(session.id) and step.work is not None and step.work.over is not None  # no preview
    if not (session.dispatches or goes_over):
        return None
    return agents.join_of(workflow, step, session, children)


def questions_of(
    session: Session, children: Children, store: str | None, address: str | None
) -> tuple[QuestionView, ...]:
    """Return the questions of the session, and the open ones of its agents."""
    questions = [_question(question, session, store) for question in session.questions]
    for agent in children.values():
        if agent.is_open:
            questions += [_question(asked, agent, address) for asked in agent.questions if asked.is_open]
    return tuple(questions)


def findings_at(workflow: Workflow, step: StepDef, session: Session) -> tuple[RecordedFinding, ...]:
    """Return the findings of this round that matter at the step: its own, its gate's, or those it fixes."""
    review = step.id if step.gate is None else step.gate.review
    loop = loop_at(workflow, step, session)
    if loop is not None and loop.mode == FIX:
        review = reviews.gates(workflow)[loop.gate].review
    return round_findings(session, review)


def loop_at(workflow: Workflow, step: StepDef, session: Session) -> LoopView | None:
    """Return the state of the review loop whose gate *step* is, or in which it was entered again."""
    gates = reviews.gates(workflow)
    if step.gate is not None:
        return _at_gate(workflow, step, session)
    gate = next((name for name, config in gates.items() if config.review == step.id), None)
    if gate is not None:
        view = _view(workflow, workflow.step(gate), session, session.visit, REVERIFY)
        return replace(view, severities=()) if session.visit > 1 else None
    last = session.last
    if last is not None and last.step in gates and last.outcome == Outcome.FAIL:
        return _sent_back(workflow, workflow.step(last.step), session)
    return None


def _at_gate(workflow: Workflow, step: StepDef, session: Session) -> LoopView:
    view = _view(workflow, step, session, session.visit, "review")
    try:
        judged = verdict(step, session)
    except ReviewPendingError:
        return view
    fixed_in = _name(workflow, step.next_step(Outcome.FAIL), session, 1)
    view = replace(
        view,
        blocking=tuple(finding.id for finding in judged.blocking),
        fixed_in=fixed_in,
        unreviewed=judged.unreviewed,
    )
    if judged.outcome is Outcome.OK:
        return replace(view, mode="passed")
    return replace(view, mode="ask-user" if session.visit >= view.limit else FAILED)


def _sent_back(workflow: Workflow, gate: StepDef, session: Session) -> LoopView:
    """Return the loop for the step that fixes the findings of the failed round."""
    view = _view(workflow, gate, session, session.visits.get(gate.id, 1), FIX)
    assert gate.gate is not None  # noqa: S101 - it is a gate that sent it back
    blocking = [
        finding.id
        for finding in round_findings(session, gate.gate.review)
        if finding.severity in view.severities
    ]
    since = session.entered.get(gate.gate.review, 0)
    return replace(
        view,
        blocking=tuple(blocking),
        fixed_in=_name(workflow, session.step, session),
        unreviewed=bool(session.id)  # a preview has nothing on record
        and not any(finding.revision >= since for finding in session.findings),
    )


def _view(workflow: Workflow, gate: StepDef, session: Session, round_: int, mode: str) -> LoopView:
    assert gate.gate is not None  # noqa: S101 - the callers pass only gates
    severities = blocking_now(gate.gate, session, gate.id)
    return LoopView(
        gate=gate.id,
        name=gate.gate.name or _called(workflow, gate, session, session.visits.get(gate.id, 1)),
        round=round_,
        limit=session.allowed(gate.id, gate.bound or 1),
        mode=mode,
        severities=tuple(severity for severity in Severity if severity in severities),
    )


def _name(workflow: Workflow, step_id: str | None, session: Session, more: int = 0) -> str | None:
    step = workflow.get(step_id)
    return _called(workflow, step, session, session.visits.get(step.id, 0) + more) if step else None


def _called(workflow: Workflow, step: StepDef, session: Session, visit: int) -> str:
    return name_of(step, session_context(workflow, session, step, visit=visit))


def _dispatch(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    dispatch: Dispatched,
    children: Children,
    *,
    address: str | None,
    needed: bool,
) -> DispatchView:
    work, child, number = step.work, children.get(dispatch.child), agents.number_of(dispatch)
    assert work is not None  # noqa: S101 - the step has dispatches
    values = names_in(session_context(workflow, session, step))
    succeeded = agents.has_succeeded(workflow, step, session, child)
    is_elsewhere = child is not None and child.owner not in {None, session.owner}
    return DispatchView(
        number=number,
        agent=work.agent,
        workflow=work.workflow,
        model=work.model,
        vars=agents.variables_of(work, dispatch, values),
        item=dispatch.item,
        child=dispatch.child,
        status=child.status if child is not None else PENDING,
        result=child.state if child is not None else {},
        notes=tuple(note.text for note in child.notes) if child is not None else (),
        succeeded=succeeded,
        again=needed and child is not None and not child.is_open and not succeeded,
        relayed=child is not None and child.last is not None and child.last.relayed,
        moved_at=child.moved_at if child is not None else "",
        command=Command("step", session=dispatch.child, take_over=is_elsewhere or None, store=address)
        if session.id
        else None,
        again_command=Command("step", session=session.id, again=str(number), store=address)
        if session.id and not succeeded
        else None,
        relay_command=Command("step", session.skill, Outcome.OK, session=dispatch.child, store=address)
        if session.id and work.workflow is None and (child is None or child.is_open)
        else None,
    )


def _answer(session: Session, question: AskedQuestion, option: AnswerOption, store: str | None) -> Command:
    """Return the command that answers with *option*. Accepting open findings needs a reason."""
    needs_reason = question.source in engine_questions.OWN and option.outcome in engine_questions.NEEDS_REASON
    reason = engine_questions.ACCEPTED if needs_reason else None
    return Command("answer", session.id, answers={question.id: option.label}, reason=reason, store=store)


def _question(question: AskedQuestion, session: Session, store: str | None) -> QuestionView:
    return QuestionView(
        **vars(question),
        session=session.id,
        command=Command("answer", session.id, answers={question.id: question.placeholder}, store=store),
        choices=tuple(_answer(session, question, option, store) for option in question.options),
    )
