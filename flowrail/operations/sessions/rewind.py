"""Return to an earlier revision, in the same session or in a new one.

Nothing is deleted. The session continues from its state at that revision, with the definition that it has now. Its
dispatches and questions start again.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from flowrail.command import Hint
from flowrail.errors import ChangedError, ConflictError, StorageError, UsageError
from flowrail.machines.guidance.received_work import now_at
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record, RecordNote
from flowrail.machines.session_store import ForeignSessionError
from flowrail.machines.transition import entered
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import Expect, Reason, SessionId
from flowrail.operations.steps import step_checks, working_files
from flowrail.operations.steps.command_runs import require_no_running
from flowrail.operations.steps.dispatched_work import check_still_dispatched
from flowrail.operations.steps.held_session import hold
from flowrail.operations.steps.new_session import store_new
from flowrail.operations.steps.session_workflow import open_session
from flowrail.operations.steps.shown_step import ShownStep, commit_shown
from flowrail.session_status import ABANDONED, ACTIVE
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.storage.journal import DamagedError
from flowrail.storage.lock import LockTimeoutError
from flowrail.text.phrases import did_you_mean

AS_NEW = "rewind-as-new"
"""The kind of the records of a session that continues in a new one: the last of the one, the first of the other."""


@operation(
    "session rewind",
    "flow session rewind problem-analysis-k3x9q2 --to 2",
    "flow session rewind problem-analysis-k3x9q2 --to 2 --as-new",
)
def rewind(
    environment: Environment,
    session: SessionId,
    *,
    to: Annotated[int, Help("The revision; `flow sessions ID` lists them.", metavar="REV")],
    as_new: Annotated[bool, Help("Start a new session from there, and leave this one as it is.")] = False,
    expect: Expect = None,
    reason: Reason = "",
) -> ShownStep:
    """Take a session back to an earlier revision

    Adds a record; nothing is deleted. A session that had ended is open again. The revision still increases, so commands
    that were printed before are refused. The step's dispatches and questions start again. With --as-new, the new session
    has no parent, and damage after that revision does not matter.
    """
    if as_new:
        return rewind_as_new(environment, session, to, reason=reason).told(environment)
    return rewind_session(environment, session, to, expect=expect, reason=reason).told(environment)


def rewind_session(
    environment: Environment, session_id: str, revision: int, *, expect: int | None = None, reason: str = ""
) -> ShownStep:
    """Return a session to an earlier revision with a new record; the number of the revision still increases."""
    with hold(environment, session_id, expect=expect) as held:
        session = require_no_running(environment, held.change)
        if session.parent:
            check_still_dispatched(environment.store, session)
        earlier, _ = _earlier_state(environment, session_id, revision, at=session.revision)
        opened, now = held.opened, environment.now
        after = replace(
            _continued(earlier.session, opened, now),
            revision=session.revision + 1,
            host=held.session.host,
            notes=session.notes,
            runs=session.runs,
            definition=session.definition,
        )
        after = step_checks.entered(environment, opened.workflow, entered(opened.workflow, after))
        reopened = f"session `{session.id}` was {session.status}; it is open again"
        notes = () if session.is_open else (reopened,)
        back = {"to": revision, "from_": session.revision}
        working_files.forget_offered(environment, session_id)
        return commit_shown(held, after, "rewind", *notes, at=now, reason=reason, **back)


def rewind_as_new(environment: Environment, session_id: str, revision: int, *, reason: str = "") -> ShownStep:
    """Start a new session from a revision of another one, which stays open unless its journal is full."""
    earlier, newest = _earlier_state(environment, session_id, revision)
    source, opened = earlier.session, open_session(environment, newest)
    now, new_id = environment.now, environment.store.new_id(source.skill)
    after = replace(
        _continued(source, opened, now),
        id=new_id,
        parent=None,
        work=environment.store.work_folder(new_id),
        started_at=now,
        host=None,
        runs=newest.runs,
    )
    after = entered(opened.workflow, after.bound_to(environment.conversation))
    origin = {"session": session_id, "revision": revision, "hash": earlier.hash}
    note: RecordNote = {"from": origin, **({"reason": reason} if reason else {})}
    shown = store_new(environment, opened, after, at=now, kind=AS_NEW, note=note)
    notes = (
        *_recorded(environment, session_id, new_id, revision, now),
        *_copy_files(environment, source, after),
    )
    return replace(shown, notes=notes)


def _earlier_state(
    environment: Environment, session_id: str, revision: int, *, at: int | None = None
) -> tuple[Record, Session]:
    """Return the record that brought the session to *revision*, after checking all records, and the newest session.

    *at* is the current revision. Without it, damage after *revision* does not matter, because the records before it are
    intact.
    """
    reached: Record | None = None
    newest: Session | None = None
    try:
        for record in environment.store.records(session_id):
            newest = record.session
            if reached is None and newest.revision == revision:
                reached = record
    except DamagedError:
        if reached is None or at is not None:
            raise
    if reached is None or newest is None:
        at = newest.revision if newest else 0
        raise UsageError(
            f"session `{session_id}` never was at revision {revision}; it is at {at}",
            code="UNKNOWN_REVISION",
            hint=Hint("see the revisions: ", environment.command("sessions", session_id)),
            session=session_id,
            revision=at,
        )
    return reached, newest


def _continued(session: Session, opened: OpenedWorkflow, now: str) -> Session:
    """Return the session that continues from an earlier state, before it enters its step again."""
    if session.step is None:
        raise ConflictError(
            f"at revision {session.revision} session `{session.id}` had ended",
            code="ENDED_THERE",
            hint=f"name an earlier one, such as {session.revision - 1}",
            session=session.id,
            revision=session.revision,
        )
    if session.step not in opened.workflow:
        ids = [step.id for step in opened.workflow.steps]
        raise ChangedError(
            f"step `{session.step}` of session `{session.id}` at revision {session.revision} is gone from the workflow",
            hint=did_you_mean(session.step, ids, "name a revision whose step still exists"),
            session=session.id,
            step=session.step,
            steps=ids,
        )
    return replace(
        session, status=ACTIVE, moved_at=now, last=None, dispatches=(), questions=(), evidence=None
    )


def _recorded(
    environment: Environment, session_id: str, into: str, revision: int, now: str
) -> tuple[str, ...]:
    """Record in the old session that it continues in a new one, and close it if its journal is full."""
    try:
        with hold(environment, session_id, any_owner=True) as held:
            session = held.session
            closes = held.change.is_full and session.is_open
            if closes:
                session = replace(session, status=ABANDONED)
            held.commit(session, AS_NEW, at=now, into=into, to=revision, last=True)
    except (StorageError, LockTimeoutError, ForeignSessionError) as error:
        return (f"the journal of `{session_id}` does not record the new session: {error.message}",)
    return (f"the journal of `{session_id}` is full, so it is abandoned",) if closes else ()


def _copy_files(environment: Environment, source: Session, target: Session) -> tuple[str, ...]:
    """Copy working files and the received payload to a fork; return notes about what could not be copied."""
    try:
        with suppress(FileNotFoundError):
            shutil.copytree(
                working_files.path_of(environment, source),
                working_files.path_of(environment, target),
                symlinks=True,
                dirs_exist_ok=True,
            )
        if source.received is not None:
            payload = now_at(source.received.payload, environment.store.folder(source.id))
            with suppress(FileNotFoundError):
                shutil.copy2(payload, environment.store.folder(target.id), follow_symlinks=False)
    except OSError as error:
        return (f"the files of `{source.id}` were not all copied: {error}",)
    return ()
