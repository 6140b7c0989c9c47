"""The operations behind the agents' commands: start, show, report to and abandon sessions.

Each function gets the environment as an argument and returns an answer. The commit of the store is the only
point at which anything changes.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, FlowError, StorageError, UsageError
from flowrail.machines.agents import (
    find_dispatch,
    number_of,
    parent_of,
    replace_child,
    variables_of,
    workflow_of_prompt,
)
from flowrail.machines.decision import SCRIPTS, names_in, session_context
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.graph import reviews
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.outcome import DONE, Outcome
from flowrail.machines.plain_form import to_plain
from flowrail.machines.reported_values import ValuesError, check_note, read_values
from flowrail.machines.session import (
    ABANDONED,
    ParentSession,
    ReceivedWork,
    Report,
    Session,
)
from flowrail.machines.session_record import Record, RecordNote
from flowrail.machines.session_store import ForeignSessionError, SessionChange, UnknownSessionError
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.transition import (
    LONGEST_TOPIC,
    assumed_evidence,
    check_reportable,
    current_step,
    follow,
    read_outcome,
    start,
)
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment, OpenedWorkflow
from flowrail.operations.running import commands, conversations, evidence, load_workflow, session_files
from flowrail.operations.running.briefing import with_past
from flowrail.operations.running.child_sessions import (
    check_dispatched,
    check_still_dispatched,
    children_of,
    lost_dispatch,
    runs_to_inherit,
)
from flowrail.operations.running.people import page_address
from flowrail.operations.running.session_files import open_session
from flowrail.storage.files import LockTimeoutError
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import one_line, shortened

MOST_GENERATIONS = 8
"""How deep the sessions of sub-agents may be nested."""
PROMPT = "prompt"
"""The source of the definition of a session that works from a prompt: no file contains it."""


_LOOKED_BACK = 2_000
"""Records that are searched for the one that reached a revision."""
_MOVED = {"rewind": "it was rewound", "migrate": "it was migrated"}


class Answer(NamedTuple):
    """The guidance for a session, the session and its workflow, and notes to print beside it."""

    guidance: Guidance
    session: Session
    workflow: Workflow
    notes: tuple[str, ...] = ()

    def with_head(self, head: str) -> Answer:
        """Return the answer for the record with this hash."""
        return self._replace(guidance=replace(self.guidance, head=head))


def begin(
    environment: Environment,
    address: str,
    params: Mapping[str, object] | None = None,
    opened: OpenedWorkflow | None = None,
) -> Answer:
    """Start a session of the workflow at *address*, which may be *opened* already, and return its first step."""
    opened = opened or load_workflow.open_skill(address, environment.loader)
    values = read_values(params or {}, opened.workflow.params)
    return start_session(environment, opened, environment.store.new_id(address), values)


def start_session(
    environment: Environment,
    opened: OpenedWorkflow,
    session_id: str,
    params: Mapping[str, object],
    *,
    parent: ParentSession | None = None,
    project: str = "",
    topic: str = "",
    received: ReceivedWork | None = None,
    runs: tuple[CommandRun, ...] = (),
    note: RecordNote | None = None,
) -> Answer:
    """Store a new session at its first step: of a user, of a sub-agent for its *parent*, or of a *received* handoff.

    *topic* describes it if no parameter does. *runs* are those of commands that it must not repeat.
    """
    now = environment.now
    session = start(
        opened.workflow,
        params,
        session_id=session_id,
        now=now,
        parent=parent,
        work=environment.store.work_folder(session_id, is_child=parent is not None),
    )
    topic = session.topic or shortened(topic or (received.summary if received else ""), LONGEST_TOPIC)
    session = replace(session, project=project, received=received, topic=topic, runs=runs).bound_to(
        environment.conversation
    )
    session = session_files.on_this_machine(environment, session)
    session = with_baseline(environment, opened.workflow, None, session)
    return store_new(environment, opened, session, at=now, kind="start", note=note)


def store_new(
    environment: Environment,
    opened: OpenedWorkflow,
    session: Session,
    *,
    at: str,
    kind: str,
    note: RecordNote | None = None,
) -> Answer:
    """Store a new session with its folder for working files."""
    answer = prepare_answer(environment, session, opened)  # before the session exists: a text may be refused
    stored = environment.store.create(
        session, opened.definition, at=at, by=environment.by, note=note, kind=kind
    )
    session_files.make(environment, session)
    return answer.with_head(stored.head)


def start_child(environment: Environment, child_id: str, *, is_given_up: bool = False) -> Answer:
    """Start the session that is reserved for a sub-agent, and return its first step.

    If it *is_given_up*, it gets a workflow of one step, which can always be started.
    """
    with environment.store.change(str(parent_of(child_id)), wait=environment.wait) as change:
        parent = change.kept.session
        check_dispatched(parent, child_id)
        check_still_dispatched(environment.store, parent)
        started = environment.store.find(child_id)
        if started is not None:  # another agent has just started it
            return show(environment, started)
        if os.path.lexists(environment.store.folder(child_id)):
            environment.store.delete(child_id)  # its start was interrupted
        opened = open_session(environment, parent)
        step = current_step(opened.workflow, parent)
        dispatch, work = find_dispatch(parent, child_id), step.work
        assert work is not None  # noqa: S101 - the step has dispatches
        depth = (parent.parent.depth if parent.parent else 0) + 1
        if depth > MOST_GENERATIONS:
            raise ConflictError(
                f"session `{parent.id}` is nested {MOST_GENERATIONS} levels deep and cannot dispatch more work",
                code="TOO_DEEP",
                hint="fix the workflow that dispatches work to itself",
                session=parent.id,
            )
        review = step.id if step.id in reviews(opened.workflow) else parent.parent and parent.parent.review
        has_prompt = work.workflow is None or is_given_up
        above = ParentSession(parent.id, depth, review or None, prompt=has_prompt)
        convert = partial(session_files.for_agents, environment, parent)
        params: dict[str, object] = {}
        if has_prompt:
            introduction = [_how_to_run_module(environment, opened, work)] if work.script else []
            by_prompt = workflow_of_prompt(
                opened.workflow,
                parent,
                step,
                dispatch,
                introduction=introduction,
                convert=lambda text: str(convert(text)),
            )
            definition = replace(
                opened.definition,
                source=PROMPT,
                files={},
                functions=False,
                workflow=to_plain(by_prompt),
            )
            opened = OpenedWorkflow(by_prompt, definition)
        else:
            values = names_in(session_context(opened.workflow, parent, step))
            variables = variables_of(work, dispatch, values)
            params = {name: convert(value) for name, value in variables.items() if value is not None}
            opened = load_workflow.open_beside(environment, str(work.workflow), parent, opened.definition)
        try:
            return start_session(
                environment,
                opened,
                child_id,
                params,
                parent=above,
                project=parent.project,
                topic=in_words(dispatch.item) if dispatch.item is not None else step.name,
                runs=runs_to_inherit(environment.store, child_id),
                note={"for": parent.id},
            )
        except ValuesError as error:  # an agent cannot fix its own parameters
            abandon = Command("session abandon", child_id, reason="REASON", store=environment.store.address)
            error.hint = Hint("stop here and say so; the agent that launched this one can give up: ", abandon)
            raise


def _how_to_run_module(environment: Environment, opened: OpenedWorkflow, work: Dispatch) -> str:
    """Return the instruction to run the Python module of a dispatch, or that the module is missing."""
    module = str(work.script)
    roots = [root.path for root in environment.roots]
    places = [opened.folder, f"{opened.folder}/{SCRIPTS}", *roots, *map(os.path.dirname, roots)]
    for place in [session_files.project_of(environment), *(place for place in places if place)]:
        path = os.path.join(place, *module.split("."))
        if os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__main__.py")):
            total = f" --total-steps {work.total_steps}" if work.total_steps else ""
            command = f"PYTHONPATH={shlex.quote(place)} python3 -m {module} --step 1{total}"
            return f"Run `{command}`, and do what it prints, step by step, to its end."
    return (
        f"The module `{module}` was not found in the project or beside the skills, so it cannot be run. Report `fail` "
        f"with -s reason='module {module} not found'."
    )


def replace_agent(environment: Environment, session_id: str, name: str) -> Answer:
    """Reserve a new child session for one piece of the current step's work; reports of the old one are refused."""
    with environment.store.change(session_id, wait=environment.wait) as change, ExitStack() as lock:
        session = conversations.owned(environment, change.kept)
        check_still_dispatched(environment.store, session)
        opened = open_session(environment, session)
        current_step(opened.workflow, session)
        old = find_dispatch(session, name)
        with suppress(UnknownSessionError):  # not started
            lock.enter_context(environment.store.change(old.child, wait=environment.wait))
        after = replace_child(
            opened.workflow, session, name, children_of(environment.store, session.dispatches)
        )
        new = find_dispatch(after, str(number_of(old)))
        answer = prepare_answer(environment, after, opened)
        note: RecordNote = {"replaced": old.child, "child": new.child}
        stored = change.commit(after, kind="again", at=environment.now, by=environment.by, note=note)
    return answer.with_head(stored.head)


def start_if_reserved(environment: Environment, session_id: str, *, is_given_up: bool = False) -> bool:
    """Start a session that is reserved for a sub-agent, and return whether it had not been started."""
    if parent_of(session_id) is None or environment.store.find(session_id) is not None:
        return False
    start_child(environment, session_id, is_given_up=is_given_up)
    return True


def step_again(environment: Environment, address: str, params: Mapping[str, object] | None = None) -> Answer:
    """Show the current step of the caller's open session of that skill, or start one.

    Sessions of other conversations are mentioned, not used.
    """
    record, others = conversations.choose(environment, address, params)
    if record is None:
        return _begin_beside(environment, address, params, others)
    if params and not conversations.has_params(record.session, params):
        if environment.conversation is not None and not record.session.belongs_to(
            (environment.conversation,)
        ):
            return _begin_beside(environment, address, params, (record, *others))
        resume = Command("resume", record.session.id, store=environment.shown_store)
        start = Command("step", address, new=True, params=params, store=environment.shown_store)
        raise UsageError(
            f"session `{record.session.id}` of `{address}` is open with other parameters "
            f"({conversations.described(environment, record)})",
            hint=Hint("continue it: ", resume, "; or start another session: ", start),
            session=record.session.id,
        )
    return show(environment, record)


def _begin_beside(
    environment: Environment, address: str, params: Mapping[str, object] | None, others: Sequence[Record]
) -> Answer:
    """Start a session and mention the open ones that are left alone."""
    answer = begin(environment, address, params)
    return answer._replace(notes=(*answer.notes, *conversations.mention(environment, address, others)))


def look(
    environment: Environment, session_id: str, address: str | None = None, *, take_over: bool = False
) -> Answer:
    """Show the current step of a session again. With *address* the session must belong to that skill.

    Nothing changes, unless *take_over* gives the session to the caller's conversation.
    """
    is_new = start_if_reserved(environment, session_id)
    if take_over:
        conversations.take_over(environment, session_id)
    record = environment.store.read(session_id)
    _check_skill(environment, record.session, address)
    return show(environment, record, is_new=is_new)


def resume(environment: Environment, session_id: str | None, *, take_over: bool = False) -> Answer:
    """Show a session's current step again, by default that of the caller's open session."""
    if session_id is not None:
        return look(environment, session_id, take_over=take_over)
    return show(environment, conversations.own_session(environment))


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
) -> Answer:
    """Report the outcome of the current step, and return the next step.

    The session is *session_id*, or the caller's open one of the skill at *address*.

    The *note* is stored separately from facts and shown when the session is resumed. With *take_over* the
    session may belong to another conversation.
    """
    note = check_note(note)
    outcome = read_outcome(outcome)
    is_started_now = session_id is not None and start_if_reserved(environment, session_id)
    with ExitStack() as lock:
        change = None if session_id is not None else _lock_meant_session(environment, str(address), lock)
        if change is None:
            session_id = _open_session_id(environment, str(address)) if session_id is None else session_id
            change = lock.enter_context(environment.store.change(session_id, wait=environment.wait))
        record = change.kept
        _check_skill(environment, record.session, address, outcome)
        session = conversations.owned(environment, record, take_over=take_over)
        opened = open_session(environment, session)
        if expect is not None and expect != session.revision:
            return _replayed(environment, record, opened, Report(outcome, facts or {}, note), expect)
        if session.is_open:
            check_still_dispatched(environment.store, session)
        children = children_of(environment.store, session.dispatches)
        step = current_step(opened.workflow, session)
        now = environment.now
        if expect is not None and _has_raised_limit_question(step, session, outcome, facts):
            return prepare_answer(environment, record.session, opened, head=record.head, replayed=True)
        if session.runs:
            session = replace(session, runs=commands.require_no_running(environment, change).runs)
        check_reportable(opened.workflow, step, session, outcome, children)
        relayed = is_started_now or conversations.is_relayed(environment, record.session)
        try:
            reported_facts = _facts(step, facts)
            if step.commands and environment.demands_evidence:
                reported_facts = commands.facts_of(opened.workflow, session, step, reported_facts)
            reported = Report(outcome, reported_facts, note)
            if step.evidence and environment.demands_evidence:
                after = evidence.after_report(
                    environment,
                    change,
                    opened,
                    session,
                    reported,
                    now=now,
                    children=children,
                    relayed=relayed,
                )
            else:
                lacking = assumed_evidence(step, passed=False) if environment.lacks_evidence else None
                after = follow(
                    opened.workflow,
                    step,
                    session,
                    reported,
                    now=now,
                    evidence=lacking,
                    children=children,
                    relayed=relayed,
                )
        except ValuesError as error:
            resume = Command("resume", session.id, store=environment.shown_store)
            error.hint = Hint(error.hint, "; read the step again: ", resume)
            raise
        after = with_baseline(environment, opened.workflow, session, after)
        after = session_files.with_digest(environment, after)
        answer = prepare_answer(environment, after, opened)  # before the session moves: a text may be refused
        stored = _commit(environment, change, session, after, reported, now)
    return answer.with_head(stored.head)


def with_baseline(
    environment: Environment, workflow: Workflow, before: Session | None, after: Session
) -> Session:
    """Return *after* with the baseline of its step if that demands evidence and was just entered."""
    step = workflow.get(after.step)
    if step is None or not step.evidence or (before is not None and before.revision == after.revision):
        return after
    return evidence.entered(environment, workflow, after)


def _lock_meant_session(environment: Environment, address: str, lock: ExitStack) -> SessionChange | None:
    """Lock the only session that may be of the skill, so that exactly one journal is opened, once.

    Return `None` if there are several, or if the session cannot be read or does not match.
    """
    ids, host = list(conversations.ids_of(environment, address)), environment.conversation
    if len(ids) != 1:
        return None
    try:
        change = lock.enter_context(environment.store.change(ids[0], wait=environment.wait))
    except (UnknownSessionError, ForeignSessionError, StorageError) as error:
        if isinstance(error, LockTimeoutError):
            raise
        return None
    session = change.kept.session
    is_meant = session.is_open and not session.parent and session.skill == address
    if is_meant and session.owner in {host, None}:
        return change
    lock.close()
    return None


def _open_session_id(environment: Environment, address: str) -> str:
    record, others = conversations.choose(environment, address)
    if record is None:
        raise conversations.no_open_session(environment, address, others)
    return record.session.id


def _commit(
    environment: Environment,
    change: SessionChange,
    before: Session,
    after: Session,
    reported: Report,
    now: str,
) -> Record:
    """Store *after*. A report that raised the question of a limit has not moved the session."""
    note = conversations.ownership_note(change.kept.session, after)
    if after.revision == before.revision:
        note |= {"text": reported.note} if reported.note else {}
        return change.commit(after, kind="limit", at=now, by=environment.by, note=note)
    return change.commit(after, kind="move", at=now, by=environment.by, note=note)


def _because(reason: str) -> RecordNote:
    return {"reason": reason} if reason else {}


def abandon(
    environment: Environment, session_id: str, reason: str = "", *, expect: int | None = None
) -> Record:
    """End a session that will not be finished. Its journal stays. The dispatch of a sub-agent's session has failed.

    *expect* is the revision that the decision is based on, if it matters.
    """
    start_if_reserved(environment, session_id, is_given_up=True)
    with environment.store.change(session_id, wait=environment.wait) as change:
        if not change.kept.session.is_open:
            return change.kept
        session = conversations.owned(environment, change.kept)
        check_expected(environment, session, expect)
        now = environment.now
        ended = replace(session, status=ABANDONED)
        if reason and session.parent:  # its parent reads the notes
            ended = ended.with_note(reason, step=str(session.step), at=now, source="abandon")
        return change.commit(ended, kind="abandon", at=now, by=environment.by, note=_because(reason))


def _check_skill(environment: Environment, session: Session, address: str | None, *outcome: str) -> None:
    if address is not None and session.skill != address:
        named = Command("step", session.skill, *outcome, session=session.id, store=environment.shown_store)
        raise UsageError(
            f"session `{session.id}` belongs to `{session.skill}`, not to `{address}`",
            hint=Hint("use: ", named),
            session=session.id,
        )


def show(environment: Environment, record: Record, *, is_new: bool = False) -> Answer:
    """Return the current step of a session. Nothing changes."""
    opened = open_session(environment, record.session)
    notes = session_files.elsewhere(environment, record.session)
    reason = record.note.get("reason") if record.kind == "abandon" else None
    if reason:
        notes = (*notes, f"abandoned because: {reason}")
    resumed = record.session.is_open and not is_new
    answer = prepare_answer(environment, record.session, opened, notes, head=record.head, resumed=resumed)
    if conversations.belongs_to_other(environment, record):
        return _left_alone(environment, record, answer)
    return _without_lost_work(environment, record.session, answer) if record.session.parent else answer


def _left_alone(environment: Environment, record: Record, answer: Answer) -> Answer:
    """Return *answer* without instructions and commands: the session belongs to another conversation."""
    text = (
        f"This session belongs to another conversation ({conversations.described(environment, record)}). "
        "Leave it alone unless the user asks you to continue it."
    )
    take_over = Command("resume", record.session.id, take_over=True, store=environment.shown_store)
    bare = _bare(answer.guidance, text)
    return answer._replace(guidance=replace(bare, briefing=None, take_over_command=take_over))


def _without_lost_work(environment: Environment, session: Session, answer: Answer) -> Answer:
    """Return *answer* without work and commands if no report of its agent would count."""
    lost = lost_dispatch(environment.store, session)
    if lost is None:
        return answer
    hint = str(lost.hint)
    message = f"{lost.message[0].upper()}{lost.message[1:]}. {hint[0].upper()}{hint[1:]}."
    return answer._replace(guidance=_bare(answer.guidance, message))


def _bare(guidance: Guidance, text: str) -> Guidance:
    """Return *guidance* with *text* instead of its instructions, and without work and commands."""
    return replace(
        guidance,
        actions=(text,),
        next=(),
        dispatches=(),
        join=None,
        questions=(),
        answers=(),
        findings=(),
        finding_command=None,
        loop=None,
        forbids=(),
        commands=(),
        evidence=(),
        ask_command=None,
        launcher_command=None,
    )


def _replayed(
    environment: Environment, record: Record, opened: OpenedWorkflow, reported: Report, expect: int
) -> Answer:
    """Answer an accepted report again in the same way; refuse any other report at an old revision."""
    session, last = record.session, record.session.last
    if last is not None and expect == session.revision - 1 and reported.outcome == last.reported:
        step = opened.workflow.get(last.step)
        try:
            same = step is not None and _plain(_facts(step, reported.facts)) == _plain(
                _given(step, last.facts)
            )
        except FlowError:
            same = False
        if same:
            lost = shortened(one_line(reported.note), 200) if reported.note != last.note else ""
            notes = (f"this report was recorded before, without your note: {lost}",) if lost else ()
            return prepare_answer(environment, session, opened, notes, head=record.head, replayed=True)
    raise _conflict(environment, session, expect)


def check_expected(environment: Environment, session: Session, expect: int | None) -> None:
    """Refuse a command for another revision than that of *session*."""
    if expect is not None and expect != session.revision:
        raise _conflict(environment, session, expect)


def _has_raised_limit_question(
    step: StepDef,
    session: Session,
    outcome: str,
    facts: Mapping[str, object] | None,
) -> bool:
    """Return whether the same report has raised the question of the step's limit, which is still open."""
    if not session.questions or outcome != (DONE if step.decides else Outcome.FAIL):
        return False
    question = session.limit_question
    if question is None or not question.is_open:
        return False
    values = _facts(step, facts)
    return all(_plain(session.state.get(name)) == _plain(value) for name, value in values.items())


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


def prepare_answer(
    environment: Environment,
    session: Session,
    opened: OpenedWorkflow,
    notes: tuple[str, ...] = (),
    *,
    head: str = "",
    replayed: bool = False,
    resumed: bool = False,
) -> Answer:
    """Return the answer for *session*. If it is not stored yet, the *head* of its journal is unknown."""
    last = session.last.dispatches if session.last and session.last.outcome == Outcome.FAIL else ()
    children = children_of(environment.store, session.dispatches + last)
    guidance = guide(
        opened.workflow,
        session,
        head=head,
        store=environment.shown_store,
        place=environment.store.address,
        folder=environment.store.folder(session.id),
        replayed=replayed,
        resumed=resumed,
        children=children,
    )
    if guidance.waits_for_person:
        guidance = replace(guidance, page=page_address(environment, session.id))
    if session.parent:
        is_elsewhere = session.owner not in {None, environment.conversation}
        relaunch = Command(
            "step", session=session.id, take_over=is_elsewhere or None, store=environment.store.address
        )
        guidance = replace(guidance, relaunch_command=relaunch)
    if resumed or not session.is_open:
        guidance = with_past(environment, session, opened.workflow, guidance)
    if resumed and guidance.evidence and environment.demands_evidence:
        checks = evidence.with_verdicts(environment, opened.workflow, session, guidance.evidence)
        guidance = replace(guidance, evidence=checks)
    return Answer(guidance, session, opened.workflow, notes)


def _facts(step: StepDef, facts: Mapping[str, object] | None) -> dict[str, object]:
    return read_values(facts or {}, fact_args(step))


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
