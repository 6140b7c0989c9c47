"""The guidance about a step's agents, questions and findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowrail.command import Command
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.step_parts import Severity
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import dispatched_work, reviews
from flowrail.machines.engine import questions as engine_questions
from flowrail.machines.engine.outcome import (
    ReviewPendingError,
    blocking_now,
    name_of,
    names_in,
    round_findings,
    session_context,
    verdict,
)
from flowrail.machines.guidance.evidence import EvidenceView, views
from flowrail.machines.guidance.views import DispatchView, LoopView, OptionView, QuestionView
from flowrail.machines.sessions.session import (
    BY_EVIDENCE,
    CLAIMED,
    AnswerOption,
    AskedQuestion,
    Dispatched,
    Session,
)

if TYPE_CHECKING:
    from flowrail.machines.guidance.guide import Guidance

FIX, FAILED, REVERIFY = "fix", "failed", "re-verify"


def with_others(
    guidance: Guidance,
    workflow: Workflow,
    step: StepDef,
    session: Session,
    from_agents: Sequence[Session],
    *,
    store: str | None,
    place: str | None,
    now: str,
) -> Guidance:
    """Return *guidance* with the dispatches, questions, findings and evidence of the current step."""
    dispatches = session.dispatches
    questions = [_question(each, session, store) for each in session.questions]
    for agent in from_agents:
        questions += [_question(each, agent, place) for each in agent.questions if each.is_open]
    loop = loop_at(workflow, step, session)
    review = step.id if step.gate is None else step.gate.review
    if loop is not None and loop.mode == FIX:
        review = reviews.gates(workflow)[loop.gate].review
    found = round_findings(session, review)
    if loop is not None and loop.only_changes and loop.mode == REVERIFY and step.gate is None:
        found = tuple(each for each in session.findings if each.is_open and each.review == review)
    goes_over = bool(session.id) and step.work is not None and step.work.over is not None  # no preview
    join = dispatched_work.join_of(step, dispatches) if dispatches or goes_over else None
    needed = join is not None and not join.met
    evidence: tuple[EvidenceView, ...] = ()
    if step.evidence:
        values = names_in(session_context(workflow, session, step))
        evidence = tuple(views(step, session, values, store=store))
    return guidance._replace(
        dispatches=tuple(_dispatch(each, session, place, now, needed=needed) for each in dispatches),
        join=join,
        questions=tuple(questions),
        findings=found,
        findings_command=Command("finding list", session.id, store=store) if found else None,
        loop=loop,
        evidence=evidence,
    )


def loop_at(workflow: Workflow, step: StepDef, session: Session) -> LoopView | None:
    """Return the state of the review loop whose gate *step* is, or in which it was entered again."""
    gates = reviews.gates(workflow)
    if step.gate is not None:
        return _at_gate(workflow, step, session)
    gate = next((name for name, each in gates.items() if each.review == step.id), None)
    if gate is not None:
        view = _view(workflow, workflow.step(gate), session, session.visit, REVERIFY)
        return view._replace(severities=()) if session.visit > 1 else None
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
    fixed_in = _name(workflow, step.way(Outcome.FAIL), session, 1)
    view = view._replace(
        blocking=tuple(each.id for each in judged.blocking),
        fixed_in=fixed_in,
        unreviewed=judged.unreviewed,
    )
    if judged.outcome is Outcome.OK:
        return view._replace(mode="passed")
    return view._replace(mode="ask-user" if session.visit >= view.limit else FAILED)


def _sent_back(workflow: Workflow, gate: StepDef, session: Session) -> LoopView:
    """Return the loop as the work sees it: the findings of the round that has failed."""
    view = _view(workflow, gate, session, session.visits.get(gate.id, 1), FIX)
    assert gate.gate is not None  # noqa: S101 - it is a gate that sent it back
    blocking = [
        each.id for each in round_findings(session, gate.gate.review) if each.severity in view.severities
    ]
    since = session.entered.get(gate.gate.review, 0)
    return view._replace(
        blocking=tuple(blocking),
        fixed_in=_name(workflow, session.step, session),
        unreviewed=bool(session.id)  # a preview has nothing on record
        and not any(each.revision >= since for each in session.findings),
    )


def _view(workflow: Workflow, gate: StepDef, session: Session, round_: int, mode: str) -> LoopView:
    assert gate.gate is not None  # noqa: S101 - only gates are asked
    severities = blocking_now(gate.gate, session, gate.id)
    return LoopView(
        gate=gate.id,
        name=gate.gate.qr_name or _called(workflow, gate, session, session.visits.get(gate.id, 1)),
        round=round_,
        limit=session.allowed(gate.id, gate.bound or 1),
        mode=mode,
        severities=tuple(each for each in Severity if each in severities),
        only_changes=gate.gate.later_rounds == "changes",
    )


def _name(workflow: Workflow, step_id: str | None, session: Session, more: int = 0) -> str | None:
    step = workflow.get(step_id)
    return _called(workflow, step, session, session.visits.get(step.id, 0) + more) if step else None


def _called(workflow: Workflow, step: StepDef, session: Session, visit: int) -> str:
    return name_of(step, session_context(workflow, session, step, visit=visit))


def _dispatch(
    each: Dispatched, session: Session, place: str | None, now: str, *, needed: bool
) -> DispatchView:
    over = each.status == CLAIMED and dispatched_work.claimable(each, now)
    return DispatchView(
        id=each.id,
        agent=each.agent,
        workflow=each.workflow,
        vars=each.vars,
        model=each.model,
        status=each.status,
        holder=each.holder,
        expires_at=each.expires_at,
        child=each.child,
        outcome=each.outcome,
        command=Command("claim", session.id, each.id, store=place),
        item=each.item,
        result=each.result,
        again=needed and each.ended and not each.succeeded,
        resume=_resume(each, session, place) if each.status == CLAIMED and (each.child or not over) else None,
        cancel=None if each.ended else Command("finish", session.id, each.id, cancel=True, store=place),
        lease_over=over,
    )


def _resume(each: Dispatched, session: Session, place: str | None) -> Command:
    """Return the command with which a new agent continues what another had claimed."""
    if each.child:
        return Command("resume", each.child, store=place)
    return Command("claim", session.id, each.id, token=str(each.token), store=place)


def _answer(session: Session, question: AskedQuestion, option: AnswerOption, store: str | None) -> Command:
    """Return the command that answers with *option*. Accepting open findings needs a reason."""
    if question.source == BY_EVIDENCE and option.outcome == engine_questions.WAIVE:
        known = session.evidence.get(str(session.step))
        results = known.results if known is not None else ()
        missing = [each.check for each in results if each.is_demanded and not each.is_satisfied]
        return Command("evidence waive", session.id, *missing, reason="REASON", store=store)
    reason = engine_questions.ACCEPTED if option.outcome == engine_questions.ACCEPT else None
    return Command("answer", session.id, answers={question.id: option.label}, reason=reason, store=store)


def _question(each: AskedQuestion, session: Session, store: str | None) -> QuestionView:
    options = [
        OptionView(option.label, option.description, option.outcome, _answer(session, each, option, store))
        for option in each.options
    ]
    return QuestionView(
        id=each.id,
        header=each.header,
        text=each.text,
        options=tuple(options),
        multi=each.multi,
        answer=each.answer,
        session=session.id,
        source=each.source,
        command=Command("answer", session.id, answers={each.id: "OPTION"}, store=store),
        default=each.default,
        due=each.due,
    )
