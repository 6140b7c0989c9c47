"""The labels in the picture of the handoff machine."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.handoff.handoff import EXPIRED, REJECTED
from flowrail.handoff.lifecycle.machine import CHECKS

NAME = "handoff"
DESCRIPTION = "Passing one piece of work from a skill to another."
FAILING = frozenset({REJECTED, EXPIRED})
"""The ends that count as failed."""

ALL_CHECKS = "all checks pass"


def words(conditions: Sequence[str]) -> str:
    """Return conditions in brackets, or an empty text."""
    if not conditions:
        return ""
    if set(conditions) == set(CHECKS):
        return f"[{ALL_CHECKS}]"
    return f"[{', '.join(condition.replace('_', ' ') for condition in conditions)}]"
