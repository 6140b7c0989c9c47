"""Adopt a foreign session with its handoffs, after all its records were checked."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, StorageError
from flowrail.handoff.store import Handoffs
from flowrail.machines.definition.plain_form import from_plain
from flowrail.machines.definition.validation import raw_findings
from flowrail.machines.sessions.record import Record, StoredDefinition
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import DEFINITION, UnknownSessionError
from flowrail.operations.environment import World
from flowrail.operations.running import evidence
from flowrail.operations.running.session_files import open_session
from flowrail.text.safe_text import shortened

LONGEST_REASON = 200
NO_INSTRUCTIONS = "FR115"
"""The code of this finding: a function makes the instructions, so the stored definition lacks them."""


class AdoptionResult(NamedTuple):
    """An adopted session: who started it and when, the number of its records, and the workflow that it runs."""

    kept: Record
    begun_by: str
    begun_at: str
    records: int
    folder: str
    code: bool
    was_foreign: bool
    command: Command | None


def adopt(world: World, session_id: str) -> AdoptionResult:
    """Adopt a session. All its records are checked first, and none is changed."""
    first: Record | None = None
    newest: Record | None = None
    was_foreign = world.store.is_foreign(session_id)
    for newest in world.store.records(session_id, foreign=True):
        first = first or newest
    if first is None or newest is None:
        raise UnknownSessionError(
            f"session `{session_id}` was never started",
            hint=Hint("see all sessions: ", Command("sessions", all=True)),
            session=session_id,
        )
    definition = _definition(world, newest.session, check=was_foreign)
    if was_foreign:
        world.store.adopt(session_id)
        Handoffs(world.store).adopt_with(session_id)
        _take_baseline(world, newest.session)
    resume = Command("resume", session_id, store=world.shown_store)
    return AdoptionResult(
        kept=world.store.read(session_id),
        begun_by=first.by,
        begun_at=first.at,
        records=newest.seq + 1,
        folder=definition.folder if definition else "unknown",
        code=definition.functions if definition else False,
        was_foreign=was_foreign,
        command=resume if newest.session.is_open else None,
    )


def _take_baseline(world: World, session: Session) -> None:
    """Record the current state of the files that the step's evidence compares with."""
    if not session.is_open or not session.evidence:
        return
    with suppress(FlowError), world.store.change(session.id, wait=world.wait) as change:
        workflow = open_session(world, change.kept.session).workflow
        before = replace(change.kept.session, evidence=None)
        after = evidence.entered(world, workflow, before)
        if after != change.kept.session:
            change.commit(after, kind="adopt", at=world.now(), by=world.by)


def _definition(world: World, session: Session, *, check: bool) -> StoredDefinition | None:
    """Return the stored definition, or `None` if it cannot be read; *check* that it is valid."""
    try:
        definition = world.store.definition(session.id)
    except StorageError:
        return None  # `flow session migrate` writes it again
    if not check:
        return definition
    problem = _problem_in(definition, session)
    if problem:
        path = os.path.join(world.store.folder(session.id), DEFINITION)
        raise StorageError(f"{path} is damaged: {problem}", hint="restore it from a copy", place=path)
    return definition


def _problem_in(definition: StoredDefinition, session: Session) -> str | None:
    """Return why no session could have started with this definition, if so."""
    try:
        workflow = from_plain(definition.workflow)
        errors = [finding for finding in raw_findings(workflow) if finding.severity == "error"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, FlowError) as error:
        return f"it holds no workflow ({type(error).__name__}: {shortened(str(error), LONGEST_REASON)})"
    errors = [finding for finding in errors if finding.code != NO_INSTRUCTIONS]
    if errors:
        return f"its workflow has an error: {shortened(errors[0].message, LONGEST_REASON)}"
    if workflow.name != session.skill:
        return f"it is not the workflow of `{session.skill}`"
    return None
