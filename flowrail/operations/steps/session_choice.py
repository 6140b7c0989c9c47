"""The session that a command is about if it names none: the caller's own open one, or the only one that has no owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowrail.command import Command, Hint, value_text
from flowrail.errors import ConflictError, StorageError
from flowrail.machines.agents import parent_of
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import ForeignSessionError, UnknownSessionError
from flowrail.operations.environment import Environment
from flowrail.operations.steps.session_workflow import start_command
from flowrail.session_status import ABANDONED
from flowrail.storage.record_store import is_id_of
from flowrail.text.phrases import ago, moment_after
from flowrail.text.safe_text import shortened

RESULT_SECONDS = 24 * 3600
"""Seconds for which a session that has ended is shown to its owner."""
MOST_NAMED = 3
"""A refusal names at most this many sessions."""


class NoOpenSessionError(ConflictError):
    """No session is open, or only those of other conversations are."""

    code = "NO_OPEN_SESSION"


def choose(
    environment: Environment, address: str | None = None, params: Mapping[str, object] | None = None
) -> tuple[Record | None, tuple[Record, ...]]:
    """Return the session that the caller refers to, if any, and the other open ones, newest first.

    *address* limits the choice to the sessions of a skill. Several are refused. With *params* the caller may start another
    session, so several without an owner are no reason to refuse a conversation.
    """
    candidates = _newest_first(_open_sessions(environment, address))
    own = [record for record in candidates if _owns(environment, record)]
    free = [record for record in candidates if record.session.owner is None]
    pool = own or (free if len(free) == len(candidates) else [])
    if not pool and address is None and environment.conversation is None and len(candidates) == 1:
        pool = candidates  # the user looks at the only session
    if len(pool) > 1 and (own or not (params and environment.conversation)):
        raise _several_open(environment, pool, f" of `{address}`" if address else "")
    chosen = pool[0] if len(pool) == 1 else None
    return chosen, tuple(record for record in candidates if record is not chosen)


def open_session_of(environment: Environment, address: str) -> str:
    """Return the id of the caller's open session of the skill at *address*; refuse if it has none.

    A person may report to any session, so the only open one is meant.
    """
    record, others = choose(environment, address)
    if record is None and environment.conversation is None and len(others) == 1:
        record = others[0]
    if record is None:
        raise _none_open(environment, others, address)
    return record.session.id


def own_session(environment: Environment) -> Record:
    """Return the session that a command without an id is about: the caller's open one, or the one that just ended."""
    record, others = choose(environment)
    record = record or _just_ended(environment)
    if record is None:
        raise _none_open(environment, others)
    return record


def mention(environment: Environment, address: str, others: Sequence[Record]) -> tuple[str, ...]:
    """Return a note about the open sessions of a skill that a new one was started beside."""
    if not others:
        return ()
    named = "".join(map(str, _named(environment, others))).strip().replace("\n", "; ")
    return (f"started a new session of `{address}`; also open: {named}",)


def described(environment: Environment, record: Record) -> str:
    """Return the description of a session in a refusal: topic, step and age."""
    session = record.session
    topic = f'"{shortened(session.topic, 80)}", ' if session.topic else ""
    return f"{topic}step `{session.step}`, active {ago(record.at, environment.now)}"


def has_params(session: Session, params: Mapping[str, object]) -> bool:
    """Return whether *session* was started with these values, given as they are or as text."""
    return all(
        name in session.params and value in (session.params[name], value_text(session.params[name]))
        for name, value in params.items()
    )


def _owns(environment: Environment, record: Record) -> bool:
    return environment.conversation is not None and record.session.belongs_to((environment.conversation,))


def _newest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: record.session.moved_at, reverse=True)


def _open_sessions(environment: Environment, address: str | None) -> Iterator[Record]:
    """Yield the open sessions that do not work for another one. A damaged one of the skill at *address* is refused."""
    for record in _readable(environment, environment.store.open_ids(address or ""), address):
        if record.session.is_open and address in {None, record.session.skill}:
            yield record


def _just_ended(environment: Environment) -> Record | None:
    """Return the caller's session that ended last, if that was within a day: its result may not be delivered yet."""
    since = moment_after(environment.now, -RESULT_SECONDS)
    for record in _newest_first(_readable(environment, environment.store.ended_ids(since))):
        session = record.session
        if session.is_open or session.status == ABANDONED or session.moved_at < since:
            continue
        if environment.conversation in {None, session.owner} or session.owner is None:
            return record
    return None


def _readable(
    environment: Environment, session_ids: Iterable[str], address: str | None = None
) -> Iterator[Record]:
    for session_id in session_ids:
        if parent_of(session_id) is not None or not (address is None or is_id_of(session_id, address)):
            continue
        try:
            yield environment.store.read(session_id)
        except (UnknownSessionError, ForeignSessionError):
            continue  # its start was interrupted, or another user started it
        except StorageError as error:
            if address is None:
                continue
            history = environment.command("sessions", session_id)
            start = environment.command("step", address, new=True)
            error.hint = Hint(
                error.hint, "; see the readable part: ", history, "; start another session: ", start
            )
            error.details["session"] = session_id
            raise


def _several_open(environment: Environment, newest: Sequence[Record], suffix: str) -> ConflictError:
    return ConflictError(
        f"{len(newest)} sessions{suffix} are open",
        code="SEVERAL_OPEN",
        hint=Hint("name one of these; each command shows its step:", *_named(environment, newest)),
        sessions=[record.session.id for record in newest],
    )


def _none_open(
    environment: Environment, others: Sequence[Record], address: str | None = None
) -> NoOpenSessionError:
    """Return the refusal of a command without an id if no session of the caller is open."""
    of_skill = f" of `{address}`" if address else ""
    start = start_command(environment, address) if address else Command("list")
    hint: list[str | Command] = ["start one: " if address else "list the skills: ", start]
    if others:
        hint += [
            "; only if the user asks to continue another one:",
            *_named(environment, others, take_over=True),
        ]
    return NoOpenSessionError(
        f"no session{of_skill} is open{' in this conversation' if others else ''}",
        hint=Hint(*hint),
        sessions=[record.session.id for record in others],
    )


def _named(
    environment: Environment, newest: Sequence[Record], *, take_over: bool | None = None
) -> Iterator[str | Command]:
    """Yield the newest of these sessions, each on a line with the command that shows its step."""
    for record in newest[:MOST_NAMED]:
        is_others = record.session.owner not in {None, environment.conversation}
        owner_note = ", of another conversation" * is_others
        resume = environment.command("resume", record.session.id, take_over=take_over)
        yield from ("\n", resume, f" ({described(environment, record)}{owner_note})")
    if len(newest) > MOST_NAMED:
        yield from (f"\nand {len(newest) - MOST_NAMED} more: ", environment.command("sessions"))
