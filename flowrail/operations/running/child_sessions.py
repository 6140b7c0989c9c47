"""Child sessions: which dispatch they work on, how they ended, and for which answers they wait.

A child belongs to its parent's dispatch as long as the dispatch names it. The parent learns of a child's
end from the child's own journal, so a crash between the two records loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.machines.definition.step import Outcome
from flowrail.machines.engine import dispatched_work
from flowrail.machines.engine import questions as engine_questions
from flowrail.machines.engine.dispatched_work import DispatchGoneError
from flowrail.machines.engine.reports import SessionEndedError
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import (
    CLAIMED,
    COMPLETED,
    FINISHED,
    MOST_FROM_AGENTS,
    Dispatched,
    Memory,
    Session,
    newest_memories,
)
from flowrail.machines.sessions.store import Store, UnknownSessionError
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import shortened

LONGEST_ITEM = 40


DispatchesOf = Callable[[str], Mapping[str, Dispatched]]
"""Takes the id of a session and returns its dispatches by id."""


def dispatch_lookup(store: Store) -> DispatchesOf:
    """Return a function that returns the dispatches of a session and reads each session once."""

    @cache
    def dispatches_of(session_id: str) -> Mapping[str, Dispatched]:
        try:
            session = store.read(session_id).session
        except UnknownSessionError:
            return {}
        return {dispatch.id: dispatch for dispatch in session.dispatches} if session.is_open else {}

    return dispatches_of


def check_still_dispatched(
    store: Store, session: Session, lookup: DispatchesOf | None = None, *, may_have_ended: bool = False
) -> None:
    """Refuse to continue a child whose dispatch names another session or was cancelled.

    A dispatch that has ended is refused too, unless *may_have_ended*.
    """
    parent = session.parent
    if parent is None:
        return
    mine = (lookup or dispatch_lookup(store))(parent.session).get(parent.dispatch)
    statuses = {CLAIMED, FINISHED} if may_have_ended else {CLAIMED}
    if mine is None or mine.child != session.id or mine.status not in statuses:
        raise DispatchGoneError(
            f"session `{session.id}` lost its dispatch `{parent.dispatch}` of `{parent.session}`: "
            f"{_description(mine)}",
            hint="stop here and say so; further reports would be ignored",
            session=session.id,
            parent=parent.session,
            dispatch=parent.dispatch,
        )


def lost_dispatch(
    store: Store, session: Session, lookup: DispatchesOf | None = None
) -> DispatchGoneError | None:
    """Return the reason why reports of the open *session* no longer count, or `None`.

    With *lookup*, each parent is read once.
    """
    if session.is_open:
        try:
            check_still_dispatched(store, session, lookup)
        except DispatchGoneError as error:
            return error
        except FlowError:
            pass  # the parent cannot be read now, so nothing is known about the dispatch
    return None


def check_still_working(store: Store, session: Session) -> None:
    """Refuse further reports from a child that has ended or has lost its dispatch."""
    if not session.is_open:
        raise SessionEndedError(session=session.id, status=session.status)
    check_still_dispatched(store, session)


def reconciled(store: Store, session: Session) -> Session:
    """Return *session* with the dispatches whose child has ended marked as done, and with renewed leases."""
    if not session.dispatches:
        return session
    return replace(
        session,
        dispatches=tuple(_current_dispatch(store, session, dispatch) for dispatch in session.dispatches),
    )


def agents_at_work(store: Store, session: Session) -> tuple[Session, ...]:
    """Return the open sessions that do the current step's work, and those that work for them."""
    agents: list[Session] = []
    for dispatch in session.dispatches:
        child = _child(store, session, dispatch)
        if child is not None and child.session.is_open:
            agents += [child.session, *agents_at_work(store, child.session)]
    return tuple(agents)


def finished_dispatch(
    dispatch: Dispatched,
    *,
    outcome: str,
    result: Mapping[str, object],
    at: str,
    memory: tuple[Memory, ...] = (),
    total: int = 1,
) -> Dispatched:
    """Return *dispatch* finished. It keeps the newest part of its agent's *memory*."""
    share = max(1, MOST_FROM_AGENTS // total)
    label = dispatch.agent if dispatch.item is None else shortened(in_words(dispatch.item), LONGEST_ITEM)
    source = f"{label} ({dispatch.id})"
    memories = tuple(replace(entry, source=source) for entry in newest_memories(memory, share))
    return replace(dispatch, status=FINISHED, outcome=outcome, result=result, ended_at=at, memory=memories)


def ended_dispatch(
    store: Store, dispatch: Dispatched, child: Session, total: int, reason: str = ""
) -> Dispatched:
    """Return *dispatch* with the result of *child*, which has ended. Long facts and secrets stay in the child.

    *reason* is why it was abandoned.
    """
    child = child.shown
    status_command = str(Command("status", child.id, json=True, store=store.address))
    facts = {**child.state, "reason": reason} if reason else child.state
    result = dispatched_work.cut(facts, dispatched_work.result_limit(total), status_command)
    return finished_dispatch(
        dispatch, outcome=end_of(child), result=result, at=child.moved_at, memory=child.memory, total=total
    )


def end_of(session: Session) -> str:
    """Return the outcome of a dispatch whose child has ended."""
    return str(Outcome.OK if session.status == COMPLETED else Outcome.FAIL)


def _current_dispatch(store: Store, session: Session, dispatch: Dispatched) -> Dispatched:
    record = _child(store, session, dispatch)
    if record is None:
        return dispatch
    child = record.session
    if not child.is_open:
        reason = record.shown.note.get("reason", "") if record.kind == "abandon" else ""
        return ended_dispatch(store, dispatch, child, len(session.dispatches), reason)
    return replace(dispatch, expires_at=_held_until(store, dispatch, child))


def _held_until(store: Store, dispatch: Dispatched, child: Session) -> str | None:
    """Return when the lease of *child* ends, counted from its last activity or that of its own agents.

    While it, or one of its agents, waits for the user, the lease does not end.
    """
    questions = child.questions
    if any(question.is_open for question in questions):
        return None
    signs = [child.moved_at, *(question.answered_at or "" for question in questions)]
    ends = [dispatch.expires_at or ""]
    for nested in reconciled(store, child).dispatches:
        signs.append(nested.ended_at or "")
        if nested.status == CLAIMED:
            if nested.expires_at is None:
                return None
            ends.append(nested.expires_at)
    return max(*ends, engine_questions.moment_after(max(signs), dispatch.lease))


def _child(store: Store, session: Session, dispatch: Dispatched) -> Record | None:
    """Return the newest record of the session that does the work of a claimed *dispatch*.

    In a fork it works for the source, not for *session*.
    """
    if dispatch.child is None or dispatch.status != CLAIMED:
        return None
    try:
        child = store.read(dispatch.child)
    except FlowError:
        return None
    parent = child.session.parent
    works_for_it = parent is not None and (parent.session, parent.dispatch) == (session.id, dispatch.id)
    return child if works_for_it else None


def _description(dispatch: Dispatched | None) -> str:
    if dispatch is None:
        return "the session has left its step"
    if dispatch.status == CLAIMED:
        return f"its lease ended and {dispatch.holder or 'another agent'} claimed it"
    return f"it is {dispatch.status}"
