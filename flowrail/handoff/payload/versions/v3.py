"""Payload 3.0, universal: content in tiers, artifacts with checksums, a trace across skills."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from flowrail.handoff.payload.versions.fields import (
    EMPTY_LIST,
    Chain,
    Count,
    Filled,
    Hash,
    PayloadPart,
    Timestamp,
    Uuid,
    filled,
)

MAX_TOKENS = 2000
MAX_SUMMARY = 500

ArtifactType = Literal["specification", "analysis", "code", "documentation", "data", "model", "report"]
ARTIFACT_TYPES: frozenset[str] = frozenset(get_args(ArtifactType))
Summary = Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY), AfterValidator(filled)]


class SourceV3(PayloadPart):
    """The skill that hands off, the phase it was in, and the folder of its session."""

    skill: Filled
    workflow_id: Filled
    session_path: Filled
    phase: Filled


class TargetV3(PayloadPart):
    """The skill that takes over, and how it is invoked."""

    skill: Filled
    invocation: str | None = None
    category: str | None = None
    expected_phase: str | None = None


class ContextV3(PayloadPart):
    """What the work is about."""

    summary: Summary
    problem_type: Literal[
        "decision", "creative", "analytical", "strategic", "implementation", "research", "verification"
    ]
    original_prompt: str | None = None
    focus_areas: list[str] | None = None
    known_gaps: list[str] | None = None
    success_criteria: list[str] | None = None


class Artifact(PayloadPart):
    """A file that the session made."""

    name: Filled
    path: Filled
    type: ArtifactType
    description: str | None = None
    checksum: Hash | None = None


class SessionTier(PayloadPart):
    """The artifacts and the state of the session."""

    artifacts: Annotated[list[Artifact], EMPTY_LIST]
    state: dict[str, Any] | None = None


class FileReference(PayloadPart):
    """A file to read if needed."""

    path: Filled
    description: str | None = None
    relevance: Literal["critical", "important", "optional"] | None = None


class UrlReference(PayloadPart):
    """A page to read if needed."""

    url: Filled
    description: str | None = None


class ReferenceTier(PayloadPart):
    """Files and pages to read if needed."""

    files: Annotated[list[FileReference], EMPTY_LIST]
    urls: Annotated[list[UrlReference], EMPTY_LIST]


class WorkV3(PayloadPart):
    """The work itself, in tiers: immediate context, the session's files, references."""

    working: dict[str, Any]
    session: SessionTier | None = None
    references: ReferenceTier | None = None


class MetaV3(PayloadPart):
    """The size, the source's confidence, the chain so far, and the hash of the content."""

    token_count: Annotated[int, Field(ge=0, le=MAX_TOKENS)]
    confidence: Literal["high", "medium", "low"]
    handoff_chain: Chain | None = None
    handoff_reason: str | None = None
    payload_hash: Hash | None = None
    payload_size_bytes: Count | None = None
    user_approved: bool | None = None


class TraceEvent(PayloadPart):
    """An event of the trace."""

    timestamp: Timestamp
    event_type: Literal["created", "validated", "transmitted", "received", "processed", "error"]
    workflow: Filled
    details: dict[str, Any] | None = None


class Tracing(PayloadPart):
    """The trace across skills."""

    events: Annotated[list[TraceEvent], EMPTY_LIST]
    parent_span_id: str | None = None
    tags: dict[str, str] | None = None


class HandoffV3(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["3.0"]
    schema_type: Literal["universal"]
    timestamp: Timestamp
    trace_id: Uuid
    expires_at: Timestamp | None = Field(None, description="Default: never.")
    source: SourceV3
    target: TargetV3
    context: ContextV3
    payload: WorkV3
    meta: MetaV3
    tracing: Tracing | None = None


class DocumentV3(PayloadPart):
    """The whole file."""

    handoff: HandoffV3
