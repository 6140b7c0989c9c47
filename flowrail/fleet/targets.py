"""The work of agents for a session: its own steps, and the dispatches of the current one, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.machines.engine.advance import with_default_answers
from flowrail.machines.engine.dispatched_work import find_dispatch
from flowrail.machines.sessions.session import CLAIMED, PENDING, AskedQuestion, Dispatched, Session
from flowrail.operations.environment import World
from flowrail.operations.running.child_sessions import reconciled


class Target(NamedTuple):
    """A session, or one of its dispatches, that an agent works on."""

    session: str
    dispatch: str = ""

    @property
    def key(self) -> str:
        """The target as one text: `session`, or `session/dispatch`."""
        return f"{self.session}/{self.dispatch}" if self.dispatch else self.session


def target_of(key: str) -> Target:
    """Return the target with that key."""
    session, _, dispatch = key.partition("/")
    return Target(session, dispatch)


def current(world: World, session_id: str) -> Session:
    """Return a session as it is now: with the results of its agents, and the default answers that are due."""
    session = reconciled(world.store, world.store.read(session_id).session)
    return with_default_answers(session, world.now())


def involved(world: World, session_id: str) -> Iterator[tuple[Target, Session]]:
    """Yield the open sessions that work for a session, itself first, each with the target whose work it does."""
    session = current(world, session_id)
    if session.is_open:
        yield from _involved(world, Target(session_id), session)


def _involved(world: World, target: Target, session: Session) -> Iterator[tuple[Target, Session]]:
    yield target, session
    for dispatch in session.dispatches:
        if dispatch.status == CLAIMED and dispatch.child is not None:
            child = current(world, dispatch.child)
            if child.is_open:
                yield from _involved(world, Target(session.id, dispatch.id), child)


def ready(world: World, session_id: str) -> Iterator[Target]:
    """Yield the targets that an agent can work on now. Some may be at work already.

    A session that waits for the user has none of its own, and one that waits for its sub-agents has only theirs.
    """
    for target, session in involved(world, session_id):
        if waits_for_user(session):
            continue
        unfinished = [dispatch for dispatch in session.dispatches if not dispatch.ended]
        if not unfinished:
            yield target
        for dispatch in unfinished:
            if dispatch.child is None or dispatch.status != CLAIMED:
                yield Target(session.id, dispatch.id)


def waits_for_user(session: Session) -> bool:
    """Return whether a question is open."""
    return open_question(session) is not None


def open_question(session: Session) -> AskedQuestion | None:
    """Return the first question that is open."""
    return next((question for question in session.questions if question.is_open), None)


def waits(session: Session) -> bool:
    """Return whether the session waits for the user or for unfinished sub-agents."""
    pending = any(dispatch.status in {PENDING, CLAIMED} for dispatch in session.dispatches)
    return waits_for_user(session) or pending


def dispatch_of(world: World, target: Target) -> Dispatched | None:
    """Return the dispatch of a target as it is now; `None` if the session has left its step."""
    session = current(world, target.session)
    if not session.is_open or not any(dispatch.id == target.dispatch for dispatch in session.dispatches):
        return None
    return find_dispatch(session, target.dispatch)
