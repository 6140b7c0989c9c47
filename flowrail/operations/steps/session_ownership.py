"""Ownership: a session belongs to the conversation that started it, until another one takes it over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from flowrail.command import Hint
from flowrail.errors import ConflictError, FlowError
from flowrail.hosts.conversation import RELEASED
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record, RecordNote
from flowrail.machines.session_store import Store
from flowrail.operations.environment import Environment
from flowrail.operations.steps.session_choice import described

RELEASE_WAIT = 1.0
"""Seconds to wait for the lock of each session that a conversation leaves at its end."""


def owned(environment: Environment, record: Record, *, take_over: bool) -> Session:
    """Return the session as one of the caller's conversation, or refuse if it belongs to another one.

    A child belongs to its parent's conversation, and to the first other one that uses it.
    """
    session = record.session
    if not take_over and belongs_to_other(environment, record):
        command = environment.command("resume", session.id, take_over=True)
        raise ConflictError(
            f"session `{session.id}` belongs to another conversation ({described(environment, record)})",
            code="OTHER_CONVERSATION",
            hint=Hint("leave this one alone unless the user asks to take it over: ", command),
            session=session.id,
            topic=session.topic,
            active_at=record.at,
        )
    if is_relayed(environment, session) and not take_over:
        return session
    return session.bound_to(environment.conversation)


def belongs_to_other(environment: Environment, record: Record) -> bool:
    """Return whether the caller must leave the session alone: it belongs to another conversation."""
    session, owner = record.session, record.session.owner
    if not session.is_open or owner is None or environment.conversation in {None, owner}:
        return False
    return session.parent is None or _parent_owner(environment, session) not in {
        owner,
        environment.conversation,
    }


def is_relayed(environment: Environment, session: Session) -> bool:
    """Return whether the caller is the leading agent of the child *session*, which another conversation works on."""
    if (
        session.parent is None
        or environment.conversation is None
        or session.owner in {None, environment.conversation}
    ):
        return False
    return _parent_owner(environment, session) == environment.conversation


def _parent_owner(environment: Environment, session: Session) -> str | None:
    """Return the conversation of the session that the child *session* works for."""
    assert session.parent is not None  # noqa: S101 - only children are asked
    return environment.store.read(session.parent.session).session.owner


def ownership_note(before: Session, after: Session) -> RecordNote:
    """Return the journal's note if *after* belongs to another conversation than *before*, otherwise an empty one."""
    if before.host is None or after.host is None or before.host.id == after.host.id:
        return {}
    return {"taken_over_from": before.host.id}


def release(store: Store, session_ids: Iterable[str], conversation: str, *, at: str, by: str) -> None:
    """Record that *conversation* has ended: its sessions among *session_ids* no longer have an owner.

    Sub-agents' sessions stay as they are, and so does a session that cannot be changed now.
    """
    for session_id in session_ids:
        with suppress(FlowError), store.change(session_id, wait=RELEASE_WAIT) as change:
            session = change.kept.session
            if session.is_open and not session.parent and session.owner == conversation:
                change.commit(session.released(at), kind=RELEASED, at=at, by=by)
