"""The work of agents for a session: its own steps, and the child sessions of the current one, at any depth.

A target is the id of the session, or what the ids of all child sessions for one piece of work begin with.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.agents import DispatchGoneError, parent_of, piece_of
from flowrail.machines.session import Session
from flowrail.operations.environment import Environment
from flowrail.operations.steps.dispatched_work import children_of


def session_of(environment: Environment, target: str) -> str:
    """Return the id of the session that does the work of a target now."""
    parent = parent_of(target)
    if parent is None:
        return target
    for dispatch in current(environment, parent).dispatches:
        if piece_of(dispatch.child) == target:
            return dispatch.child
    raise DispatchGoneError(
        f"session `{parent}` has left the step of `{target}`", hint="nothing is left to do"
    )


def current(environment: Environment, session_id: str) -> Session:
    """Return a session as it is now."""
    return environment.store.read(session_id).session


def ready(environment: Environment, session_id: str) -> Iterator[str]:
    """Yield the targets that an agent can work on now: the session, and the child sessions that work for it.

    Some may be at work already. A session that waits for the user has none of its own, and one that waits for its
    sub-agents has only theirs.
    """
    session = current(environment, session_id)
    children = children_of(environment.store, session.dispatches).values()
    for target, known in [(session.id, session), *((piece_of(child.id), child) for child in children)]:
        if known.is_open and not waits_for_person(known):
            unfinished = unfinished_children(environment, known)
            if not unfinished:
                yield target
            yield from (piece_of(child) for child, exists in unfinished.items() if not exists)


def is_ready(environment: Environment, target: str) -> bool:
    """Return whether an agent can work on a target now."""
    record = environment.store.find(session_of(environment, target))
    return record is None or (record.session.is_open and not waits(environment, record.session))


def unfinished_children(environment: Environment, session: Session) -> dict[str, bool]:
    """Return the ids of the step's child sessions that have not ended, and whether each has started."""
    children = children_of(environment.store, session.dispatches)
    ids = [dispatch.child for dispatch in session.dispatches]
    return {child: child in children for child in ids if child not in children or children[child].is_open}


def waits_for_person(session: Session) -> bool:
    """Return whether the session waits for a person: for an answer, or by its status."""
    return session.needs_person or bool(session.open_questions)


def waits(environment: Environment, session: Session) -> bool:
    """Return whether the session waits for the user or for unfinished sub-agents."""
    return waits_for_person(session) or bool(unfinished_children(environment, session))
