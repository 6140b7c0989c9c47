"""The environment of a command about handoffs."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.cli.environment import environment
from flowrail.handoff.context import HandoffContext
from flowrail.operations.handoffs.context import handoff_context_of
from flowrail.operations.running.world import World, world_of


def contexts(
    *, store: str | None, roots: Sequence[str] = (), wait: float = 10.0
) -> tuple[HandoffContext, World]:
    """Return what handoffs need, and what sessions need."""
    looked_up = environment(store, roots)
    return handoff_context_of(looked_up, wait=wait), world_of(looked_up, wait=wait)
