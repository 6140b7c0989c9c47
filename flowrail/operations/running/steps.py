"""The operations behind the agents' commands: start, show, report to and abandon sessions.

Each function gets the world as an argument and returns an answer. The commit of the store is the only
point at which anything changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, FlowError, StorageError, UsageError
from flowrail.machines.definition.step import DONE, Outcome, StepDef, fact_args
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import dispatched_work as engine_work
from flowrail.machines.engine.advance import (
    LONGEST_TOPIC,
    WORDS,
    assumed_evidence,
    current_step,
    follow,
    ready_for,
    start,
    with_default_answers,
)
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.engine.reports import UnknownOutcomeError, ValuesError, check_memory, read_values
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.sessions.record import Record, RecordNote, StoredDefinition, memory_note
from flowrail.machines.sessions.session import (
    ABANDONED,
    FOUND,
    REMEMBER,
    Dispatched,
    ParentSession,
    ReceivedWork,
    Report,
    Session,
)
from flowrail.machines.sessions.store import ForeignSessionError, SessionChange, UnknownSessionError
from flowrail.operations.environment import OpenedWorkflow, World
from flowrail.operations.running import commands, conversations, evidence, session_files
from flowrail.operations.running.child_sessions import (
    agents_at_work,
    check_still_dispatched,
    ended_dispatch,
    lost_dispatch,
    reconciled,
)
from flowrail.operations.running.session_files import loading, open_session
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.records import to_plain
from flowrail.text.safe_text import one_line, shortened


class RevisionConflictError(ConflictError):
    """The session moved after the command was printed."""

    code = "REVISION_CONFLICT"


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
        return self._replace(guidance=self.guidance._replace(head=head))


def begin(
    world: World,
    address: str,
    params: Mapping[str, object] | None = None,
    opened: OpenedWorkflow | None = None,
) -> Answer:
    """Start a session of the workflow at *address*, which may be *opened* already, and return its first step."""
    opened = opened or loading().open_skill(address, world.loader)
    values = read_values(params or {}, opened.workflow.params)
    return start_session(world, opened, world.store.new_id(address), values)


def start_session(
    world: World,
    opened: OpenedWorkflow,
    session_id: str,
    params: Mapping[str, object],
    *,
    parent: ParentSession | None = None,
    project: str = "",
    received: ReceivedWork | None = None,
    note: RecordNote | None = None,
) -> Answer:
    """Store a new session at its first step: of a user, of a sub-agent for its *parent*, or of a *received* handoff."""
    now = world.now()
    session = start(
        opened.workflow,
        params,
        session_id=session_id,
        source=opened.source,
        now=now,
        parent=parent,
        work=session_files.new_folder(world, opened.workflow, session_id, for_agent=parent is not None),
    )
    topic = session.topic or (shortened(received.summary, LONGEST_TOPIC) if received else "")
    session = replace(session, project=project, received=received, topic=topic).bound_to(world.host)
    session = session_files.on_this_machine(world, session)
    session = with_baseline(world, opened.workflow, None, session)
    return store_new(world, opened, session, at=now, kind="start", note=note)


def store_new(
    world: World,
    opened: OpenedWorkflow,
    session: Session,
    *,
    at: str,
    kind: str,
    note: RecordNote | None = None,
) -> Answer:
    """Store a new session with its folder for working files."""
    answer = prepare_answer(world, session, opened)  # before the session exists: a text may be refused
    stored = world.store.create(session, opened.definition, at=at, by=world.by, note=note, kind=kind)
    session_files.make(world, session)
    return answer.with_head(stored.head)


def step_again(world: World, address: str, params: Mapping[str, object] | None = None) -> Answer:
    """Show the current step of the caller's open session of that skill, or start one.

    Sessions of other conversations are mentioned, not used.
    """
    record, others = conversations.choose(world, address, params)
    if record is None:
        return _begin_beside(world, address, params, others)
    if params and not conversations.has_params(record.session, params):
        if world.host is not None and not record.session.belongs_to((world.host,)):
            return _begin_beside(world, address, params, (record, *others))
        resume = Command("resume", record.session.id, store=world.shown_store)
        start = Command("start", address, params=params, store=world.shown_store)
        raise UsageError(
            f"session `{record.session.id}` of `{address}` is open with other parameters "
            f"({conversations.described(world, record)})",
            hint=Hint("continue it: ", resume, "; or start another session: ", start),
            session=record.session.id,
        )
    return _look(world, record)


def _begin_beside(
    world: World, address: str, params: Mapping[str, object] | None, others: Sequence[Record]
) -> Answer:
    """Start a session and mention the open ones that are left alone."""
    answer = begin(world, address, params)
    return answer._replace(notes=(*answer.notes, *conversations.mention(world, address, others)))


def look(world: World, session_id: str, address: str | None = None, *, take_over: bool = False) -> Answer:
    """Show the current step of a session again. With *address* the session must belong to that skill.

    Nothing changes, unless *take_over* gives the session to the caller's conversation.
    """
    if take_over:
        conversations.take_over(world, session_id)
    record = world.store.read(session_id)
    _check_skill(world, record.session, record.session.skill if address is None else address)
    return _look(world, record)


def resume(world: World, session_id: str | None, *, take_over: bool = False) -> Answer:
    """Show a session's current step again, by default that of the caller's open session."""
    if session_id is not None:
        return look(world, session_id, take_over=take_over)
    return _look(world, conversations.own_session(world))


def report(
    world: World,
    address: str,
    outcome: str,
    *,
    facts: Mapping[str, object] | None = None,
    session_id: str | None = None,
    expect: int | None = None,
    found: str = "",
    remember: str = "",
    take_over: bool = False,
    call: Call = call_plainly,
) -> Answer:
    """Report the outcome of the current step, and return the next step.

    *found* and *remember* are stored separately from facts and shown when the session is resumed. With *take_over* the
    session may belong to another conversation.
    """
    found, remember = check_memory(found, "found"), check_memory(remember, "remember")
    if outcome != DONE and outcome not in WORDS:
        raise UnknownOutcomeError(outcome)
    with ExitStack() as lock:
        change = None if session_id else _lock_meant_session(world, address, lock)
        if change is None:
            session_id = session_id or _open_session_id(world, address)
            change = lock.enter_context(world.store.change(session_id, wait=world.wait))
        record = change.kept
        _check_skill(world, record.session, address, outcome)
        session = conversations.owned(world, record, take_over=take_over)
        opened = open_session(world, session)
        if expect is not None and expect != session.revision:
            return _replayed(world, record, opened, outcome, facts, expect)
        if session.is_open:
            check_still_dispatched(world.store, session)
        session = reconciled(world.store, session)
        step = current_step(opened.workflow, session)
        now = world.now()
        if expect is not None and _has_raised_limit_question(step, session, outcome, facts):
            return prepare_answer(world, record.session, opened, head=record.head, replayed=True)
        if session.runs:
            session = replace(session, runs=commands.require_no_running(world, change).runs)
        session = ready_for(opened.workflow, step, session, outcome, now=now)
        definition = opened.definition if opened.changed else None
        try:
            reported_facts = _facts(step, facts)
            if step.commands and world.demands_evidence:
                reported_facts = commands.facts_of(opened.workflow, session, step, reported_facts)
            reported = Report(outcome, reported_facts, found, remember)
            if step.evidence and world.demands_evidence:
                after = evidence.after_report(world, change, opened, session, reported, now=now, call=call)
            else:
                lacking = assumed_evidence(step, passed=False) if world.lacks_evidence else None
                after = follow(opened.workflow, step, session, reported, now=now, call=call, evidence=lacking)
        except ValuesError as error:
            resume = Command("resume", session.id, store=world.shown_store)
            error.hint = Hint(error.hint, "; read the step again: ", resume)
            raise
        after = with_baseline(world, opened.workflow, session, after)
        after = session_files.with_digest(world, after)
        answer = prepare_answer(world, after, opened)  # before the session moves: a text may be refused
        stored = _commit(world, change, session, after, reported, now, definition)
    return answer.with_head(stored.head)


def with_baseline(world: World, workflow: Workflow, before: Session | None, after: Session) -> Session:
    """Return *after* with the baseline of its step if that demands evidence and was just entered."""
    step = workflow.get(after.step)
    if step is None or not step.evidence or (before is not None and before.revision == after.revision):
        return after
    return evidence.entered(world, workflow, after)


def _lock_meant_session(world: World, address: str, lock: ExitStack) -> SessionChange | None:
    """Lock the only session that may be of the skill, so that exactly one journal is opened, once.

    Return `None` if there are several, or if the session cannot be read or does not match.
    """
    ids, host = list(conversations.ids_of(world, address)), world.host
    if len(ids) != 1:
        return None
    try:
        change = lock.enter_context(world.store.change(ids[0], wait=world.wait))
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


def _open_session_id(world: World, address: str) -> str:
    record, others = conversations.choose(world, address)
    if record is None:
        raise conversations.no_open_session(world, address, others)
    return record.session.id


def _commit(
    world: World,
    change: SessionChange,
    before: Session,
    after: Session,
    reported: Report,
    now: str,
    definition: StoredDefinition | None,
) -> Record:
    """Store *after*. The end of a child session also ends its dispatch, both under the parent's lock.

    No session waits for another: a parent that is locked reads the end from the child's journal later.
    """
    note = conversations.ownership_note(change.kept.session, after)
    if after.revision == before.revision:
        note |= memory_note(reported.found, reported.remember)
        return change.commit(after, kind="limit", at=now, by=world.by, note=note, definition=definition)
    if before.dispatches:
        note["dispatches"] = to_plain(before.dispatches)
    if after.is_open or not after.parent:
        return change.commit(after, kind="move", at=now, by=world.by, note=note, definition=definition)
    with ExitStack() as lock:
        parent_change = None
        with suppress(LockTimeoutError):
            parent_change = lock.enter_context(world.store.change(after.parent.session, wait=0))
        check_still_dispatched(world.store, before)
        record = change.commit(after, kind="move", at=now, by=world.by, note=note, definition=definition)
        if parent_change is None:
            check_still_dispatched(world.store, after, may_have_ended=True)
            return record
        with suppress(StorageError):  # the child's own record is stored and has the same content
            _end_dispatch(world, parent_change, after, after.parent.dispatch, now)
    return record


def _end_dispatch(
    world: World, change: SessionChange, child: Session, dispatch: str, now: str, reason: str = ""
) -> None:
    """Record the end of *child* in its parent; *reason* is why it was abandoned."""
    parent = change.kept.session
    mine = engine_work.find_dispatch(parent, dispatch)
    done = ended_dispatch(world.store, mine, child, len(parent.dispatches), reason)
    note: RecordNote = {
        "dispatch": done.id,
        "outcome": done.outcome,
        "child": child.id,
        **_memories_of(done),
        **_because(reason),
    }
    after = engine_work.with_dispatch(parent, done)
    change.commit(after, kind="finish", at=now, by=world.by, note=note)


def _because(reason: str) -> RecordNote:
    return {"reason": reason} if reason else {}


def _memories_of(dispatch: Dispatched) -> RecordNote:
    """Return the journal's note of the memories that a sub-agent passes on."""
    found, remember = (
        "; ".join(memory.text for memory in dispatch.memory if memory.kind == kind)
        for kind in (FOUND, REMEMBER)
    )
    return memory_note(found, remember)


def abandon(world: World, session_id: str, reason: str = "", *, expect: int | None = None) -> Record:
    """End a session that will not be finished. Its journal stays. The dispatch of a sub-agent's session has failed.

    *expect* is the revision that the decision is based on, if it matters.
    """
    with world.store.change(session_id, wait=world.wait) as change:
        if not change.kept.session.is_open:
            return change.kept
        session = conversations.owned(world, change.kept)
        check_expected(world, session, expect)
        ended, now = replace(session, status=ABANDONED), world.now()
        record = change.commit(ended, kind="abandon", at=now, by=world.by, note=_because(reason))
        with suppress(FlowError):  # the parent can also read it from the child's journal
            if session.parent:
                check_still_dispatched(world.store, session)
                with world.store.change(session.parent.session, wait=0) as above:
                    _end_dispatch(world, above, ended, session.parent.dispatch, now, reason)
        return record


def _check_skill(world: World, session: Session, address: str, *outcome: str) -> None:
    if session.skill != address:
        named = Command("step", session.skill, *outcome, session=session.id, store=world.shown_store)
        raise UsageError(
            f"session `{session.id}` belongs to `{session.skill}`, not to `{address}`",
            hint=Hint("use: ", named),
            session=session.id,
        )


def _look(world: World, record: Record) -> Answer:
    opened = open_session(world, record.session)
    notes = session_files.elsewhere(world, record.session)
    reason = record.shown.note.get("reason") if record.kind == "abandon" else None
    if reason:
        notes = (*notes, f"abandoned because: {reason}")
    answer = prepare_answer(
        world, record.session, opened, notes, head=record.head, resumed=record.session.is_open
    )
    if conversations.belongs_to_other(world, record):
        return _left_alone(world, record, answer)
    return _without_lost_work(world, record.session, answer) if record.session.parent else answer


def _left_alone(world: World, record: Record, answer: Answer) -> Answer:
    """Return *answer* without instructions and commands: the session belongs to another conversation."""
    text = (
        f"This session belongs to another conversation ({conversations.described(world, record)}). "
        "Leave it alone unless the user asks you to continue it."
    )
    take_over = Command("resume", record.session.id, take_over=True, store=world.shown_store)
    bare = _bare(answer.guidance, text)
    return answer._replace(guidance=bare._replace(briefing=None, take_over_command=take_over))


def _without_lost_work(world: World, session: Session, answer: Answer) -> Answer:
    """Return *answer* without work and commands if no report of its agent would count."""
    lost = lost_dispatch(world.store, session)
    if lost is None:
        return answer
    hint = str(lost.hint)
    message = f"{lost.message[0].upper()}{lost.message[1:]}. {hint[0].upper()}{hint[1:]}."
    return answer._replace(guidance=_bare(answer.guidance, message))


def _bare(guidance: Guidance, text: str) -> Guidance:
    """Return *guidance* with *text* instead of its instructions, and without work and commands."""
    bare = guidance._replace(actions=(text,), next=(), dispatches=(), join=None, questions=(), answers=())
    bare = bare._replace(findings=(), finding_command=None, loop=None, forbids=())
    bare = bare._replace(evidence=())
    return bare._replace(ask_command=None, launcher_command=None)


def _replayed(
    world: World,
    record: Record,
    opened: OpenedWorkflow,
    outcome: str,
    facts: Mapping[str, object] | None,
    expect: int,
) -> Answer:
    """Answer an accepted report again in the same way; refuse any other report at an old revision."""
    session, last = record.session, record.session.last
    if last is not None and expect == session.revision - 1 and outcome == last.reported:
        step = opened.workflow.get(last.step)
        try:
            same = step is not None and _plain(_facts(step, facts)) == _plain(_reported(step, last.facts))
        except FlowError:
            same = False
        if same:
            return prepare_answer(world, session, opened, head=record.head, replayed=True)
    raise _conflict(world, session, expect)


def check_expected(world: World, session: Session, expect: int | None) -> None:
    """Refuse a command for another revision than that of *session*."""
    if expect is not None and expect != session.revision:
        raise _conflict(world, session, expect)


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


def _conflict(world: World, session: Session, expect: int) -> RevisionConflictError:
    after = world.store.arrival(session.id, min(expect + 1, session.revision), most=_LOOKED_BACK)
    last = after.session.last if after else None
    moved = f"; `{last.reported}` was reported for step `{last.step}` at {last.at}" if last else ""
    if after and after.kind in _MOVED:
        moved = f"; {_MOVED[after.kind]} at {after.at}"
    topic = f' ("{one_line(session.topic)}")' if session.topic else ""
    return RevisionConflictError(
        f"session `{session.id}`{topic} is at revision {session.revision}, not {expect}{moved}",
        hint=Hint("see its state: ", Command("resume", session.id, store=world.shown_store)),
        session=session.id,
        revision=session.revision,
        expected=expect,
        outcome=last.reported if last else None,
        step=session.step,
        at=after.at if after else session.moved_at,
    )


def prepare_answer(
    world: World,
    session: Session,
    opened: OpenedWorkflow,
    notes: tuple[str, ...] = (),
    *,
    head: str = "",
    replayed: bool = False,
    resumed: bool = False,
) -> Answer:
    """Return the answer for *session*. If it is not stored yet, the *head* of its journal is unknown."""
    now = world.now()
    session = with_default_answers(session, now)
    agents: tuple[Session, ...] = ()
    if session.dispatches:
        session = reconciled(world.store, session)
        agents = tuple(with_default_answers(agent, now) for agent in agents_at_work(world.store, session))
    guidance = guide(
        opened.workflow,
        session,
        head=head,
        store=world.shown_store,
        place=world.store.address,
        folder=world.store.folder(session.id),
        replayed=replayed,
        resumed=resumed,
        from_agents=agents,
        now=now,
    )
    if resumed or not session.is_open:
        from flowrail.operations.running.briefing import with_past  # a report into an open session needs none

        guidance = with_past(world, session, opened.workflow, guidance)
    if resumed and guidance.evidence and world.demands_evidence:
        checks = evidence.with_verdicts(world, opened.workflow, session, guidance.evidence)
        guidance = guidance._replace(evidence=checks)
    return Answer(guidance, session, opened.workflow, (*opened.notes, *notes))


def _facts(step: StepDef, facts: Mapping[str, object] | None) -> dict[str, object]:
    return read_values(facts or {}, fact_args(step))


def _reported(step: StepDef, facts: Mapping[str, object]) -> dict[str, object]:
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
