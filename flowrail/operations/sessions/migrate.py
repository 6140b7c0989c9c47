"""Move a session to the newest definition of its workflow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from flowrail.errors import StorageError
from flowrail.machines.difference import differences
from flowrail.machines.migration import migrated
from flowrail.machines.reported_values import read_values
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import NO_VALUES, Params, SessionId
from flowrail.operations.steps import step_checks, working_files
from flowrail.operations.steps.command_runs import require_no_running
from flowrail.operations.steps.held_session import hold
from flowrail.operations.steps.people import require_person
from flowrail.operations.steps.session_workflow import open_newest
from flowrail.operations.steps.shown_step import ShownStep, commit_shown, show_step


@operation(
    "session migrate",
    "flow session migrate problem-analysis-k3x9q2",
    "flow session migrate problem-analysis-k3x9q2 --to investigate",
)
def migrate(
    environment: Environment,
    session: SessionId,
    *,
    to: Annotated[
        str | None, Help("The step to continue at, if the current one is gone.", metavar="STEP")
    ] = None,
    param: Params = NO_VALUES,
) -> ShownStep:
    """Move a session to the newest definition of its workflow

    A session keeps the definition with which it started. This command takes the skill as it is now, and lists what
    changed. If the current step changed, it starts again, and commands printed before are refused. If the step is
    gone, --to names the new one. -p sets parameters that are new.
    """
    return migrate_session(environment, session, to=to, params=param).told(environment)


def migrate_session(
    environment: Environment,
    session_id: str,
    *,
    to: str | None,
    params: Mapping[str, object],
) -> ShownStep:
    """Move a session to the newest definition, at the step *to*, by default its own. *params* are values of new ones."""
    _require_person_for_less(environment, session_id, to)
    with hold(environment, session_id) as held:
        session = require_no_running(environment, held.change)
        session = replace(session, host=held.session.host) if session.is_open else session
        definition: StoredDefinition | None = None
        old: Workflow | None = None
        with suppress(StorageError):  # the definition is damaged
            definition = environment.store.definition(session)
            old = environment.store.workflow(session, definition)
        opened = open_newest(environment, session, definition)
        values = read_values(params, opened.workflow.params)
        now = environment.now
        after = migrated(session, old, opened.workflow, to=to, params=values, now=now)
        changes = list(differences(old, opened.workflow)) if old is not None else []
        if opened.definition == definition and after == session:
            notes = (f"{session_id} is up to date",)
            return show_step(environment, session, opened, *notes, head=held.kept.head)
        after = step_checks.entered(environment, opened.workflow, after)
        done = f"{session_id} migrated{': ' if changes else ''}{'; '.join(changes)}"
        held.opened = opened
        note = {"changes": changes, "step": session.step}
        working_files.forget_offered(environment, session_id)
        return commit_shown(held, after, "migrate", done, at=now, definition=opened.definition, **note)


def _require_person_for_less(environment: Environment, session_id: str, to: str | None) -> None:
    """Ask the person at the terminal if the newest definition leaves less to a person than the session's own does."""
    session = environment.store.read(session_id).session
    with suppress(StorageError):  # the definition is damaged
        decided = _decided_by_persons(environment.store.workflow(session))
        if decided:
            definition = environment.store.definition(session)
            decided -= _decided_by_persons(open_newest(environment, session, definition).workflow)
        if decided:
            lines = [f"session {session_id}", *(f" step {step}: {name}" for step, name in sorted(decided))]
            typed = environment.command("session migrate", session_id, to=to)
            what = "migrate a session to a definition that leaves less to a person"
            require_person(environment, what, "No person decides these any more. Migrate?", lines, typed)


def _decided_by_persons(workflow: Workflow) -> set[tuple[str, str]]:
    """Return the questions and checks of each step that only a person may answer."""
    questions = {(step.id, asked.id) for step in workflow.steps for asked in step.questions if asked.person}
    checks = {
        (step.id, check.id) for step in workflow.steps for check in step.checks.values() if check.person
    }
    return questions | checks
