"""A handoff as an immutable value: its request, its phase, its checks and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowrail.machines.frozen import INTERNAL, Frozen

DISCOVERY, SELECTION, VALIDATION = "discovery", "selection", "validation"
TRANSFER, INVOCATION, ACKNOWLEDGMENT = "transfer", "invocation", "acknowledgment"
REJECTED, FAILED, EXPIRED = "rejected", "failed", "expired"
ENDED = frozenset({ACKNOWLEDGMENT, REJECTED, EXPIRED})
PREPARED, SENT, RECEIVED = "prepared", "sent", "received"
ACKNOWLEDGED, CANCELLED = "acknowledged", "cancelled"
_STATUSES = {INVOCATION: SENT, ACKNOWLEDGMENT: ACKNOWLEDGED, **{p: p for p in (REJECTED, FAILED, EXPIRED)}}


@dataclass(frozen=True)
class CheckResult:
    """The answer to one check that ran before the transfer."""

    name: str
    holds: bool
    message: str
    fixable: bool = True
    """Whether the sender can do something about a failure."""
    missing: tuple[str, ...] = ()
    """Required fields without a value."""
    facts: tuple[str, ...] = ()
    """The facts that would fill or fix these fields."""
    oversized: tuple[str, ...] = ()
    """The facts that belong in files."""


@dataclass(frozen=True)
class HandoffReceipt:
    """Who received a payload."""

    by: str
    at: str
    session: str = ""
    """The session that takes over, if the target has a workflow."""


@dataclass(frozen=True)
class HandoffFailure:
    """The error document of a refusal."""

    code: str
    message: str
    details: Mapping[str, Any] = Frozen()
    recoverable: bool = False
    payload_preserved: str | None = None
    hint: str = ""
    """What was printed as the next thing to do."""


@dataclass(frozen=True)
class HandoffRequest:
    """A request to hand off work, as `flow handoff send` takes it. The target decides on empty values."""

    target: str = field(metadata=INTERNAL)
    session: str = field(default="", metadata=INTERNAL)
    skill: str = field(default="", metadata=INTERNAL)
    """The source, if it has no session."""
    payload: str = field(default="", metadata=INTERNAL)
    """A file that this skill wrote, or that it received."""
    reason: str = ""
    yes: bool = False
    """Whether the user wants a target that had the work before."""
    approved: bool = False
    """Whether the user approved a chain of more than five skills."""
    health_check: bool = field(default=False, metadata=INTERNAL)
    schema: str = field(default="", metadata=INTERNAL)
    facts: Mapping[str, Any] = field(default=Frozen(), metadata=INTERNAL)
    again: bool = field(default=False, metadata=INTERNAL)
    """Whether work that was received before is sent again."""
    new: bool = field(default=False, metadata=INTERNAL)
    """Whether this is new work, and not what the skill received."""


@dataclass(frozen=True)
class Handoff:
    """One piece of work on its way from one skill to another."""

    id: str
    source: str
    target: str
    request: HandoffRequest = HandoffRequest("")
    phase: str = DISCOVERY
    session: str = ""
    """The session that hands off; empty if the source is a skill without one."""
    revision: int = 0
    """The revision of that session."""
    target_path: str = field(default="", metadata=INTERNAL)
    """The target's SKILL.md."""
    target_digest: str = field(default="", metadata=INTERNAL)
    """The digest of that file; empty if the target is remote."""
    target_schema: str = ""
    """The payload version that the target declares."""
    category: str = field(default="", metadata=INTERNAL)
    """The target's first category."""
    trigger: str = field(default="", metadata=INTERNAL)
    """The line that invokes the target, with a placeholder for the payload."""
    has_workflow: bool = False
    root: str = ""
    """The folder that was named with ``--root`` and contains the target."""
    schema: str = ""
    """The version of the payload."""
    trace_id: str = ""
    span_id: str = ""
    parent_span: str = ""
    chain: tuple[str, ...] = ()
    """The skills that the work came through; the source is last."""
    hops: int = 1
    """The number of this handoff of the same work, counted from our own records."""
    continues: str = ""
    """The handoff by which the work came to a skill without a session."""
    facts: Mapping[str, Any] = field(default=Frozen(), metadata=INTERNAL)
    """The facts that were given with the command or its payload."""
    key: str = field(default="", metadata=INTERNAL)
    """Identifies the request, so that the same request gets the same answer."""
    started_at: str = ""
    expires_at: str = ""
    content: Mapping[str, Any] = field(default=Frozen(), metadata=INTERNAL)
    """The payload. Its file can be written again from it."""
    lost: tuple[str, ...] = ()
    """The values for which the payload's version has no field."""
    identity: str = field(default="", metadata=INTERNAL)
    """Identifies the payload, however its document is written."""
    payload: str = ""
    """The payload's file. Of a payload from elsewhere, where it was received from; it is not read again."""
    sha256: str = ""
    """The digest of that file."""
    size: int = 0
    checks: tuple[CheckResult, ...] = ()
    """The checks that ran."""
    failure: HandoffFailure | None = None
    receipt: HandoffReceipt | None = None
    foreign: bool = False
    """Whether another user or machine wrote the payload."""
    cancelled: str = ""
    """The reason for which the sender cancelled it."""

    @property
    def is_open(self) -> bool:
        """Whether it can still change."""
        return self.phase not in ENDED

    @property
    def status(self) -> str:
        """Its state as people read it."""
        if self.phase == INVOCATION and self.receipt is not None:
            return RECEIVED
        return CANCELLED if self.cancelled else _STATUSES.get(self.phase, PREPARED)

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions that sent or received it."""
        return frozenset({self.session, self.receipt.session if self.receipt else ""} - {""})
