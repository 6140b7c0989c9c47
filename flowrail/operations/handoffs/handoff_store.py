"""The handoffs in the store that a command uses."""

from __future__ import annotations

from flowrail.handoff.store import Handoffs
from flowrail.operations.environment import Environment


def handoffs_of(environment: Environment) -> Handoffs:
    """Return the handoffs of the store."""
    return Handoffs(environment.store, environment.clock, environment.by, environment.wait)
