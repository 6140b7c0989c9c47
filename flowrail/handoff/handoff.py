"""A handoff as an immutable value: what it is, where it stands, what was checked, what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.definition.frozen import Frozen

DISCOVERY, SELECTION, VALIDATION = "discovery", "selection", "validation"
TRANSFER, INVOCATION, ACKNOWLEDGMENT = "transfer", "invocation", "acknowledgment"
REJECTED, FAILED, EXPIRED = "rejected", "failed", "expired"
PHASES = (
    DISCOVERY,
    SELECTION,
    VALIDATION,
    TRANSFER,
    INVOCATION,
    ACKNOWLEDGMENT,
    REJECTED,
    FAILED,
    EXPIRED,
)
ENDED = frozenset({ACKNOWLEDGMENT, REJECTED, EXPIRED})
ON_ITS_WAY = frozenset({DISCOVERY, SELECTION, VALIDATION, TRANSFER})
"""Phases that a sender passes through by itself; one found standing there was interrupted."""

FORMAT = 1


class Handoff(NamedTuple):
    """One piece of work on its way from one skill to another.

    ``chain`` ends with the source. ``hops`` is counted in our own records. ``request`` tells apart what was
    asked for, so that the same again is answered again. ``draft`` is the payload as it was made, once;
    ``payload`` the file it was written to, ``digest`` that of its bytes. ``problem`` is the error document
    of the last failure. ``claim`` says who received it: ``by``, ``at``, and the ``session`` it starts.
    ``root`` is the place that the target was found in, where that was asked for by name.
    """

    id: str
    source: str
    target: str
    phase: str = DISCOVERY
    session: str = ""
    revision: int = 0
    target_path: str = ""
    target_digest: str = ""
    target_schema: str = ""
    trigger: str = ""
    ours: bool = False
    schema: str = ""
    form: str = ""
    trace_id: str = ""
    span_id: str = ""
    parent_span: str = ""
    chain: tuple[str, ...] = ()
    hops: int = 1
    reason: str = ""
    yes: bool = False
    approved: bool = False
    health: bool = False
    facts: Mapping[str, Any] = Frozen()
    request: str = ""
    started_at: str = ""
    expires_at: str = ""
    draft: Mapping[str, Any] = Frozen()
    payload: str = ""
    digest: str = ""
    payload_hash: str = ""
    size: int = 0
    invocation: str = ""
    checks: tuple[Mapping[str, Any], ...] = ()
    problem: Mapping[str, Any] = Frozen()
    attempts: int = 0
    claim: Mapping[str, Any] = Frozen()
    foreign: bool = False
    root: str = ""
    format: int = FORMAT

    @property
    def is_open(self) -> bool:
        """Whether anything can still happen to it."""
        return self.phase not in ENDED
