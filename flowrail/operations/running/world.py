"""What sessions need of the environment in which a command or a tool call runs."""

from __future__ import annotations

from flowrail.machines.sessions.host_binding import host_id
from flowrail.operations.environment import Environment
from flowrail.operations.running.steps import World


def world_of(environment: Environment, *, wait: float) -> World:
    """Return what sessions need. A call waits *wait* seconds for a session that another process holds."""
    return World(
        store=environment.store,
        roots=environment.roots,
        state=environment.state,
        now=lambda: environment.now,
        by=environment.by,
        shown_store=environment.shown_store,
        wait=wait,
        host=host_id(environment.environ),
    )
