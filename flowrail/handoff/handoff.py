"""A handoff as an immutable value: its phase, its checks and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.machines.definition.parts import Frozen
from flowrail.machines.sessions.session import ReceivedWork

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
UNSENT = frozenset({DISCOVERY, SELECTION, VALIDATION, TRANSFER})
"""Phases that `send` passes through by itself. A handoff found in one of them was interrupted."""


class CheckResult(NamedTuple):
    """The answer to one check before the transfer.

    ``missing`` are required fields without a value, ``facts`` the facts that would fill or fix them, ``oversized``
    the facts that belong in files.
    """

    name: str
    holds: bool
    message: str
    fixable: bool = True
    missing: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    oversized: tuple[str, ...] = ()


class HandoffClaim(NamedTuple):
    """The receiver of the payload, the time, and the id of the session that takes over, if it is a workflow."""

    by: str
    at: str
    session: str = ""


class HandoffFailure(NamedTuple):
    """The error document of the last failure, and the hint that was printed with it."""

    code: str
    message: str
    details: Mapping[str, Any] = Frozen()
    recoverable: bool = False
    payload_preserved: str | None = None
    hint: str = ""


class Handoff(NamedTuple):
    """One piece of work on its way from one skill to another.

    ``chain`` ends with the source. ``hops`` is counted from our own records, not from the chain. ``request`` identifies
    the request, so that the same request gets the same answer. ``draft`` is the payload, built once; ``payload`` is the
    file it was written to, ``digest`` the digest of that file. ``session`` is empty if the source is a skill without a
    session; ``received`` is then the handoff by which the work came to it, if any. ``lost`` names the values for which
    the payload's version has no field. ``problem_type`` is used if the source reports none. ``root`` is the folder that
    was named with ``--root`` and contains the target. ``foreign`` marks a payload that another user or machine wrote.
    ``cancelled`` is the reason for which the sender cancelled it; empty if nobody did.
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
    has_workflow: bool = False
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
    problem_type: str = ""
    received: ReceivedWork | None = None
    request: str = ""
    started_at: str = ""
    expires_at: str = ""
    draft: Mapping[str, Any] = Frozen()
    lost: tuple[str, ...] = ()
    payload: str = ""
    digest: str = ""
    payload_hash: str = ""
    size: int = 0
    invocation: str = ""
    checks: tuple[CheckResult, ...] = ()
    failure: HandoffFailure | None = None
    attempts: int = 0
    claim: HandoffClaim | None = None
    foreign: bool = False
    root: str = ""
    cancelled: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it can still change."""
        return self.phase not in ENDED
