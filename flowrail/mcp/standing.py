"""Where the server stands: the world of each call, looked up when it is made."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.cli.desk import desk_in
from flowrail.cli.world import limit_functions, world_in
from flowrail.mcp.verbs import Place
from flowrail.operations.environment import Here
from flowrail.operations.running.steps import World

WAIT = 5.0
"""How long a call waits for a session that another process holds; others wait for it meanwhile."""


def place(*, store: str | None, roots: Sequence[str]) -> Place:
    """Return where calls are made."""
    limit_functions()

    def world() -> World:
        return world_in(Here(store=store, roots=roots), wait=WAIT)

    return Place(world, lambda: desk_in(Here(store=store, roots=roots), world(), wait=WAIT))
