"""Start sessions: of a user, of a sub-agent, or of a received handoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.reported_values import read_values
from flowrail.machines.session import ParentSession, ReceivedWork, Session
from flowrail.machines.session_record import RecordNote
from flowrail.machines.transition import LONGEST_TOPIC, start
from flowrail.operations.environment import Environment
from flowrail.operations.steps import step_checks, working_files
from flowrail.operations.steps.shown_step import ShownStep, show_step
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.text.safe_text import shortened


def begin(
    environment: Environment,
    address: str,
    params: Mapping[str, object] | None = None,
    opened: OpenedWorkflow | None = None,
) -> ShownStep:
    """Start a session of the workflow at *address*, which may be *opened* already, and return its first step."""
    opened = opened or environment.loader.open_skill(address)
    values = read_values(params or {}, opened.workflow.params)
    return start_session(environment, opened, environment.store.new_id(address), values)


def start_session(
    environment: Environment,
    opened: OpenedWorkflow,
    session_id: str,
    params: Mapping[str, object],
    *,
    parent: ParentSession | None = None,
    project: str = "",
    topic: str = "",
    received: ReceivedWork | None = None,
    runs: tuple[CommandRun, ...] = (),
    note: RecordNote | None = None,
) -> ShownStep:
    """Store a new session at its first step: of a user, of a sub-agent for its *parent*, or of a *received* handoff.

    *topic* describes it if no parameter does. *runs* are those of commands that it must not repeat.
    """
    now = environment.now
    session = start(
        opened.workflow,
        params,
        session_id=session_id,
        now=now,
        parent=parent,
        work=environment.store.work_folder(session_id, is_child=parent is not None),
    )
    topic = session.topic or shortened(topic or (received.summary if received else ""), LONGEST_TOPIC)
    session = replace(session, project=project, received=received, topic=topic, runs=runs).bound_to(
        environment.conversation
    )
    session = working_files.in_project(environment, session)
    session = step_checks.entered(environment, opened.workflow, session)
    return store_new(environment, opened, session, at=now, kind="start", note=note)


def store_new(
    environment: Environment,
    opened: OpenedWorkflow,
    session: Session,
    *,
    at: str,
    kind: str,
    note: RecordNote | None,
) -> ShownStep:
    """Store a new session with its folder for working files."""
    shown = show_step(environment, session, opened)  # before the session exists: a text may be refused
    by = environment.by
    stored = environment.store.add(session, opened.definition, at=at, by=by, note=note, kind=kind)
    working_files.make(environment, session)
    return replace(shown, head=stored.head)
