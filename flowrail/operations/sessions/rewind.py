"""Return to an earlier revision, in the same session or in a new one.

Nothing is deleted. The session continues from its state at that revision, with the current names of its steps. Its dispatches
and questions start again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, ConflictError, StorageError, UsageError
from flowrail.machines.definition.plain_form import step_fingerprint, workflow_fingerprint
from flowrail.machines.engine.advance import entered
from flowrail.machines.engine.migration import renamed
from flowrail.machines.sessions.record import Record, RecordNote
from flowrail.machines.sessions.session import ABANDONED, ACTIVE, ParentSession, Session
from flowrail.machines.sessions.store import ForeignSessionError
from flowrail.operations.environment import Environment, OpenedWorkflow
from flowrail.operations.running import evidence, session_files
from flowrail.operations.running.child_sessions import check_still_dispatched
from flowrail.operations.running.commands import require_no_running
from flowrail.operations.running.conversations import owned
from flowrail.operations.running.session_files import as_it_is
from flowrail.operations.running.steps import Answer, check_expected, prepare_answer, store_new
from flowrail.storage.files import LockTimeoutError
from flowrail.storage.journal import DamagedError
from flowrail.text.phrases import did_you_mean


class EarlierState(NamedTuple):
    """A session as it was, and the new names of its steps since then."""

    record: Record
    names: tuple[Mapping[str, str], ...]
    newest: Session
    """The session in its last record that can be read."""


def rewind(
    environment: Environment, session_id: str, revision: int, *, expect: int | None = None, reason: str = ""
) -> Answer:
    """Return a session to an earlier revision with a new record; the number of the revision still increases."""
    with environment.store.change(session_id, wait=environment.wait) as change:
        session = require_no_running(environment, change)
        owner = owned(environment, change.kept).host
        check_expected(environment, session, expect)
        if session.parent:
            check_still_dispatched(environment.store, session)
        earlier = _earlier_state(environment, session_id, revision, at=session.revision)
        opened = as_it_is(environment, session, environment.store.definition(session))
        now = environment.now
        after = _from(
            earlier,
            opened,
            now,
            session_id=session.id,
            revision=session.revision + 1,
            parent=session.parent,
            work=session.work,
        )
        after = replace(
            after, host=owner, memory=session.memory, runs=session.runs, definition=session.definition
        )
        after = evidence.entered(environment, opened.workflow, after)
        note: RecordNote = {
            "to": revision,
            "from": session.revision,
            **({"reason": reason} if reason else {}),
        }
        answer = prepare_answer(environment, after, opened)  # before the record: a text may be refused
        definition = opened.definition if opened.changed else None
        stored = change.commit(
            after, kind="rewind", at=now, by=environment.by, note=note, definition=definition
        )
    if not session.is_open:
        reopened = f"session `{session.id}` was {session.status}; it is open again"
        answer = answer._replace(notes=(*answer.notes, reopened))
    return answer.with_head(stored.head)


def fork(environment: Environment, session_id: str, revision: int, *, reason: str = "") -> Answer:
    """Start a new session from a revision of another one, which stays open unless its journal is full."""
    earlier = _earlier_state(environment, session_id, revision)
    source = replace(earlier.record.session, runs=earlier.newest.runs)
    opened = as_it_is(environment, earlier.newest, environment.store.definition(earlier.newest))
    now = environment.now
    new_id = environment.store.new_id(source.skill)
    work = environment.store.work_folder(new_id)
    after = _from(earlier, opened, now, session_id=new_id, revision=revision, parent=None, work=work)
    after = replace(after, started_at=now, host=None, runs=source.runs).bound_to(environment.conversation)
    after = session_files.on_this_machine(environment, after)
    origin = {"session": session_id, "revision": revision, "hash": earlier.record.hash}
    note: RecordNote = {"from": origin, **({"reason": reason} if reason else {})}
    answer = store_new(environment, opened, after, at=now, kind="fork", note=note)
    notes = _noted(environment, session_id, new_id, revision, now)
    notes += session_files.copy(environment, source, after)
    return answer._replace(notes=(*answer.notes, *notes))


def _earlier_state(
    environment: Environment, session_id: str, revision: int, *, at: int | None = None
) -> EarlierState:
    """Return the session as it was at *revision*, after checking all records.

    *at* is the current revision. Without it, damage after *revision* does not matter, because the records before it are
    intact.
    """
    reached: Record | None = None
    newest: Session | None = None
    names: list[Mapping[str, str]] = []
    try:
        for record in environment.store.records(session_id):
            newest = record.session
            if reached is None:
                reached = record if newest.revision == revision else None
            elif record.kind == "migrate" and record.note.get("renamed"):
                names.append(record.note["renamed"])
    except DamagedError:
        if reached is None or at is not None:
            raise
    if reached is None or newest is None:
        at = newest.revision if newest else 0
        raise UsageError(
            f"session `{session_id}` never was at revision {revision}; it is at {at}",
            code="UNKNOWN_REVISION",
            hint=Hint("see the revisions: ", Command("history", session_id)),
            session=session_id,
            revision=at,
        )
    return EarlierState(reached, tuple(names), newest)


def _from(
    earlier: EarlierState,
    opened: OpenedWorkflow,
    now: str,
    *,
    session_id: str,
    revision: int,
    parent: ParentSession | None,
    work: str,
) -> Session:
    """Return the session that continues from *earlier*, with its step entered again."""
    session, workflow = earlier.record.session, opened.workflow
    for names in earlier.names:
        session = renamed(session, names, workflow)
    if session.step is None:
        raise ConflictError(
            f"at revision {session.revision} session `{session.id}` had ended",
            code="ENDED_THERE",
            hint=f"name an earlier one, such as {session.revision - 1}",
            session=session.id,
            revision=session.revision,
        )
    if session.step not in workflow:
        ids = [step.id for step in workflow.steps]
        raise ChangedError(
            f"step `{session.step}` of session `{session.id}` at revision {session.revision} is gone from the workflow",
            hint=did_you_mean(session.step, ids, "name a revision whose step still exists"),
            session=session.id,
            step=session.step,
            steps=ids,
        )
    continued = replace(
        session,
        id=session_id,
        status=ACTIVE,
        revision=revision,
        moved_at=now,
        last=None,
        workflow_fingerprint=workflow_fingerprint(workflow),
        step_fingerprint=step_fingerprint(workflow, session.step),
        dispatches=(),
        questions=(),
        evidence=None,
        parent=parent,
        work=work,
    )
    return entered(workflow, continued)


def _noted(environment: Environment, session_id: str, into: str, revision: int, now: str) -> tuple[str, ...]:
    """Record the fork in its source, and close the source if its journal is full."""
    note: RecordNote = {"into": into, "at": revision}
    try:
        with environment.store.change(session_id, wait=environment.wait) as change:
            session = change.kept.session
            closes = change.is_full and session.is_open
            if closes:
                session = replace(session, status=ABANDONED)
            change.commit(session, kind="fork", at=now, by=environment.by, note=note, last=True)
    except (StorageError, LockTimeoutError, ForeignSessionError) as error:
        return (f"the journal of `{session_id}` does not record the fork: {error.message}",)
    return (f"the journal of `{session_id}` is full, so it is abandoned",) if closes else ()
