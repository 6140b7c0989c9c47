"""The next session, from a session and a report. The engine decides which transition the report takes.

Pure: no file, no clock, no output. `transitions` decides where an outcome leads, also at a step's limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, UsageError
from flowrail.machines import agents, asked_questions, order_watch
from flowrail.machines.agents import Children
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.frozen import Frozen
from flowrail.machines.gate_verdict import decide_gate
from flowrail.machines.graph import reviews
from flowrail.machines.next_step import open_transitions
from flowrail.machines.outcome_decision import Decision, decide, name_of, names_at, session_context
from flowrail.machines.reported_values import (
    EvidenceMissingError,
    OutcomeNotOpenError,
    SessionEndedError,
    check_facts,
    check_params,
)
from flowrail.machines.session import GivenAnswer, Move, ParentSession, Report, Session
from flowrail.machines.statechart import (
    EVENTS,
    STOP,
    MachineState,
    accepted_outcomes,
    compile_workflow,
    is_accepted,
    position,
)
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import DONE, Outcome
from flowrail.session_status import ACTIVE
from flowrail.text.phrases import did_you_mean, listed
from flowrail.text.safe_text import shortened

NOTHING: Frozen[str, Any] = Frozen()
WORDS = {str(outcome): outcome for outcome in EVENTS}
VERDICTS = {"pass": str(Outcome.OK)}
"""Words of reviewers for outcomes; `fail` is one itself."""
REPORTED = frozenset({*WORDS, *VERDICTS, DONE})
"""Every word that can be reported."""
LONGEST_TOPIC = 80


def start(
    workflow: Workflow,
    params: Mapping[str, object] | None = None,
    *,
    session_id: str = "",
    now: str = "",
    parent: ParentSession | None = None,
    work: str = "",
) -> Session:
    """Return a new session at the entry point; parameters are checked, defaults filled in."""
    values = check_params(workflow, params or {})
    _check_lists(workflow, values)
    machine = compile_workflow(workflow)()
    step = str(machine.current_state_value)
    begun = Session(
        id=session_id or workflow.name,
        topic=topic_of(workflow, values),
        work=work,
        skill=workflow.name,
        step=step,
        params=values,
        visits=Frozen(machine.model.visits),
        started_at=now,
        moved_at=now,
        parent=parent,
    )
    return order_watch.begun(workflow, entered(workflow, begun))


def topic_of(workflow: Workflow, params: Mapping[str, object]) -> str:
    """Return the topic of a session with these parameters: the first parameter that is free text."""
    for name, arg in workflow.params.items():
        value = params.get(name)
        if isinstance(value, str) and value.strip() and not arg.choices:
            return shortened(value, LONGEST_TOPIC)
    return ""


def _check_lists(workflow: Workflow, params: Mapping[str, Any]) -> None:
    """Refuse a list that a later step cannot dispatch, because parameters cannot change."""
    for step in workflow.steps:
        over = step.work.over if step.dispatch is not None and step.work is not None else None
        if isinstance(over, str) and isinstance(params.get(over), (list, tuple)):
            agents.check_items(step, params[over])


def advance(
    workflow: Workflow,
    session: Session,
    report: Report,
    *,
    now: str = "",
    evidence: Sequence[EvidenceResult] | None = None,
    children: Children = NOTHING,
) -> Session:
    """Return the session that follows *report* in the current step, or refuse the report.

    *evidence* and *children* are as in `follow`. *session* does not change.
    """
    step = current_step(workflow, session)
    report = replace(report, outcome=read_outcome(report.outcome))
    check_reportable(workflow, step, session, report.outcome, children)
    return follow(workflow, step, session, report, now=now, evidence=evidence, children=children)


def follow(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    report: Report,
    *,
    now: str,
    evidence: Sequence[EvidenceResult] | None = None,
    children: Children = NOTHING,
    relayed: bool = False,
) -> Session:
    """Return the session that follows *report*, which `check_reportable` has accepted.

    *children* are the sessions of the step's agents that exist. *relayed* is recorded with the move.

    *evidence* holds the results of the step's checks. `EvidenceMissingError` is raised if one that the outcome needs is
    not satisfied. With `None`, evidence is not demanded.

    An outcome that the step does not name takes its ``DEFAULT`` transition. A `fail` that leads back at the limit
    does not move the session: it waits for the user's answer.
    """
    at_limit = _limit_answer(session) is not None
    by_prompt = session.parent is not None and session.parent.prompt
    facts = (
        NOTHING  # they were reported before the question was asked
        if at_limit
        else check_facts(workflow, step, session.params, report.facts, accepts_any=by_prompt)
    )
    decision = _decide(workflow, step, session, report, facts, children)
    state = (
        Frozen({**session.state, **facts, **decision.values}) if facts or decision.values else session.state
    )
    if decision.granted:
        session = _with_extra_round(step, session)
    possible = () if decision.stop else open_transitions(workflow, step, session, decision.outcome)
    if any(transition.asks_user for transition in possible):
        if evidence is not None and step.evidence:
            _demanded(step, session, decision.outcome, evidence)
        asking = session.with_note(report.note, step=step.id, at=now, source="report")
        return _ask_about_limit(workflow, step, replace(asking, state=state))
    is_capped = any(transition.capped for transition in possible)
    effective = Outcome.OK if is_capped else decision.outcome
    if session.dispatches and not at_limit:
        agents.check_joined(workflow, step, session, children, effective)
    if evidence is not None and step.evidence and not decision.stop:
        evidence = _demanded(step, session, effective, evidence)
    status, to, model = _send_event(workflow, step, session, decision, state)
    taken = next((transition for transition in possible if transition.to == to), None)
    move = Move(
        step=step.id,
        reported=str(report.outcome),
        outcome="stop" if decision.stop else decision.outcome.value,
        to=to,
        facts=facts,
        skipped=taken.skipped if taken is not None else (),
        capped=is_capped,
        at=now,
        answers=_answers(session),
        note=report.note,
        evidence=tuple(evidence or ()),
        dispatches=session.dispatches,
        relayed=relayed,
    )
    moved = replace(
        session,
        step=to,
        status=status,
        revision=session.revision + 1,
        state=state,
        visits=Frozen(model.visits),
        grants=Frozen({name: grant for name, grant in session.grants.items() if name in model.granted}),
        moved_at=now,
        last=move,
        dispatches=(),
        questions=(),
        evidence=None,
        decided=_decided(step, session),
        notes=session.with_note(report.note, step=step.id, at=now, source="report").notes,
    )
    return order_watch.moved(workflow, session, entered(workflow, moved) if to is not None else moved)[0]


def entered(workflow: Workflow, session: Session) -> Session:
    """Return *session* with what entering its current step records: dispatches, questions, a review."""
    step = workflow.step(str(session.step))
    if step.work is None and not step.questions and step.id not in reviews(workflow):
        return session
    values = names_at(workflow, session, step)
    session = replace(session, dispatches=agents.new_dispatches(step, values, session))
    session = asked_questions.with_questions(session, asked_questions.step_questions(step, values))
    if step.id in reviews(workflow):
        session = replace(session, entered=Frozen({**session.entered, step.id: session.revision}))
    return session


def current_step(workflow: Workflow, session: Session) -> StepDef:
    """Return the current step of *session*; refuse if it has ended or the step is gone."""
    if not session.is_open:
        raise SessionEndedError(session=session.id, status=session.status)
    step = workflow.get(session.step)
    if step is None:
        raise step_gone(workflow, session)
    return step


def step_gone(workflow: Workflow, session: Session) -> ChangedError:
    """Return the refusal of a session whose current step *workflow* does not have."""
    return ChangedError(
        f"session `{session.id}` is at step `{session.step}`, which the workflow no longer has",
        hint=Hint("name the new step: ", Command("session migrate", session.id, to="STEP")),
        session=session.id,
        step=session.step,
        steps=[known.id for known in workflow.steps],
    )


def reportable_outcomes(workflow: Workflow, step: StepDef, session: Session) -> list[str]:
    """Return the outcomes that a step accepts; at its limit in *session*, the user's answer decides."""
    if step.decides or session.limit_question is not None:
        return [DONE]
    return [str(outcome) for outcome in accepted_outcomes(workflow, step)]


def read_outcome(word: str) -> str:
    """Return the outcome that a reported word means, or `DONE`; refuse any other word."""
    if word not in REPORTED:
        words = [*map(str, EVENTS), DONE]
        raise UsageError(
            f"`{word}` is not an outcome",
            code="UNKNOWN_OUTCOME",
            hint=did_you_mean(word, words, f"report one of {listed(words)}"),
            outcome=word,
            outcomes=words,
        )
    return VERDICTS.get(word, word)


def check_reportable(
    workflow: Workflow, step: StepDef, session: Session, reported: str, children: Children
) -> None:
    """Refuse an outcome that the step does not accept now: unknown, or closed by a question, a gate or a join.

    If rules or a handler decide, `ok` is read as `done`.
    """
    if reported == Outcome.OK and (step.rules or callable(step.handler)):
        reported = DONE
    if session.questions:
        asked_questions.check_answered(session, step)
    if step.gate is not None and reported in WORDS:
        decide_gate(step, session, reported=reported)  # refuses it
    outcomes = reportable_outcomes(workflow, step, session)
    if reported not in outcomes:
        raise OutcomeNotOpenError(session=session.id, step=step.id, outcome=reported, accepted=outcomes)
    if session.dispatches and _limit_answer(session) is None:
        agents.check_joined(workflow, step, session, children, reported)


def _answers(session: Session) -> tuple[GivenAnswer, ...]:
    """Return the user's answers in the current step."""
    return tuple(
        GivenAnswer(question.id, question.text, question.answer, question.reason, question.way)
        for question in session.questions
        if question.answer
    )


def _decide(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    report: Report,
    facts: Mapping[str, object],
    children: Children,
) -> Decision:
    answer = _limit_answer(session)
    if answer is not None:
        return _decision_at_limit(step, session, answer)
    if not step.decides:
        return Decision(WORDS[report.outcome])
    if step.gate is not None:
        return Decision(decide_gate(step, session))
    if step.questions:
        decision = Decision(WORDS[asked_questions.decided_by_answers(session.questions)])
    else:
        decision = decide(step, session_context(workflow, session, step, facts))
        if (
            callable(step.handler)
            and decision.outcome is Outcome.OK
            and agents.is_hopeless(workflow, step, session, children)
        ):
            decision = decision._replace(outcome=Outcome.FAIL)
    accepted = accepted_outcomes(workflow, step)
    if decision.outcome not in accepted:
        raise OutcomeNotOpenError(
            session=session.id, step=step.id, outcome=decision.outcome.value, accepted=accepted
        )
    return decision


def _demanded(
    step: StepDef, session: Session, outcome: Outcome, results: Sequence[EvidenceResult]
) -> tuple[EvidenceResult, ...]:
    """Return *results* with those marked that *outcome* needs; refuse if one of them is not satisfied."""
    needed = {check.id for check in step.evidence.get(str(outcome), ())}
    marked = tuple(replace(result, is_demanded=result.check in needed) for result in results)
    satisfied = {result.check for result in marked if result.is_satisfied}
    if not needed <= satisfied:
        raise EvidenceMissingError(
            session=session.id,
            step=step.id,
            outcome=str(outcome),
            results=marked,
            is_decided=step.decides or _limit_answer(session) is not None,
            target=step.transitions.get(outcome),
        )
    return marked


def _decided(step: StepDef, session: Session) -> Mapping[str, int]:
    """Return when each gate decided last; its next decision needs a review entered after that."""
    if step.gate is None:
        return session.decided
    return Frozen({**session.decided, step.id: session.revision})


def _limit_answer(session: Session) -> str | None:
    """Return the user's answer to the limit's question, if there is one."""
    question = session.limit_question
    return question.outcome if question is not None else None


def _decision_at_limit(step: StepDef, session: Session, answer: str) -> Decision:
    if answer == asked_questions.STOP:
        return Decision(Outcome.FAIL, stop=True)
    if answer == asked_questions.ACCEPT:
        return Decision(Outcome.OK)
    outcome = WORDS[asked_questions.decided_by_answers(session.questions)] if step.questions else Outcome.FAIL
    return Decision(outcome, granted=True)


def _ask_about_limit(workflow: Workflow, step: StepDef, session: Session) -> Session:
    """Return *session*, which has not moved, with the question that its limit raises."""
    question = asked_questions.limit_question(
        step, session, name_of(step, session_context(workflow, session, step))
    )
    answered = [asked for asked in session.questions if not asked.is_open]
    return asked_questions.with_questions(session, [*answered, question])


def _with_extra_round(step: StepDef, session: Session) -> Session:
    """Return *session* with the round that the user allowed at the limit of *step*.

    Other steps may have entered it more often than its limit. The round is added to those attempts.
    """
    before = session.granted(step.id)
    grant = replace(
        before,
        rounds=max(before.rounds, session.visit - (step.bound or 0)) + 1,
        another=before.another + 1,
    )
    return replace(session, grants=Frozen({**session.grants, step.id: grant}))


def _send_event(
    workflow: Workflow, step: StepDef, session: Session, decision: Decision, state: Mapping[str, object]
) -> tuple[str, str | None, MachineState]:
    """Put the engine at the session's step, send the event, and return the new status, the new step and the counts."""
    model = MachineState(session.params)
    model.step = step.id  # a machine with a step does not enter its first one
    machine = compile_workflow(workflow)(model)
    model.workflow = workflow  # an equal workflow may have other folders
    model.facts, model.visits = state, dict(session.visits)
    model.granted = {name: grant.rounds for name, grant in session.grants.items()}
    if not is_accepted(machine, STOP if decision.stop else EVENTS[decision.outcome]):
        accepted = accepted_outcomes(workflow, step)
        raise OutcomeNotOpenError(
            session=session.id, step=step.id, outcome=decision.outcome.value, accepted=accepted
        )
    to = position(machine)
    return ACTIVE if to is not None else str(machine.current_state_value)[1:], to, model
