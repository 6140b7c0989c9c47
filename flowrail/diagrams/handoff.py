"""The lifecycle of a handoff as a picture, made from its statechart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowrail.diagrams.extract import machine_picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.session_trace import with_handoff
from flowrail.handoff.handoff import EXPIRED, REJECTED
from flowrail.handoff.lifecycle import CHECKS, HandoffMachine

_DESCRIPTION = "One piece of work on its way from one skill to another."
_FAILED_ENDS = frozenset({REJECTED, EXPIRED})
ALL_CHECKS = "all checks pass"


def lifecycle_picture() -> Picture:
    """Return the picture of the lifecycle."""
    return machine_picture(
        HandoffMachine, "handoff", _DESCRIPTION, failing=_FAILED_ENDS, words=condition_text
    )


def handoff_picture(handoff_id: str, records: Iterable[tuple[int, str, str, str, str]]) -> Picture:
    """Return the lifecycle with the phases of one handoff: number, kind, time, actor and phase of each record."""
    return with_handoff(lifecycle_picture(), handoff_id, records)


def condition_text(conditions: Sequence[str]) -> str:
    """Return conditions in brackets, or an empty text if there are none."""
    if not conditions:
        return ""
    if set(conditions) == set(CHECKS):
        return f"[{ALL_CHECKS}]"
    return f"[{', '.join(condition.replace('_', ' ') for condition in conditions)}]"
