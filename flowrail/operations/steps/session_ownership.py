"""Ownership of sessions, the choice of a session if a command names none, and the list of all sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from flowrail.command import Command, Hint, value_text
from flowrail.errors import ConflictError, FlowError, StorageError
from flowrail.hosts.conversation import RELEASED
from flowrail.machines.session import ABANDONED, Session
from flowrail.machines.session_record import Record, RecordNote
from flowrail.machines.session_store import ForeignSessionError, Store, UnknownSessionError
from flowrail.operations.board import Board, ListedSession, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.operations.steps.session_workflow import start_command
from flowrail.text.phrases import ago, moment_after
from flowrail.text.safe_text import shortened

RESULT_SECONDS = 24 * 3600
"""Seconds for which a session that has ended is shown to its owner."""
RELEASE_WAIT = 1.0
"""Seconds to wait for the lock of each session that a conversation leaves at its end."""
MOST_NAMED = 3
"""A refusal names at most this many sessions."""


class NoOpenSessionError(ConflictError):
    """No session is open, or only those of other conversations are."""

    code = "NO_OPEN_SESSION"


def owned(environment: Environment, record: Record, *, take_over: bool = False) -> Session:
    """Return the session as one of the caller's conversation, or refuse if it belongs to another one.

    A child belongs to its parent's conversation, and to the first other one that uses it.
    """
    if not take_over and belongs_to_other(environment, record):
        raise _other_conversation(environment, record)
    if is_relayed(environment, record.session) and not take_over:
        return record.session
    return record.session.bound_to(environment.conversation)


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


def take_over(environment: Environment, session_id: str) -> None:
    """Make the session one of the caller's conversation, even if it belongs to another."""
    with environment.store.change(session_id, wait=environment.wait) as change:
        before = change.kept.session
        after = owned(environment, change.kept, take_over=True)
        if after != before and before.is_open:
            note = ownership_note(before, after)
            change.commit(after, kind="take-over", at=environment.now, by=environment.by, note=note)


def release(store: Store, session_ids: Iterable[str], conversation: str, *, at: str, by: str) -> None:
    """Record that *conversation* has ended: its sessions among *session_ids* no longer have an owner.

    Sub-agents' sessions stay as they are, and so does a session that cannot be changed now.
    """
    for session_id in session_ids:
        with suppress(FlowError), store.change(session_id, wait=RELEASE_WAIT) as change:
            session = change.kept.session
            if session.is_open and not session.parent and session.owner == conversation:
                change.commit(session.released(at), kind=RELEASED, at=at, by=by)


def choose(
    environment: Environment, address: str, params: Mapping[str, object] | None = None
) -> tuple[Record | None, tuple[Record, ...]]:
    """Return the session of a skill that the caller refers to, if any, and the other open ones, newest first.

    That is the caller's own, or one without an owner if no other is open. With *params* the caller may start
    another session, so several without an owner are no reason to refuse a conversation.
    """
    open_ones = _open_sessions(environment, address)
    candidates = sorted(open_ones, key=lambda record: record.session.moved_at, reverse=True)
    pool = _eligible(environment, candidates)
    if len(pool) > 1 and not (params and environment.conversation and not _owns(environment, pool[0])):
        raise _several_open(environment, pool, f" of `{address}`")
    chosen = pool[0] if len(pool) == 1 else None
    return chosen, tuple(record for record in candidates if record is not chosen)


def the_open_session(environment: Environment, command: Callable[[str], Command] | None = None) -> Record:
    """Return the session of the store that the caller refers to; refuse if no session matches, or several.

    *command* gives the command that a refusal names for each of several.
    """
    candidates = _open_top_level(environment)
    pool = _eligible(environment, candidates)
    if not pool and environment.conversation is None and len(candidates) == 1:
        pool = candidates  # the user looks at the only session
    if len(pool) > 1:
        raise _several_open(environment, pool, "", command)
    if pool:
        return pool[0]
    if candidates:
        raise NoOpenSessionError(
            f"no session of this conversation is open; {_described_all(environment, candidates)}",
            hint=Hint(
                "name the session; list them all: ", Command("sessions", store=environment.shown_store)
            ),
            sessions=[record.session.id for record in candidates],
        )
    raise NoOpenSessionError("no session is open", hint=Hint("list the skills: ", Command("list")))


def own_session(environment: Environment, command: Callable[[str], Command] | None = None) -> Record:
    """Return the session that a command without an id is about: the caller's open one, or the one that just ended.

    *command* is as in `the_open_session`.
    """
    try:
        return the_open_session(environment, command)
    except NoOpenSessionError:
        ended = just_ended(environment)
        if ended is None:
            raise
        return ended


def just_ended(environment: Environment) -> Record | None:
    """Return the caller's session that ended last, if that was within a day: its result may not be delivered yet."""
    since = moment_after(environment.now, -RESULT_SECONDS)
    rows = Board(environment.store).of(environment.store.ended_ids(since), environment.now)
    for record in _newest_first(rows):
        session = record.session
        if session.is_open or session.status == ABANDONED or session.moved_at < since:
            continue
        if environment.conversation in {None, session.owner} or session.owner is None:
            return record
    return None


def mention(environment: Environment, address: str, others: Sequence[Record]) -> tuple[str, ...]:
    """Return a note about the open sessions of a skill that a new one was started beside."""
    if not others:
        return ()
    return (f"started a new session of `{address}`; also open: {_described_all(environment, others)}",)


def no_open_session(environment: Environment, address: str, others: Sequence[Record]) -> NoOpenSessionError:
    """Return the refusal of a report without an id if no session of the caller is open."""
    start = start_command(environment, address)
    if not others:
        return NoOpenSessionError(
            f"no session of `{address}` is open", hint=Hint("start one: ", start), skill=address
        )
    resume = Command("resume", others[0].session.id, take_over=True, store=environment.shown_store)
    return NoOpenSessionError(
        f"no session of `{address}` is open in this conversation; {_described_all(environment, others)}",
        hint=Hint("start one: ", start, "; only if the user asks to continue another one: ", resume),
        skill=address,
        sessions=[record.session.id for record in others],
    )


def described(environment: Environment, record: Record) -> str:
    """Return the description of a session in a refusal: topic, step and age."""
    session = record.session
    topic = f'"{shortened(session.topic, 80)}", ' if session.topic else ""
    return f"{topic}step `{session.step}`, active {ago(_active_at(environment, record), environment.now)}"


def has_params(session: Session, params: Mapping[str, object]) -> bool:
    """Return whether *session* was started with these values, given as they are or as text."""
    return all(
        name in session.params and value in (session.params[name], value_text(session.params[name]))
        for name, value in params.items()
    )


def ids_of(environment: Environment, address: str) -> Iterator[str]:
    """Yield the ids of the sessions of the workflow at *address* that may be open."""
    stem = address.replace("/", "-") + "-"
    for session_id in environment.store.open_ids(address):
        if session_id.startswith(stem) and len(session_id) == len(stem) + 6:
            yield session_id


def _eligible(environment: Environment, candidates: Sequence[Record]) -> list[Record]:
    """Return the caller's own sessions, or those without an owner if no other conversation has one."""
    own = [record for record in candidates if _owns(environment, record)]
    free = [record for record in candidates if record.session.owner is None]
    return own or (free if len(free) == len(candidates) else [])


def _owns(environment: Environment, record: Record) -> bool:
    return environment.conversation is not None and record.session.belongs_to((environment.conversation,))


def _open_sessions(environment: Environment, address: str) -> Iterator[Record]:
    for session_id in ids_of(environment, address):
        try:
            stored = environment.store.read(session_id)
        except (UnknownSessionError, ForeignSessionError):
            continue  # its start was interrupted, or another user started it
        except StorageError as error:
            history = Command("sessions", session_id, store=environment.shown_store)
            start = Command("step", address, new=True, store=environment.shown_store)
            error.hint = Hint(
                error.hint, "; see the readable part: ", history, "; start another session: ", start
            )
            error.details["session"] = session_id
            raise
        session = stored.session
        if session.is_open and not session.parent and session.skill == address:
            yield stored


def _several_open(
    environment: Environment,
    newest: Sequence[Record],
    suffix: str,
    command: Callable[[str], Command] | None = None,
) -> ConflictError:
    command = command or partial(Command, "resume", store=environment.shown_store)
    commands = [command(record.session.id) for record in newest]
    parts: list[str | Command] = []
    for record, line in zip(newest[:MOST_NAMED], commands, strict=False):
        parts += ["\n", line, f" ({described(environment, record)})"]
    if len(newest) > MOST_NAMED:
        parts += [
            f"\nand {len(newest) - MOST_NAMED} more: ",
            Command("sessions", store=environment.shown_store),
        ]
    return ConflictError(
        f"{len(newest)} sessions{suffix} are open",
        code="SEVERAL_OPEN",
        hint=Hint("choose one:", *parts),
        sessions=[record.session.id for record in newest],
        commands=[str(line) for line in commands],
    )


def _other_conversation(environment: Environment, record: Record) -> ConflictError:
    session = record.session
    own = _own_session(environment, session.skill)
    parts: list[str | Command] = []
    if own is not None:
        resume = Command("resume", own.session.id, store=environment.shown_store)
        parts += ["continue your own session: ", resume, "; "]
    take_over = Command("resume", session.id, take_over=True, store=environment.shown_store)
    parts += ["leave this one alone unless the user asks to take it over: ", take_over]
    return ConflictError(
        f"session `{session.id}` belongs to another conversation ({described(environment, record)})",
        code="OTHER_CONVERSATION",
        hint=Hint(*parts),
        session=session.id,
        topic=session.topic,
        active_at=_active_at(environment, record),
    )


def _own_session(environment: Environment, skill: str) -> Record | None:
    """Return the caller's own open session that moved last, one of *skill* if there is one."""
    own = [record for record in _open_top_level(environment) if _owns(environment, record)]
    return next((record for record in own if record.session.skill == skill), own[0] if own else None)


def _open_top_level(environment: Environment) -> list[Record]:
    """Return the open sessions of the store that do not work for another one, newest first."""
    return _newest_first(list_sessions(environment.store, environment.now))


def _newest_first(rows: Iterable[ListedSession]) -> list[Record]:
    """Return the records of the sessions that do not work for another one and can be read."""
    records = [row.record for row in rows if row.record is not None and row.parent is None]
    return sorted(records, key=lambda record: record.session.moved_at, reverse=True)


def _described_all(environment: Environment, newest: Sequence[Record]) -> str:
    parts = []
    for record in newest[:MOST_NAMED]:
        owner_note = "" if record.session.owner is None else ", of another conversation"
        parts.append(f"{record.session.id} ({described(environment, record)}{owner_note})")
    if len(newest) > MOST_NAMED:
        sessions = Command("sessions", store=environment.shown_store)
        parts.append(f"and {len(newest) - MOST_NAMED} more: {sessions}")
    return "; ".join(parts)


def _active_at(environment: Environment, record: Record) -> str:
    """Return when something last happened in a session, or in those of its agents."""
    moments = [record.at]
    with suppress(FlowError):  # a sub-agent's session that cannot be read shows no activity
        moments += [
            environment.store.read(child).at
            for child in children_of(environment.store, record.session.dispatches)
        ]
    return max(moments)
