"""A session that takes over work: begun with what the payload fills in, and with whom it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowrail.machines.engine.advance import start
from flowrail.machines.engine.reported_values import read_assignments
from flowrail.machines.guidance.guide import guide
from flowrail.machines.sessions import definition_snapshot
from flowrail.operations.running.open_workflow import Opened, open_skill
from flowrail.operations.running.steps import Answer, World, answer_of


def opened(world: World, address: str) -> Opened:
    """Return the workflow that is to take over, refused where it may not run or is too large."""
    found = open_skill(address, world.roots, world.state)
    definition_snapshot.to_bytes(found.kept)
    return found


def begin(
    world: World,
    what: Opened,
    session_id: str,
    *,
    filled: Mapping[str, Any],
    given: tuple[str, ...] = (),
    received: Mapping[str, Any],
) -> Answer:
    """Start a session under an id that is on record already; *given* counts before *filled*."""
    params = {**filled, **read_assignments(given, what.workflow.params, "-p")}
    now = world.now()
    session = start(what.workflow, params, session_id=session_id, source=what.source, now=now)
    session = session._replace(received=dict(received))
    guide(what.workflow, session)  # a text that cannot be told must not leave a session behind
    note = {"handoff": received["handoff"], "sha256": received["sha256"]}
    kept = world.store.create(session, what.kept, at=now, by=world.by, note=note)
    return answer_of(world, kept, what)
