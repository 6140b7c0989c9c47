"""Migrate a session to the current version of its workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import ChangedError, FlowError, StorageError, UsageError
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.plain_form import workflow_fingerprint
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.migration import ACCEPT, MAP, PARAMS, MigrationPlan, migrated, note_of, plan
from flowrail.machines.engine.reports import read_values
from flowrail.machines.sessions.record import StoredDefinition
from flowrail.machines.sessions.session import Session
from flowrail.operations.environment import PROGRAM, Environment, OpenedWorkflow
from flowrail.operations.running import evidence
from flowrail.operations.running.commands import require_no_running
from flowrail.operations.running.conversations import owned
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.running.session_files import as_it_is, file_exists
from flowrail.operations.running.steps import Answer, prepare_answer
from flowrail.text.phrases import listed, near


class MigrationResult(NamedTuple):
    """A migration that was done or was not needed, and the guidance of the session afterwards."""

    plan: MigrationPlan
    answer: Answer
    changed: bool


def outlook(
    environment: Environment,
    session_id: str,
    maps: Mapping[str, str] = Frozen(),
    params: Mapping[str, object] = Frozen(),
) -> MigrationPlan:
    """Return the plan of a migration of the session; nothing changes."""
    return _outlook(environment, environment.store.read(session_id).session, maps, params)[0]


def migrate(
    environment: Environment,
    session_id: str,
    maps: Mapping[str, str] = Frozen(),
    params: Mapping[str, object] = Frozen(),
    *,
    accept: bool = False,
) -> MigrationResult:
    """Migrate the session to its current workflow; refused if a person must decide something first."""
    with environment.store.change(session_id, wait=environment.wait) as change:
        session = require_no_running(environment, change)
        decided, opened = _outlook(environment, session, maps, params)
        workflow = opened.workflow
        missing = [need for need in decided.needs if need != ACCEPT or not accept]
        if missing:
            raise _needs(environment, decided, missing, workflow)
        if not opened.changed and not decided.renamed:
            answer = prepare_answer(environment, session, opened, head=change.kept.head)
            return MigrationResult(decided, answer, changed=False)
        owned(environment, change.kept)
        now = environment.now
        after = migrated(decided, session, workflow, now)
        after = evidence.entered(environment, workflow, after)
        answer = prepare_answer(environment, after, opened)  # before the record: a text may be refused
        note = note_of(decided, session, after)
        if accept:
            note["accepted"] = True
        stored = change.commit(
            after, kind="migrate", at=now, by=environment.by, note=note, definition=opened.definition
        )
    return MigrationResult(decided, answer.with_head(stored.head), changed=True)


def _outlook(
    environment: Environment, session: Session, maps: Mapping[str, str], params: Mapping[str, object]
) -> tuple[MigrationPlan, OpenedWorkflow]:
    """Return the plan, and the workflow, which counts as changed if the session does not use it yet."""
    definition: StoredDefinition | None = None
    old: Workflow | None = None
    with suppress(StorageError):  # the definition is damaged
        definition = environment.store.definition(session)
        old = environment.store.workflow(session, definition)
    opened = _as_it_is(environment, session, definition)
    values = read_values(params, opened.workflow.params)
    decided = plan(session, old, opened.workflow, given=maps, params=values)
    is_different = workflow_fingerprint(opened.workflow) != session.workflow_fingerprint
    return decided, opened._replace(changed=opened.changed or is_different or old is None or bool(values))


def _as_it_is(
    environment: Environment, session: Session, definition: StoredDefinition | None
) -> OpenedWorkflow:
    """Return the current workflow from its old folder, or from the folder in which it is found by name."""
    if definition is not None and (file_exists(definition) or session.skill in environment.workflows):
        with suppress(StorageError):  # the stored definition is damaged
            return as_it_is(environment, session, definition)
    if session.source == PROGRAM:
        raise ChangedError(
            f"a Python program defines the workflow of session `{session.id}`",
            hint=f'migrate it in that program: store.migrate("{session.id}")',
            session=session.id,
        )
    try:
        opened = open_skill(session.skill, environment.loader)
    except UsageError as error:
        raise ChangedError(
            f"there is nothing to migrate session `{session.id}` to: {error.message}",
            hint="restore the skill's folder, or continue with the definition that the session stores",
            session=session.id,
        ) from None
    return opened._replace(changed=True)


def _needs(
    environment: Environment, decided: MigrationPlan, missing: Sequence[str], workflow: Workflow
) -> FlowError:
    ids = [step.id for step in workflow.steps]
    facts: list[str] = []
    options: dict[str, Any] = {}
    if MAP in missing:
        facts.append(f"its current step `{decided.at}` is gone")
        options["map"] = {str(decided.at): (near(str(decided.at), ids) or ["STEP"])[0]}
    if ACCEPT in missing:
        facts.append(
            f"{listed(decided.guessed)} {'seems' if len(decided.guessed) == 1 else 'seem'} to have a new name"
            if decided.guessed
            else f"the transitions of step `{decided.at}` have changed"
        )
        if decided.guessed:
            guessed = {old: decided.renamed[old] for old in decided.guessed}
            options["map"] = {**options.get("map", {}), **guessed}
        else:
            options["accept"] = True
    if PARAMS in missing:
        facts.append("; ".join(decided.problems))
        options["params"] = {"NAME": "VALUE"}
    return ChangedError(
        f"session `{decided.session}` needs a decision: {'; '.join(facts)}",
        code="MIGRATION_NEEDS",
        hint=Command("session migrate", decided.session, store=environment.shown_store, **options),
        session=decided.session,
        needs=list(missing),
        verdict=decided.verdict,
        step=decided.at,
        renamed=dict(decided.renamed),
        steps=ids,
    )
