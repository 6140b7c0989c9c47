"""Dispatches of a session: claim, finish, cancel.

None of these moves the session. Each adds a record and keeps the revision, so that
commands printed before stay valid. The same is true of questions and findings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.hosts.conversation import short_id
from flowrail.machines.definition.graph import reviews
from flowrail.machines.definition.step import LONGEST_NAME, Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import dispatched_work, questions
from flowrail.machines.engine.advance import current_step, with_default_answers
from flowrail.machines.engine.dispatched_work import DispatchGoneError, WorkResult
from flowrail.machines.engine.outcome import names_in, session_context
from flowrail.machines.engine.reports import (
    SessionEndedError,
    ValuesError,
    check_memory,
)
from flowrail.machines.guidance.guide import guide
from flowrail.machines.guidance.views import Assignment, DispatchResult
from flowrail.machines.sessions.record import RecordNote, memory_note
from flowrail.machines.sessions.session import (
    BY_AGENT,
    CANCELLED,
    CLAIMED,
    FINISHED,
    Dispatched,
    ParentSession,
    Session,
)
from flowrail.machines.sessions.store import SessionChange
from flowrail.operations.environment import OpenedWorkflow, World
from flowrail.operations.running import session_files
from flowrail.operations.running.child_sessions import finished_dispatch, reconciled
from flowrail.operations.running.conversations import owned
from flowrail.operations.running.load_workflow import open_beside
from flowrail.operations.running.session_files import open_session
from flowrail.operations.running.steps import Answer, look, start_session
from flowrail.text.safe_text import shortened

MOST_GENERATIONS = 12
"""How deep the sessions of sub-agents may be nested."""
LONGEST_HOLDER = 120
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


class TooDeepError(ConflictError):
    """Sub-agents dispatched further sub-agents, deeper than the limit."""

    code = "TOO_DEEP"


class ResultTooLongError(UsageError):
    """The result of a dispatch is longer than a session may keep."""

    code = "RESULT_TOO_LONG"


def claim(
    world: World, session_id: str, dispatch_id: str, holder: str | None = None, *, token: str | None = None
) -> Answer | Assignment:
    """Claim a dispatch: return the first step of a new session, or a prompt.

    With the *token* of its holder, another agent replaces the holder and gets the same answer.
    """
    with world.store.change(session_id, wait=world.wait) as change:
        opened, session, step = _at_work(world, change)
        dispatch = dispatched_work.find_dispatch(session, dispatch_id)
        now = world.now()
        if token is not None:
            _check_holder(dispatch, token)
        elif not dispatched_work.claimable(dispatch, now):
            left = Hint("claim another one; see what is left: ", Command("status", session_id))
            if dispatch.status == CLAIMED and dispatch.child is not None:
                own = Command("resume", dispatch.child, store=world.store.address)
                left = Hint("if you claimed it, continue: ", own, "; otherwise ", left)
            raise _gone(dispatch, left)
        until = questions.moment_after(now, dispatch.lease)
        holder = shortened(holder or (short_id(world.host) if world.host else world.by), LONGEST_HOLDER)
        taken, child = replace(dispatch, holder=holder, expires_at=until), None
        if token is None:
            taken, child = _newly_claimed(world, opened, session, taken)
        note: RecordNote = {"dispatch": taken.id, "holder": taken.holder, "child": taken.child}
        after = dispatched_work.with_dispatch(session, taken)
        change.commit(after, kind="claim", at=now, by=world.by, note=note)
    if child is not None:
        return child
    if taken.child is not None:
        return look(world, taken.child)
    return _assignment(world, opened.workflow, session, step, taken)


def _newly_claimed(
    world: World, opened: OpenedWorkflow, session: Session, dispatch: Dispatched
) -> tuple[Dispatched, Answer | None]:
    """Return *dispatch* as one that its holder has just claimed, and the answer for its new session, if any."""
    taken = replace(
        dispatch,
        status=CLAIMED,
        child=None,
        outcome=None,
        result={},
        ended_at=None,
        memory=(),
        token=_token(),
    )
    if not taken.workflow:
        return taken, None
    child = _begin_child(world, opened, session, taken)
    child_id = child.guidance.session
    return replace(taken, child=child_id, token=child_id), child


def _check_holder(dispatch: Dispatched, token: str) -> None:
    """Refuse a token other than that of the holder of *dispatch*."""
    if dispatch.token != token or dispatch.status != CLAIMED:
        is_other = dispatch.token is not None and dispatch.token != token
        hint = "stop here and say so; only the current holder's result counts"
        raise _gone(dispatch, hint, ", but with another token" if is_other else "")


def _gone(dispatch: Dispatched, hint: str | Hint, more: str = "") -> DispatchGoneError:
    if dispatch.status == CLAIMED:
        state = f"claimed by {dispatch.holder or 'another agent'} until {dispatch.expires_at}"
    elif dispatch.status == FINISHED:
        state = f"done, with `{dispatch.outcome}`"
    else:
        state = "cancelled" if dispatch.status == CANCELLED else "not claimed"
    return DispatchGoneError(
        f"dispatch `{dispatch.id}` is {state}{more}",
        hint=hint,
        dispatch=dispatch.id,
        status=dispatch.status,
        holder=dispatch.holder,
        expires_at=dispatch.expires_at,
    )


def _assignment(
    world: World, workflow: Workflow, session: Session, step: StepDef, taken: Dispatched
) -> Assignment:
    values = names_in(session_context(workflow, session, step))
    prompt = dispatched_work.prompt_of(step, taken, values)
    prompt = prompt or "\n\n".join(guide(workflow, session).actions)
    token, store = str(taken.token), world.store.address
    answered = [question for question in session.questions if question.source == BY_AGENT and question.answer]
    return Assignment(
        session=session.id,
        dispatch=taken,
        prompt=str(session_files.for_agents(world, session, prompt)),
        finish=tuple(
            Command("finish", session.id, taken.id, outcome, token=token, store=store)
            for outcome in (Outcome.OK, Outcome.FAIL)
        ),
        ask=Command("ask", session.id, "-", token=token, store=store),
        answered=tuple((question.text, "; ".join(question.answer or ())) for question in answered),
        resources=workflow.resources,
        given={
            name: session_files.for_agents(world, session, value)
            for name, value in dispatched_work.unmentioned_values(step, taken).items()
        },
        finding=Command("finding add", session.id, token=token, store=store)
        if _review_at(workflow, session)
        else None,
    )


def finish(
    world: World,
    session_id: str,
    dispatch_id: str,
    outcome: str,
    *,
    token: str,
    facts: Mapping[str, object] | None = None,
    found: str = "",
    remember: str = "",
) -> DispatchResult:
    """Finish a free-form dispatch with its result. The same report again gets the same answer."""
    found, remember = check_memory(found, "found"), check_memory(remember, "remember")
    if outcome not in {Outcome.OK, Outcome.FAIL}:
        raise UsageError(f"`{outcome[:40]}` cannot end a dispatch", hint="report ok or fail")
    with world.store.change(session_id, wait=world.wait) as change:
        _opened, session, _ = _at_work(world, change)
        dispatch = dispatched_work.find_dispatch(session, dispatch_id)
        if dispatch.token != token:
            _check_holder(dispatch, token)
        result = _fitting(dict(facts or {}), dispatched_work.result_limit(len(session.dispatches)))
        if dispatch.status == FINISHED:
            if dispatch.outcome == outcome and dict(dispatch.result) == result:
                return _ended(world, session, dispatch, replayed=True)
            raise _gone(dispatch, "it needs no further report")
        if dispatch.status != CLAIMED or dispatch.child is not None:
            own = f"it ends with its own session: {dispatch.child}"
            raise _gone(dispatch, own if dispatch.child else "stop here and say so; nothing more is accepted")
        now = world.now()
        agent = replace(session, memory=()).remembering(found, remember, step=str(session.step), at=now)
        done = finished_dispatch(dispatch, outcome=outcome, result=result, at=now, memory=agent.memory)
        after = dispatched_work.with_dispatch(session, done)
        note: RecordNote = {"dispatch": done.id, "outcome": outcome, **memory_note(found, remember)}
        change.commit(after, kind="finish", at=now, by=world.by, note=note)
    return _ended(world, after, done)


def _fitting(result: dict[str, object], limit: int) -> dict[str, object]:
    for name in result:
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            raise UsageError(
                f"`{shortened(name, LONGEST_NAME)}` is not a valid fact name",
                hint=f"use 1 to {LONGEST_NAME} printable characters",
            )
    size = len(_json(result))
    if size > limit:
        raise ResultTooLongError(
            f"the result has {size} bytes; the limit for each of these agents is {limit}",
            hint="write long texts to a file and report its path",
            bytes=size,
        )
    return result


def cancel(world: World, session_id: str, dispatch_id: str) -> DispatchResult:
    """Cancel a dispatch that has not ended; the agent that holds it is refused from then on."""
    with world.store.change(session_id, wait=world.wait) as change:
        owned(world, change.kept)
        _, session, _ = _at_work(world, change)
        dispatch = dispatched_work.find_dispatch(session, dispatch_id)
        if dispatch.ended:
            return _ended(world, session, dispatch, replayed=dispatch.status == CANCELLED)
        cancelled = replace(dispatch, status=CANCELLED)
        after = dispatched_work.with_dispatch(session, cancelled)
        change.commit(after, kind="cancel", at=world.now(), by=world.by, note={"dispatch": cancelled.id})
    return _ended(world, after, cancelled)


def _at_work(world: World, change: SessionChange) -> tuple[OpenedWorkflow, Session, StepDef]:
    session = with_default_answers(change.kept.session, world.now())
    opened = open_session(world, session)
    try:
        step = current_step(opened.workflow, session)
    except SessionEndedError as error:  # a late agent must not start the whole workflow again
        error.hint = Hint("stop here and say so; see its history: ", Command("history", session.id))
        raise
    return opened, reconciled(world.store, session), step


def _review_at(workflow: Workflow, session: Session) -> str | None:
    """Return the review that the current step belongs to, which may be in a parent session."""
    if session.step in reviews(workflow):
        return session.step
    return session.parent.review if session.parent else None


def _begin_child(world: World, above: OpenedWorkflow, parent: Session, dispatch: Dispatched) -> Answer:
    address = str(dispatch.workflow)
    depth = (parent.parent.depth if parent.parent else 0) + 1
    if depth > MOST_GENERATIONS:
        raise TooDeepError(
            f"session `{parent.id}` is nested {MOST_GENERATIONS} levels deep and cannot dispatch more work",
            hint="fix the workflow that dispatches work to itself",
            session=parent.id,
            workflow=address,
        )
    opened = open_beside(world, address, parent, above.definition)
    params = {
        name: session_files.for_agents(world, parent, value)
        for name, value in dispatch.vars.items()
        if value is not None
    }
    try:
        return start_session(
            world,
            opened,
            world.store.new_id(address),
            params,
            parent=ParentSession(parent.id, dispatch.id, depth, _review_at(above.workflow, parent)),
            project=parent.project,
            note={"for": parent.id},
        )
    except ValuesError as error:  # an agent cannot fix its own parameters
        cancel_command = Command("finish", parent.id, dispatch.id, cancel=True, store=world.store.address)
        error.hint = Hint(
            "stop here and say so; the agent that launched this one cancels the work with ", cancel_command
        )
        raise


def _ended(world: World, session: Session, dispatch: Dispatched, *, replayed: bool = False) -> DispatchResult:
    outcome = dispatch.outcome if dispatch.status == FINISHED else dispatch.status
    answer = WorkResult(
        of=f"{outcome}: dispatch {dispatch.id}",
        facts=dispatch.result,
        whole=Command("status", session.id, json=True, store=world.store.address),
        next=Command("resume", session.id, store=world.store.address),
    )
    return DispatchResult(session.id, dispatch, answer, replayed)


def _json(value: Mapping[str, object]) -> str:
    import json

    return json.dumps(dict(value), ensure_ascii=False, default=list)


def _token() -> str:
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(12))
