"""Payload 2.0: from any skill to any other, with insights and search terms."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flowrail.handoff.payload.versions.fields import (
    EMPTY_LIST,
    Chain,
    ConvergentInsight,
    Count,
    DivergentInsight,
    Filled,
    Hash,
    Level,
    PayloadPart,
    ProblemType,
    SearchTerm,
    Texts,
    Timestamp,
)

STRICT_SOURCE = "perspective-swarm"
"""The only source that the published schema allows; required with `--strict-v2`."""


class SourceV2(PayloadPart):
    """The skill that hands off, and the folder of its session."""

    skill: Filled
    workflow_id: Filled
    session_path: Filled


class TargetV2(PayloadPart):
    """The skill that takes over, and how it is invoked."""

    skill: Filled
    invocation: str = ""
    category: Filled | None = None
    path: str = Field("", description="The SKILL.md that was chosen.")


class ContextV2(PayloadPart):
    """What the work is about."""

    original_prompt: Filled
    reframed_challenge: str = ""
    problem_type: ProblemType
    synthesis_summary: str = ""


class Insights(PayloadPart):
    """What was found."""

    convergent: Annotated[list[ConvergentInsight], EMPTY_LIST]
    divergent: Annotated[list[DivergentInsight], EMPTY_LIST]
    uncertainties: Texts
    blind_spots: Texts


class ResearchSeeds(PayloadPart):
    """What to look for next."""

    suggested_terms: Annotated[list[SearchTerm], EMPTY_LIST]
    open_questions: Texts


class MetaV2(PayloadPart):
    """The chain so far, and the hash of the content."""

    perspectives_completed: Annotated[int, Field(ge=0, le=5)] | None = None
    convergence_level: Level | None = None
    user_feedback: str = ""
    handoff_reason: str = ""
    handoff_chain: Chain | None = Field(None, description="Default: the source alone.")
    payload_hash: Hash | None = None
    payload_size_bytes: Count | None = None


class HandoffV2(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["2.0"]
    timestamp: Timestamp
    expires_at: Timestamp | None = Field(None, description="Default: an hour after the timestamp.")
    source: SourceV2
    target: TargetV2
    context: ContextV2
    insights: Annotated[Insights, Field(default_factory=Insights)]
    research_seeds: Annotated[ResearchSeeds, Field(default_factory=ResearchSeeds)]
    meta: Annotated[MetaV2, Field(default_factory=MetaV2)]


class DocumentV2(PayloadPart):
    """The whole file."""

    handoff: HandoffV2
