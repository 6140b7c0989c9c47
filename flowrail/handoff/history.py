"""What became of handoffs before, as far as it tells who should take over now."""

from __future__ import annotations

import os

from flowrail.handoff.chain import grown
from flowrail.handoff.handoff import ACKNOWLEDGMENT
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.session import Session


def succeeded(handoffs: Handoffs) -> frozenset[str]:
    """Return the skills to which a handoff of this store arrived; records of others do not count."""
    if not os.path.isdir(handoffs.path):
        return frozenset()
    return frozenset(each.target for each in handoffs.own_ones() if each.phase == ACKNOWLEDGMENT)


def chain_of(session: Session) -> tuple[str, ...]:
    """Return the skills that a session's work came through, its own at the end."""
    return grown(tuple(str(each) for each in session.received.get("chain", ())), session.skill)
