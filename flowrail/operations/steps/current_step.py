"""`flow step` and `flow resume`: show the current step of a session, or report its outcome and show the next.

A report locks and reads the session, decides, adds one record, and prints the next step. That record is the only point at
which anything changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.machines.agents import Children
from flowrail.machines.reported_values import EvidenceMissingError, ValuesError, check_note, read_values
from flowrail.machines.session import Report, Session
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.transition import REPORTED, check_reportable, follow, read_outcome
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import (
    NO_VALUES,
    Expect,
    Facts,
    Notes,
    OptionalSession,
    OptionalSkill,
    Params,
    TakeOver,
    joined_notes,
)
from flowrail.operations.steps import (
    command_runs,
    session_choice,
    session_ownership,
    step_checks,
    working_files,
)
from flowrail.operations.steps.child_sessions import replace_agent, start_if_reserved
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.operations.steps.held_session import HeldSession, hold
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.order_rules import check_move
from flowrail.operations.steps.revision_conflict import check_expected, has_raised_limit_question, is_repeated
from flowrail.operations.steps.shown_step import ShownStep, commit_shown, show_record, show_step
from flowrail.outcome import DONE, REPORTABLE
from flowrail.text.safe_text import one_line, shortened


@operation(
    "step",
    "flow step problem-analysis -p topic='slow login'",
    "flow step problem-analysis ok --session problem-analysis-k3x9q2 --expect 0",
    'flow step problem-analysis done -s confidence=high -s \'areas=["auth", "db"]\'',
    "flow step --session planner-k3x9q2.0.1",
)
def step(
    environment: Environment,
    skill: OptionalSkill = None,
    outcome: Annotated[
        str | None,
        Help(f"{', '.join(REPORTABLE)}, or {DONE} if the step itself decides."),
    ] = None,
    *,
    session: Annotated[str | None, Help("The session, if several are open.", metavar="ID")] = None,
    fact: Facts = NO_VALUES,
    expect: Expect = None,
    note: Notes = (),
    param: Params = NO_VALUES,
    new: Annotated[bool, Help("Start a new session, even if one is open.")] = False,
    again: Annotated[
        str | None,
        Help(
            "Replace the agent of dispatch N with a new one, in its own session.",
            metavar="N",
        ),
    ] = None,
    take_over: TakeOver = False,
) -> ShownStep:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). With --session, SKILL can be left out. OUTCOME is $OUTCOMES, or done
    if the step itself decides; a reviewer may report pass for ok. Every answer prints the commands that can come next.
    A sub-agent names the session that its prompt names.
    """
    if session and skill and outcome is None and skill in REPORTED:
        skill, outcome = None, skill
    _check_combination(skill, outcome, session, begins=new or bool(param), again=again)
    if outcome is None and (fact or expect is not None or note):
        raise UsageError(
            "facts, --expect and --note belong to a report",
            hint=Hint("name the outcome: ", Command("step", skill or "SKILL", "OUTCOME")),
        )
    if outcome is not None:
        text = joined_notes(note)
        shown = report(
            environment,
            skill,
            outcome,
            facts=fact,
            session_id=session,
            expect=expect,
            note=text,
            take_over=take_over,
        )
    elif again is not None:
        shown = replace_agent(environment, str(session), again)
    elif session:
        shown = look(environment, session, skill, take_over=take_over)
    elif new:
        shown = begin(environment, str(skill), param)
    else:
        shown = step_again(environment, str(skill), param)
    return shown.told(environment)


def _check_combination(
    skill: str | None, outcome: str | None, session: str | None, *, begins: bool, again: str | None
) -> None:
    """Refuse options that exclude each other, or a command that names neither a skill nor a session."""
    if not (skill or session):
        hint = Hint("name it, or a session; see the skills: ", Command("list"))
        raise UsageError("the skill is missing", hint=hint)
    excluded = {
        "--session names a session, and --new and -p belong to a new one": session and begins,
        "--new, -p and --again do not belong to a report": outcome is not None
        and (begins or again is not None),
        "--again needs the --session whose step has the dispatch": again is not None and not session,
    }
    for message, applies in excluded.items():
        if applies:
            raise UsageError(message, hint="leave one of them out; the facts of a report are given with -s")


@operation("resume", "flow resume", "flow resume problem-analysis-k3x9q2 --format text")
def resume(
    environment: Environment, session: OptionalSession = None, *, take_over: TakeOver = False
) -> ShownStep:
    """Show the current step of a session again

    Without ID, shows this conversation's open session. The session does not change, unless --take-over makes
    it this conversation's. The skills that `flow discover` offered it are searched again.
    """
    if session is not None:
        shown = look(environment, session, take_over=take_over)
    elif take_over:
        hint = Hint("see the sessions: ", Command("sessions"))
        raise UsageError("--take-over needs the id of a session", hint=hint)
    else:
        shown = show_record(environment, session_choice.own_session(environment))
    working_files.forget_offered(environment, shown.session)
    return shown.told(environment)


def look(
    environment: Environment, session_id: str, address: str | None = None, *, take_over: bool = False
) -> ShownStep:
    """Show the current step of a session again. With *address* the session must belong to that skill.

    Nothing changes, unless *take_over* gives the session to the caller's conversation.
    """
    is_new = start_if_reserved(environment, session_id)
    if take_over:
        with hold(environment, session_id, take_over=True) as held:
            if held.session != held.kept.session and held.session.is_open:
                held.commit(held.session, "take-over")
    record = environment.store.read(session_id)
    _check_skill(environment, record.session, address)
    return show_record(environment, record, is_new=is_new)


def step_again(
    environment: Environment, address: str, params: Mapping[str, object] | None = None
) -> ShownStep:
    """Show the current step of the caller's open session of that skill, or start one.

    Sessions of other conversations are mentioned, not used.
    """
    record, others = session_choice.choose(environment, address, params)
    if record is not None and (not params or session_choice.has_params(record.session, params)):
        return show_record(environment, record)
    is_own = environment.conversation is None or (
        record is not None and record.session.owner == environment.conversation
    )
    if record is not None and is_own:
        resume = environment.command("resume", record.session.id)
        start = environment.command("step", address, new=True, params=params)
        raise UsageError(
            f"session `{record.session.id}` of `{address}` is open with other parameters "
            f"({session_choice.described(environment, record)})",
            hint=Hint("continue it: ", resume, "; or start another session: ", start),
            session=record.session.id,
        )
    beside = (record, *others) if record is not None else others
    shown = begin(environment, address, params)
    return replace(shown, notes=session_choice.mention(environment, address, beside))


def report(
    environment: Environment,
    address: str | None,
    outcome: str,
    *,
    facts: Mapping[str, object] | None = None,
    session_id: str | None = None,
    expect: int | None = None,
    note: str = "",
    take_over: bool = False,
) -> ShownStep:
    """Report the outcome of the current step, and return the next step.

    The session is *session_id*, or the caller's open one of the skill at *address*. The *note* is shown when the session
    is resumed. With *take_over* the session may belong to another conversation.
    """
    reported = Report(read_outcome(outcome), facts or {}, check_note(note))
    is_started_now = session_id is not None and start_if_reserved(environment, session_id)
    if session_id is None:
        session_id = session_choice.open_session_of(environment, str(address))
    with hold(environment, session_id, take_over=take_over) as held:
        before, session = held.kept.session, held.session
        _check_skill(environment, before, address, reported.outcome, facts=reported.facts)
        if expect is not None and expect != session.revision:
            if is_repeated(held.workflow, before, reported, expect):
                return _show_repeated(held, reported)
            check_expected(environment, before, expect)
        if expect is not None and has_raised_limit_question(held.step, session, reported):
            return show_step(environment, before, held.opened, head=held.kept.head, replayed=True)
        if session.runs:
            session = replace(session, runs=command_runs.require_no_running(environment, held.change).runs)
        children = children_of(environment.store, session.dispatches)
        check_reportable(held.workflow, held.step, session, reported.outcome, children)
        relayed = is_started_now or session_ownership.is_relayed(environment, before)
        now = environment.now
        try:
            reported = replace(
                reported, facts=_facts(environment, held.workflow, session, held.step, reported)
            )
            after = _follow(held, session, reported, children, now, relayed)
        except ValuesError as error:
            resume = environment.command("resume", session.id)
            error.hint = Hint(error.hint, "; read the step again: ", resume)
            raise
        if after.revision != session.revision:
            return commit_shown(held, after, "move", at=now)
        return commit_shown(
            held, after, "limit", at=now, text=reported.note
        )  # it raised the question of a limit


def _show_repeated(held: HeldSession, reported: Report) -> ShownStep:
    """Answer an accepted report again in the same way."""
    session, last = held.kept.session, held.kept.session.last
    is_new_note = last is not None and reported.note != last.note
    lost = shortened(one_line(reported.note), 200) if is_new_note else ""
    notes = [f"this report was recorded before, without your note: {lost}"] if lost else []
    return show_step(held.environment, session, held.opened, *notes, head=held.kept.head, replayed=True)


def _follow(
    held: HeldSession, session: Session, reported: Report, children: Children, now: str, relayed: bool
) -> Session:
    """Return the session after a report. One that lacks evidence is recorded and refused."""
    environment, workflow, step = held.environment, held.workflow, held.step
    results = None
    if step.evidence and environment.demands_evidence:
        if session.evidence is None:
            session = step_checks.entered(environment, workflow, session)
        results = step_checks.results_of(environment, workflow, session, reported.facts)
    try:
        after = follow(
            workflow, step, session, reported, now=now, evidence=results, children=children, relayed=relayed
        )
    except EvidenceMissingError as refusal:
        if environment.demands_evidence:
            step_checks.record_refusal(held, session, refusal)
        raise
    check_move(held, session, after)
    if after.revision != session.revision:
        after = step_checks.entered(environment, workflow, after)
    return after


def _facts(
    environment: Environment, workflow: Workflow, session: Session, step: StepDef, reported: Report
) -> dict[str, object]:
    """Return the facts of a report, those from the output of commands included."""
    facts = read_values(reported.facts, fact_args(step))
    if step.commands and environment.demands_evidence:
        return command_runs.facts_of(environment, workflow, session, step, facts)
    return facts


def _check_skill(
    environment: Environment,
    session: Session,
    address: str | None,
    *outcome: str,
    facts: Mapping[str, object] = NO_VALUES,
) -> None:
    if address is not None and session.skill != address:
        named = environment.command("step", session.skill, *outcome, facts=facts, session=session.id)
        raise UsageError(
            f"session `{session.id}` belongs to `{session.skill}`, not to `{address}`",
            hint=Hint("use: ", named),
            session=session.id,
        )
