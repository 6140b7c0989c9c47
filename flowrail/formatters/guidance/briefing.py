"""What an agent that lost its context reads first: where the work is, and what its sub-agents are doing."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.machines.engine.questions import later
from flowrail.machines.sessions.session import CANCELLED, CLAIMED, PENDING, Dispatched
from flowrail.text.phrases import ago


def agents_progress(dispatches: Sequence[Dispatched], now: str) -> str:
    """Return how far the sub-agents of a step are, such as `2 of 5 agents finished, 3 never started`."""
    if not dispatches:
        return ""
    claimed = [dispatch for dispatch in dispatches if dispatch.status == CLAIMED]
    expired = [dispatch for dispatch in claimed if dispatch.expires_at and dispatch.expires_at <= now]
    running = [dispatch for dispatch in claimed if dispatch not in expired]
    failed = sum(
        dispatch.ended and not dispatch.succeeded and dispatch.status != CANCELLED for dispatch in dispatches
    )
    finished = sum(dispatch.succeeded for dispatch in dispatches)
    counts = [
        f"{finished} of {len(dispatches)} agents finished",
        *([f"{failed} failed"] if failed else []),
        *([f"{len(running)} claimed{_since(running, now)}"] if running else []),
        *([f"{len(expired)} claimed{_since(expired, now)} with an expired lease"] if expired else []),
    ]
    for status, words in ((PENDING, "never started"), (CANCELLED, "cancelled")):
        number = sum(dispatch.status == status for dispatch in dispatches)
        counts += [f"{number} {words}"] if number else []
    return ", ".join(counts)


def _since(claimed: Sequence[Dispatched], now: str) -> str:
    """Return when the oldest of these was claimed or last showed activity."""
    moments = [
        moment
        for dispatch in claimed
        if dispatch.expires_at and (moment := later(dispatch.expires_at, -dispatch.lease))
    ]
    return f" {ago(min(moments), now)}" if moments else ""
