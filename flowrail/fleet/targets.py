"""What agents have to do for a session: its own steps, and the dispatches of the current one, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.machines.engine.advance import with_default_answers
from flowrail.machines.engine.agents import find_dispatch
from flowrail.machines.sessions.session import CLAIMED, PENDING, Dispatched, Session
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


def ready(world: World, session_id: str) -> Iterator[Target]:
    """Yield the targets that an agent can work on now. Some may be at work already.

    A session that waits for the user has none, and one that waits for its sub-agents has only theirs.
    """
    session = current(world, session_id)
    if session.is_open:
        yield from _ready(world, session, Target(session_id))


def _ready(world: World, session: Session, target: Target) -> Iterator[Target]:
    if waits_for_user(session):
        return
    at_work = [dispatch for dispatch in session.dispatches if not dispatch.ended]
    if not at_work:
        yield target
    for dispatch in at_work:
        own = Target(session.id, dispatch.id)
        if dispatch.status == CLAIMED and dispatch.child is not None:
            child = current(world, dispatch.child)
            if child.is_open:
                yield from _ready(world, child, own)
        else:
            yield own


def waits_for_user(session: Session) -> bool:
    """Return whether a question is open."""
    return any(question.is_open for question in session.questions)


def waits(session: Session) -> bool:
    """Return whether the session waits for the user or for sub-agents that nobody has started."""
    pending = any(dispatch.status in {PENDING, CLAIMED} for dispatch in session.dispatches)
    return waits_for_user(session) or pending


def dispatch_of(world: World, target: Target) -> Dispatched | None:
    """Return the dispatch of a target as it is now; `None` if the session has left its step."""
    session = current(world, target.session)
    if not session.is_open or not any(known.id == target.dispatch for known in session.dispatches):
        return None
    return find_dispatch(session, target.dispatch)
