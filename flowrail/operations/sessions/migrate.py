"""Migrate a session to the current version of its workflow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import ChangedError, FlowError, StorageError, UsageError
from flowrail.machines.definition.workflow import Workflow, from_plain, workflow_fingerprint
from flowrail.machines.engine.migration import ACCEPT, MAP, PARAMS, MigrationPlan, migrated, note_of, plan
from flowrail.machines.engine.reports import read_values
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import StoredSession, definition_bytes
from flowrail.operations.environment import PROGRAM, OpenedWorkflow, World
from flowrail.operations.running import evidence
from flowrail.operations.running.conversations import owned
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.running.session_files import as_it_is, is_there
from flowrail.operations.running.steps import Answer, answer_of, prepare_answer
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import listed, near


class MigrationNeedsError(ChangedError):
    """A person must decide something before the session can continue with the changed workflow."""

    code = "MIGRATION_NEEDS"


class MigrationPreview(NamedTuple):
    """What a migration would do. ``new`` is true if the session does not use this definition yet."""

    plan: MigrationPlan
    opened: OpenedWorkflow
    new: bool
    mends: bool


class MigrationResult(NamedTuple):
    """A migration that was done or was not needed, and the guidance of the session afterwards."""

    plan: MigrationPlan
    answer: Answer
    changed: bool


def outlook(
    world: World,
    session_id: str,
    maps: Mapping[str, str] | None = None,
    params: Mapping[str, object] | None = None,
) -> MigrationPreview:
    """Return what migrating the session would do, without changing anything."""
    return _outlook(world, world.store.read(session_id).session, maps or {}, params or {})


def migrate(
    world: World,
    session_id: str,
    maps: Mapping[str, str] | None = None,
    params: Mapping[str, object] | None = None,
    *,
    accept: bool = False,
) -> MigrationResult:
    """Migrate the session to its current workflow; refused if a person must decide something first."""
    with world.store.change(session_id, wait=world.wait) as change:
        session = change.kept.session
        done = _on_record(world, change.kept)
        if done is not None:
            return done
        seen = _outlook(world, session, maps or {}, params or {})
        decided, workflow = seen.plan, seen.opened.workflow
        missing = [each for each in decided.needs if each != ACCEPT or not accept]
        if missing:
            raise _needs(world, decided, missing, workflow)
        if not seen.new and not decided.renamed:
            return MigrationResult(decided, answer_of(world, change.kept, seen.opened), changed=False)
        owned(world, change.kept)
        now = world.now()
        after = migrated(decided, session, workflow, now)
        after = evidence.entered(world, workflow, after, how="complete")
        answer = prepare_answer(world, after, seen.opened)  # before the record: a text may be refused
        definition_bytes(seen.opened.kept)  # or the workflow cannot be stored
        note: RecordNote = {
            **note_of(decided, session, after),
            "definition": _digest(seen.opened.kept),
            **({"accepted": True} if accept else {}),
        }
        kept = change.commit(
            after, kind="migrate", at=now, by=world.by, note=note, definition=seen.opened.kept
        )
    return MigrationResult(decided, answer.with_head(kept.head), changed=True)


def _on_record(world: World, kept: StoredSession) -> MigrationResult | None:
    """Finish a migration that was interrupted after its record and before its definition was stored."""
    session_id = kept.session.id
    newest = next(world.store.newest_first(session_id))
    if newest.kind != "migrate":
        return None
    opened = _as_it_is(world, kept.session, _kept(world, session_id))
    if not opened.changed or newest.note.get("definition") != _digest(opened.kept):
        return None
    world.store.keep_definition(session_id, opened.kept)
    decided = plan(kept.session, opened.workflow, opened.workflow, given={}, params={})
    return MigrationResult(decided, answer_of(world, kept, opened), changed=False)


def _digest(kept: Mapping[str, object]) -> str:
    return sha256_hex(json.dumps(kept, sort_keys=True).encode("utf-8", "backslashreplace"))


def _outlook(
    world: World, session: Session, maps: Mapping[str, str], params: Mapping[str, object]
) -> MigrationPreview:
    kept = _kept(world, session.id)
    opened = _as_it_is(world, session, kept)
    given = read_values(params, opened.workflow.params)
    old = _workflow(kept)
    decided = plan(session, old, opened.workflow, given=maps, params=given)
    other = workflow_fingerprint(opened.workflow) != session.workflow_fingerprint
    new = opened.changed or other or old is None or bool(given)
    return MigrationPreview(decided, opened, new, mends=old is not None)


def _kept(world: World, session_id: str) -> Mapping[str, object] | None:
    """Return the stored definition of the session, `None` if it is damaged."""
    try:
        return world.store.definition(session_id)
    except StorageError:
        return None


def _as_it_is(world: World, session: Session, kept: Mapping[str, object] | None) -> OpenedWorkflow:
    """Return the current workflow: in its old folder, or wherever it is found by name."""
    if kept is not None and (is_there(kept) or session.skill in world.workflows):
        try:
            return as_it_is(world, session, kept)
        except StorageError:
            pass  # the stored definition is damaged
    if session.source == PROGRAM:
        raise ChangedError(
            f"a Python program defines the workflow of session `{session.id}`",
            hint=f'migrate it in that program: store.migrate("{session.id}")',
            session=session.id,
        )
    try:
        opened = open_skill(session.skill, world.roots, world.state)
    except UsageError as error:
        raise ChangedError(
            f"there is nothing to migrate session `{session.id}` to: {error.message}",
            hint="restore the skill's folder, or continue with the definition that the session stores",
            session=session.id,
        ) from None
    return opened._replace(changed=True)


def _workflow(kept: Mapping[str, Any] | None) -> Workflow | None:
    try:
        return from_plain(kept["workflow"]) if kept is not None else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _needs(world: World, decided: MigrationPlan, missing: Sequence[str], workflow: Workflow) -> FlowError:
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
    return MigrationNeedsError(
        f"session `{decided.session}` needs a decision: {'; '.join(facts)}",
        hint=Command("session migrate", decided.session, store=world.shown_store, **options),
        session=decided.session,
        needs=list(missing),
        verdict=decided.verdict,
        step=decided.at,
        renamed=dict(decided.renamed),
        steps=ids,
    )
