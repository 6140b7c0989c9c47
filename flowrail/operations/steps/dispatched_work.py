"""Child sessions: those of a step's agents, and whether their reports still count.

A child does the work of a dispatch as long as the open parent's step names its id. The parent reads how its children
are from their own journals.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from flowrail.errors import FlowError
from flowrail.machines.agents import (
    DispatchGoneError,
    earlier_children,
    number_of,
    piece_of,
)
from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.reported_values import SessionEndedError
from flowrail.machines.session import Dispatched, Session
from flowrail.machines.session_store import Store, UnknownSessionError


def children_of(store: Store, dispatches: Iterable[Dispatched]) -> dict[str, Session]:
    """Return the child sessions of *dispatches* that exist, and those that work for them, by id."""
    children: dict[str, Session] = {}
    for dispatch in dispatches:
        with suppress(FlowError):  # it cannot be read now
            record = store.find(dispatch.child)
            if record is not None:
                children[record.session.id] = record.session
                children |= children_of(store, record.session.dispatches if record.session.is_open else ())
    return children


def runs_to_inherit(store: Store, child_id: str) -> tuple[CommandRun, ...]:
    """Return the runs of the child that *child_id* replaces that must not be repeated."""
    for earlier in earlier_children(child_id):
        record = store.find(earlier)
        if record is not None:  # it has inherited those before it
            return tuple(run for run in record.session.runs if run.is_once)
    return ()


def check_dispatched(parent: Session, child_id: str) -> None:
    """Refuse a child that does no work of *parent* now."""
    if child_id in {dispatch.child for dispatch in parent.dispatches} and parent.is_open:
        return
    reason = f"session `{parent.id}` {'has left its step' if parent.is_open else f'is {parent.status}'}"
    for dispatch in parent.dispatches if parent.is_open else ():
        if piece_of(dispatch.child) == piece_of(child_id):
            reason = f"dispatch {number_of(dispatch)} of `{parent.id}` has a new session, `{dispatch.child}`"
    raise DispatchGoneError(
        f"session `{child_id}` has lost its work: {reason}",
        hint="stop here and say so; further reports would be ignored",
        session=child_id,
        parent=parent.id,
    )


def check_still_dispatched(store: Store, session: Session) -> None:
    """Refuse a report into a child that was replaced, or whose parent has left the step; at any depth."""
    child = session
    while child.parent is not None:
        try:
            parent = store.read(child.parent.session).session
        except UnknownSessionError as error:
            raise DispatchGoneError(
                f"session `{session.id}` has lost its work: its parent session is missing",
                hint="stop here and say so; further reports would be ignored",
                session=session.id,
            ) from error
        check_dispatched(parent, child.id)
        child = parent


def lost_dispatch(store: Store, session: Session) -> DispatchGoneError | None:
    """Return the reason why reports of the open *session* no longer count, or `None`."""
    if session.is_open and session.parent is not None:
        try:
            check_still_dispatched(store, session)
        except DispatchGoneError as error:
            return error
        except FlowError:
            pass  # the parent cannot be read now, so nothing is known about the dispatch
    return None


def check_still_working(store: Store, session: Session) -> None:
    """Refuse further reports from a child that has ended or was replaced."""
    if not session.is_open:
        raise SessionEndedError(session=session.id, status=session.status)
    check_still_dispatched(store, session)
