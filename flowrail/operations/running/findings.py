"""Findings on record, in the session where they count. None of them moves it."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.machines.engine import dispatched_work as engine_work
from flowrail.machines.engine import reviews
from flowrail.machines.engine.advance import current_step
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import RecordedFinding, Session
from flowrail.operations.environment import World
from flowrail.operations.running.child_sessions import check_still_working
from flowrail.operations.running.session_files import open_session


def add_finding(
    world: World,
    session_id: str,
    *,
    severity: str,
    text: str,
    place: str | None = None,
    item: str | None = None,
    token: str | None = None,
) -> tuple[str, RecordedFinding]:
    """Record a finding where it counts: in the nearest session above that has a gate, or in this one.

    With the *token* of a dispatch of *session_id*, only while that token holds it.
    """
    home, agents = _home_of_findings(world, session_id)
    for agent in agents:
        check_still_working(world.store, agent)
    with world.store.change(home, wait=world.wait) as change:
        session = change.kept.session
        finder = _finder(world, agents[0] if agents else session, home, token)
        opened = open_session(world, session)
        current_step(opened.workflow, session)
        now = world.now()
        after, finding = reviews.record(
            opened.workflow,
            session,
            severity=severity,
            text=text,
            place=place,
            item=item,
            at=now,
            by=finder,
        )
        change.commit(after, kind="finding", at=now, by=world.by, note={"finding": finding.id})
    return home, finding


def submit_without_findings(world: World, session_id: str, *, token: str | None = None) -> str:
    """Record that a review found nothing, and return the session that keeps it."""
    home, agents = _home_of_findings(world, session_id)
    for agent in agents:
        check_still_working(world.store, agent)
    with world.store.change(home, wait=world.wait) as change:
        session = change.kept.session
        finder = _finder(world, agents[0] if agents else session, home, token)
        current_step(open_session(world, session).workflow, session)
        known = session.evidence.get(str(session.step))
        after = session if known is None else session.with_evidence(known._replace(nothing_found=True))
        note: RecordNote = {"finding": "none", "finder": finder}
        change.commit(after, kind="finding", at=world.now(), by=world.by, note=note)
    return home


def resolve_finding(
    world: World, session_id: str, finding_id: str, note: str = "", *, token: str | None = None
) -> tuple[str, RecordedFinding]:
    """Mark a finding as resolved."""
    home, agents = _home_of_findings(world, session_id)
    for agent in agents:
        check_still_working(world.store, agent)
    with world.store.change(home, wait=world.wait) as change:
        session = change.kept.session
        opened = open_session(world, session)
        current_step(opened.workflow, session)
        now = world.now()
        by = _finder(world, agents[0] if agents else session, home, token)
        after, finding = reviews.resolve(opened.workflow, session, finding_id, note=note, at=now, by=by)
        if after != session:
            change.commit(after, kind="resolve", at=now, by=world.by, note={"finding": finding.id})
    return home, finding


def _finder(world: World, session: Session, home: str, token: str | None) -> str:
    """Return who records a finding: the agent's session, the dispatch that *token* holds, or the caller."""
    held = engine_work.held_by(session, token) if token is not None else None
    if session.id != home:
        return session.id
    return held.id if held else world.by


def list_findings(world: World, session_id: str) -> tuple[str, tuple[RecordedFinding, ...]]:
    """Return every finding in the session that keeps those of *session_id*."""
    home, _ = _home_of_findings(world, session_id)
    return home, world.store.read(home).session.findings


def _home_of_findings(world: World, session_id: str) -> tuple[str, list[Session]]:
    """Return the nearest session, from this one upwards, whose workflow has a gate, and the agents' sessions up to it.

    Without a gate it is this one.
    """
    here, way = session_id, list[Session]()
    while True:
        session = world.store.read(here).session  # first: it knows whether there is such a session
        if session.parent:
            way.append(session)
        if _has_gate(world.store.definition(here)):
            return here, way
        if not session.parent:
            return session_id, way[:1]
        here = session.parent.session


def _has_gate(kept: Mapping[str, object]) -> bool:
    """Return whether the workflow that a session keeps has a gate; its code is not needed for that."""
    workflow = kept.get("workflow")
    steps = workflow.get("steps") if isinstance(workflow, dict) else None
    known = steps if isinstance(steps, list) else []
    return any(isinstance(step, dict) and step.get("gate") for step in known)
