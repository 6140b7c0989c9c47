"""What a picture of the lifecycle says at the lines of the machine: its conditions in words."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.handoff.handoff import EXPIRED, REJECTED
from flowrail.handoff.lifecycle.machine import CHECKS

NAME = "handoff"
DESCRIPTION = "One piece of work on its way from one skill to another."
FAILING = frozenset({REJECTED, EXPIRED})
"""The ends at which nobody has the work."""

ALL_CHECKS = "all checks hold"


def words(conditions: Sequence[str]) -> str:
    """Return what has to hold, in brackets; nothing where nothing has to."""
    if not conditions:
        return ""
    if set(conditions) == set(CHECKS):
        return f"[{ALL_CHECKS}]"
    return f"[{', '.join(each.replace('_', ' ') for each in conditions)}]"
