"""`flow step` and `flow resume`: show the current step of a session, or report its outcome and show the next.

A report locks and reads the session, decides, adds one record, and prints the next step. That record is the only point at
which anything changes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.discovery.locations import OFFERED
from flowrail.errors import ConflictError, FlowError, StorageError, UsageError
from flowrail.machines.agents import Children
from flowrail.machines.outcome import DONE, Outcome
from flowrail.machines.reported_values import EvidenceMissingError, ValuesError, check_note, read_values
from flowrail.machines.session import Report, Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import ForeignSessionError, SessionChange, UnknownSessionError
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.transition import (
    REPORTED,
    assumed_evidence,
    check_reportable,
    current_step,
    follow,
    read_outcome,
)
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment, OpenedWorkflow
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
from flowrail.operations.steps import command_runs, session_ownership, step_checks
from flowrail.operations.steps.child_sessions import replace_agent, start_if_reserved
from flowrail.operations.steps.dispatched_work import check_still_dispatched, children_of
from flowrail.operations.steps.guarded_calls import check_move
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.session_workflow import open_session
from flowrail.operations.steps.shown_step import ShownStep, show_record, show_step
from flowrail.storage.lock import LockTimeoutError
from flowrail.text.safe_text import one_line, shortened

_LOOKED_BACK = 2_000
"""Records that are searched for the one that reached a revision."""
_MOVED = {"rewind": "it was rewound", "migrate": "it was migrated"}


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
        Help("ok, fail, skip or iterate; done if the step itself decides."),
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
            "Replace the agent of dispatch N of the session's step by a new one, in a session of its own.",
            metavar="N",
        ),
    ] = None,
    take_over: TakeOver = False,
) -> ShownStep:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). With --session, SKILL can be left out. OUTCOME is ok, fail, skip or iterate,
    or done if the step itself decides; a reviewer may report pass for ok. Every answer prints the commands that can
    come next. A sub-agent names the session that its prompt names.
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
    if session and begins:
        raise UsageError(
            "--new and -p belong to a new session, and --session names one", hint="leave one of them out"
        )
    if outcome is not None and (begins or again is not None):
        raise UsageError(
            "--new, -p and --again do not belong to a report", hint="give facts of a report with -s"
        )
    if again is not None and not session:
        raise UsageError("--again needs --session", hint="name the session whose step has the dispatch")


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
        shown = show_record(environment, session_ownership.own_session(environment))
    with suppress(OSError):
        os.unlink(os.path.join(environment.store.folder(shown.session), OFFERED))
    return shown.told(environment)


def look(
    environment: Environment, session_id: str, address: str | None = None, *, take_over: bool = False
) -> ShownStep:
    """Show the current step of a session again. With *address* the session must belong to that skill.

    Nothing changes, unless *take_over* gives the session to the caller's conversation.
    """
    is_new = start_if_reserved(environment, session_id)
    if take_over:
        session_ownership.take_over(environment, session_id)
    record = environment.store.read(session_id)
    _check_skill(environment, record.session, address)
    return show_record(environment, record, is_new=is_new)


def step_again(
    environment: Environment, address: str, params: Mapping[str, object] | None = None
) -> ShownStep:
    """Show the current step of the caller's open session of that skill, or start one.

    Sessions of other conversations are mentioned, not used.
    """
    record, others = session_ownership.choose(environment, address, params)
    if record is None:
        return _begin_beside(environment, address, params, others)
    if params and not session_ownership.has_params(record.session, params):
        if environment.conversation is not None and record.session.owner != environment.conversation:
            return _begin_beside(environment, address, params, (record, *others))
        resume = Command("resume", record.session.id, store=environment.shown_store)
        start = Command("step", address, new=True, params=params, store=environment.shown_store)
        raise UsageError(
            f"session `{record.session.id}` of `{address}` is open with other parameters "
            f"({session_ownership.described(environment, record)})",
            hint=Hint("continue it: ", resume, "; or start another session: ", start),
            session=record.session.id,
        )
    return show_record(environment, record)


def _begin_beside(
    environment: Environment, address: str, params: Mapping[str, object] | None, others: Sequence[Record]
) -> ShownStep:
    """Start a session and mention the open ones that are left alone."""
    shown = begin(environment, address, params)
    return replace(shown, notes=session_ownership.mention(environment, address, others))


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
    with ExitStack() as lock:
        change = _held(environment, address, session_id, lock)
        record = change.kept
        _check_skill(environment, record.session, address, reported.outcome)
        session = session_ownership.owned(environment, record, take_over=take_over)
        opened = open_session(environment, session)
        if expect is not None and expect != session.revision:
            return _show_repeated(environment, record, opened, reported, expect)
        if session.is_open:
            check_still_dispatched(environment.store, session)
        step = current_step(opened.workflow, session)
        if expect is not None and _has_raised_limit_question(step, session, reported):
            return show_step(environment, record.session, opened, head=record.head, replayed=True)
        if session.runs:
            session = replace(session, runs=command_runs.require_no_running(environment, change).runs)
        children = children_of(environment.store, session.dispatches)
        check_reportable(opened.workflow, step, session, reported.outcome, children)
        relayed = is_started_now or session_ownership.is_relayed(environment, record.session)
        now = environment.now
        try:
            reported = replace(reported, facts=_facts(environment, opened.workflow, session, step, reported))
            after = _follow(environment, change, opened.workflow, session, reported, children, now, relayed)
        except ValuesError as error:
            resume = Command("resume", session.id, store=environment.shown_store)
            error.hint = Hint(error.hint, "; read the step again: ", resume)
            raise
        shown = show_step(environment, after, opened)  # before the session moves: a text may be refused
        changed = session_ownership.ownership_note(record.session, after)
        kind = "move"
        if after.revision == session.revision:  # the report raised the question of a limit
            kind, changed = "limit", changed | ({"text": reported.note} if reported.note else {})
        stored = change.commit(after, kind=kind, at=now, by=environment.by, note=changed)
    return replace(shown, head=stored.head)


def _held(
    environment: Environment, address: str | None, session_id: str | None, lock: ExitStack
) -> SessionChange:
    """Lock the session of a report, so that exactly one journal is opened, once."""
    if session_id is None:
        ids = list(session_ownership.ids_of(environment, str(address)))
        if len(ids) == 1:
            try:
                change = _lock(environment, ids[0], lock)
            except LockTimeoutError:
                raise
            except (UnknownSessionError, ForeignSessionError, StorageError):
                pass  # the choice below says what is wrong
            else:
                session = change.kept.session
                is_meant = session.is_open and not session.parent and session.skill == address
                if is_meant and session.owner in {environment.conversation, None}:
                    return change
                lock.close()
        record, others = session_ownership.choose(environment, str(address))
        if record is None:
            raise session_ownership.no_open_session(environment, str(address), others)
        session_id = record.session.id
    return _lock(environment, session_id, lock)


def _lock(environment: Environment, session_id: str, lock: ExitStack) -> SessionChange:
    return lock.enter_context(environment.store.change(session_id, wait=environment.wait))


def _follow(
    environment: Environment,
    change: SessionChange,
    workflow: Workflow,
    session: Session,
    reported: Report,
    children: Children,
    now: str,
    relayed: bool,
) -> Session:
    """Return the session after a report. One that lacks evidence is recorded and refused."""
    step = current_step(workflow, session)
    results = assumed_evidence(step, passed=False) if environment.lacks_evidence else None
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
            step_checks.record_refusal(environment, change, workflow, session, refusal)
        raise
    check_move(environment, change, workflow, session, after)
    if after.revision != session.revision:
        after = step_checks.entered(environment, workflow, after)
    return after


def _facts(
    environment: Environment, workflow: Workflow, session: Session, step: StepDef, reported: Report
) -> dict[str, object]:
    """Return the facts of a report, those from the output of commands included."""
    facts = read_values(reported.facts, fact_args(step))
    if step.commands and environment.demands_evidence:
        return command_runs.facts_of(workflow, session, step, facts)
    return facts


def fact_names(skill: str | None, session_id: str | None, *, store: str | None) -> Collection[str]:
    """Return the facts of the step at which a session is: *session_id*, or the caller's open one of the *skill*."""
    environment = Environment(store=store)
    record = environment.store.read(session_id) if session_id else None
    if record is None:
        record, _ = session_ownership.choose(environment, str(skill))
    if record is None:
        return ()
    workflow = open_session(environment, record.session).workflow
    return fact_args(current_step(workflow, record.session)).keys()


def _check_skill(environment: Environment, session: Session, address: str | None, *outcome: str) -> None:
    if address is not None and session.skill != address:
        named = Command("step", session.skill, *outcome, session=session.id, store=environment.shown_store)
        raise UsageError(
            f"session `{session.id}` belongs to `{session.skill}`, not to `{address}`",
            hint=Hint("use: ", named),
            session=session.id,
        )


def _show_repeated(
    environment: Environment, record: Record, opened: OpenedWorkflow, reported: Report, expect: int
) -> ShownStep:
    """Answer an accepted report again in the same way; refuse any other report at an old revision."""
    session, last = record.session, record.session.last
    if last is not None and expect == session.revision - 1 and reported.outcome == last.reported:
        step = opened.workflow.get(last.step)
        try:
            same = step is not None and _plain(read_values(reported.facts, fact_args(step))) == _plain(
                _given(step, last.facts)
            )
        except FlowError:
            same = False
        if same:
            lost = shortened(one_line(reported.note), 200) if reported.note != last.note else ""
            notes = [f"this report was recorded before, without your note: {lost}"] if lost else []
            return show_step(environment, session, opened, *notes, head=record.head, replayed=True)
    raise _conflict(environment, session, expect)


def _has_raised_limit_question(step: StepDef, session: Session, reported: Report) -> bool:
    """Return whether the same report has raised the question of the step's limit, which is still open."""
    question = session.limit_question
    if question is None or not question.is_open:
        return False
    if reported.outcome != (DONE if step.decides else Outcome.FAIL):
        return False
    values = read_values(reported.facts, fact_args(step))
    return all(_plain(session.state.get(name)) == _plain(value) for name, value in values.items())


def _given(step: StepDef, facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts of a report without those that were taken from commands."""
    return {
        name: value
        for name, value in facts.items()
        if name not in step.reports or step.reports[name].source is None
    }


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return (type(value).__name__, value) if isinstance(value, bool) else value


def check_expected(environment: Environment, session: Session, expect: int | None) -> None:
    """Refuse a command for another revision than that of *session*."""
    if expect is not None and expect != session.revision:
        raise _conflict(environment, session, expect)


def _conflict(environment: Environment, session: Session, expect: int) -> ConflictError:
    after = environment.store.arrival(session.id, min(expect + 1, session.revision), most=_LOOKED_BACK)
    last = after.session.last if after else None
    moved = f"; `{last.reported}` was reported for step `{last.step}` at {last.at}" if last else ""
    if after and after.kind in _MOVED:
        moved = f"; {_MOVED[after.kind]} at {after.at}"
    topic = f' ("{one_line(session.topic)}")' if session.topic else ""
    return ConflictError(
        f"session `{session.id}`{topic} is at revision {session.revision}, not {expect}{moved}",
        code="REVISION_CONFLICT",
        hint=Hint("see its state: ", Command("resume", session.id, store=environment.shown_store)),
        session=session.id,
        revision=session.revision,
        expected=expect,
        outcome=last.reported if last else None,
        step=session.step,
        at=after.at if after else session.moved_at,
    )
