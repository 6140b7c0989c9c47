"""Findings on record, in the session where they count. None of them moves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from flowrail.machines import reviews
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.session_record import RecordNote
from flowrail.machines.session_store import SessionChange
from flowrail.machines.transition import current_step
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.running.child_sessions import check_still_working
from flowrail.operations.running.session_files import open_session


def add_finding(
    environment: Environment,
    session_id: str,
    *,
    severity: str,
    text: str,
    place: str | None = None,
    item: str | None = None,
) -> tuple[str, RecordedFinding]:
    """Record a finding where it counts: in the nearest session above that has a gate, or in this one."""
    with _review_of(environment, session_id) as (change, workflow, finder):
        now = environment.now
        after, finding = reviews.record(
            workflow,
            change.kept.session,
            severity=severity,
            text=text,
            place=place,
            item=item,
            at=now,
            by=finder,
        )
        if after != change.kept.session:
            change.commit(after, kind="finding", at=now, by=environment.by, note={"finding": finding.id})
    return after.id, finding


def submit_without_findings(environment: Environment, session_id: str) -> str:
    """Record that a review found nothing, and return the session that keeps it."""
    with _review_of(environment, session_id) as (change, _, finder):
        session = change.kept.session
        known = session.evidence
        after = session if known is None else session.with_evidence(replace(known, nothing_found=True))
        note: RecordNote = {"finding": "none", "finder": finder}
        change.commit(after, kind="finding", at=environment.now, by=environment.by, note=note)
    return after.id


def resolve_finding(
    environment: Environment, session_id: str, finding_id: str, note: str = ""
) -> tuple[str, RecordedFinding]:
    """Mark a finding as resolved."""
    with _review_of(environment, session_id) as (change, workflow, finder):
        now = environment.now
        after, finding = reviews.resolve(
            workflow, change.kept.session, finding_id, note=note, at=now, by=finder
        )
        if after != change.kept.session:
            change.commit(after, kind="resolve", at=now, by=environment.by, note={"finding": finding.id})
    return after.id, finding


@contextmanager
def _review_of(environment: Environment, session_id: str) -> Iterator[tuple[SessionChange, Workflow, str]]:
    """Lock the session in which findings of *session_id* count; yield the change, the workflow, and the finder.

    The finder is the agent's session, or the caller.
    """
    home_id, agents = _home_of_findings(environment, session_id)
    for agent in agents:
        check_still_working(environment.store, agent)
    with environment.store.change(home_id, wait=environment.wait) as change:
        session = change.kept.session
        finder = agents[0] if agents else session
        workflow = open_session(environment, session).workflow
        current_step(workflow, session)
        yield change, workflow, environment.by if finder.id == home_id else finder.id


def list_findings(environment: Environment, session_id: str) -> tuple[str, tuple[RecordedFinding, ...]]:
    """Return every finding in the session that keeps those of *session_id*."""
    home_id, _ = _home_of_findings(environment, session_id)
    return home_id, environment.store.read(home_id).session.findings


def _home_of_findings(environment: Environment, session_id: str) -> tuple[str, list[Session]]:
    """Return the nearest session, from this one upwards, whose workflow has a gate, and the agents' sessions up to it.

    Without a gate it is this one.
    """
    home_id, agents = session_id, list[Session]()
    while True:
        session = environment.store.read(home_id).session
        if session.parent:
            agents.append(session)
        if any(step.get("gate") for step in environment.store.definition(session).steps):
            return home_id, agents
        if not session.parent:
            return session_id, agents[:1]
        home_id = session.parent.session
