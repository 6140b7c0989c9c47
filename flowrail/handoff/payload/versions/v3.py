"""Payload 3.0, universal: context in tiers, artifacts with checksums, a trace across skills.

Closed against unknown keys at the top two levels, open below.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from flowrail.handoff.payload.versions.fields import (
    NONE,
    Closed,
    Count,
    Filled,
    Hash,
    Moment,
    Open,
    Uuid,
    filled,
)

VERSION = "3.0"
MOST_TOKENS = 2000
LONGEST_SUMMARY = 500
PROBLEM_TYPES = (
    "decision",
    "creative",
    "analytical",
    "strategic",
    "implementation",
    "research",
    "verification",
)


Summary = Annotated[str, Field(min_length=1, max_length=LONGEST_SUMMARY), AfterValidator(filled)]


class _Deep(Open):
    model_config = ConfigDict(strict=True, extra="allow")


class Source(Closed):
    """Who hands over, from which of its phases, and where its session lies."""

    skill: Filled
    workflow_id: Filled
    session_path: Filled
    phase: Filled


class Target(Closed):
    """Who is to take over, and how it is started."""

    skill: Filled
    invocation: str | None = None
    category: str | None = None
    expected_phase: str | None = None


class Context(Closed):
    """What the work is about."""

    summary: Summary
    problem_type: Literal[
        "decision", "creative", "analytical", "strategic", "implementation", "research", "verification"
    ]
    original_prompt: str | None = None
    focus_areas: list[str] | None = None
    known_gaps: list[str] | None = None
    success_criteria: list[str] | None = None


class Artifact(_Deep):
    """A file that the session made."""

    name: Filled
    path: Filled
    type: Literal["specification", "analysis", "code", "documentation", "data", "model", "report"]
    description: str | None = None
    checksum: str | None = None


class SessionTier(_Deep):
    """What the session made, and where it stood."""

    artifacts: Annotated[list[Artifact], NONE]
    state: dict[str, Any] | None = None


class FileReference(_Deep):
    """A file worth knowing of."""

    path: Filled
    description: str | None = None
    relevance: Literal["critical", "important", "optional"]


class UrlReference(_Deep):
    """A page worth knowing of."""

    url: Filled
    description: str | None = None


class ReferenceTier(_Deep):
    """Where to look further."""

    files: Annotated[list[FileReference], NONE]
    urls: Annotated[list[UrlReference], NONE]


class Payload(Closed):
    """The work itself, in tiers: at hand, made by the session, to be looked up."""

    working: dict[str, Any]
    session: SessionTier | None = None
    references: ReferenceTier | None = None


class Meta(Closed):
    """How much it is, how sure, how it came here, and what it has to be to be whole."""

    token_count: Annotated[int, Field(ge=0, le=MOST_TOKENS)]
    confidence: Literal["high", "medium", "low"]
    handoff_chain: list[Filled] | None = None
    handoff_reason: str | None = None
    payload_hash: Hash | None = None
    payload_size_bytes: Count | None = None
    user_approved: bool | None = None


class Event(_Deep):
    """Something that happened on the way."""

    timestamp: Moment
    event_type: Literal["created", "validated", "transmitted", "received", "processed", "error"]
    workflow: Filled
    details: str | dict[str, Any] | None = None


class Tracing(Closed):
    """The trace across skills."""

    events: Annotated[list[Event], NONE]
    parent_span_id: str | None = None
    tags: list[str] | dict[str, str] | None = None


class Handoff(Closed):
    """All of it, under the key `handoff`."""

    version: Literal["3.0"]
    schema_type: Literal["universal"]
    timestamp: Moment
    trace_id: Uuid
    expires_at: Moment | None = Field(None, description="Default: never.")
    source: Source
    target: Target
    context: Context
    payload: Payload
    meta: Meta
    tracing: Tracing | None = None


class Document(Closed):
    """The whole file."""

    handoff: Handoff
