"""Payload 1.0: from one skill to `lit-pm`, and to nobody else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flowrail.handoff.payload.versions.fields import (
    NONE,
    Count,
    Filled,
    Level,
    Moment,
    Number,
    Open,
    ProblemType,
    Texts,
)

VERSION = "1.0"


class Source(Open):
    """Who hands over, and where its session lies."""

    skill: Filled
    workflow_id: str = ""
    session_path: Filled


class Target(Open):
    """Who is to take over."""

    skill: Literal["lit-pm"]


class Convergent(Open):
    """What several perspectives share."""

    theme: Filled
    confidence_score: Number | None = None
    contributing_archetypes: Texts
    key_evidence: Texts


class Divergent(Open):
    """What one perspective alone holds."""

    archetype: Filled
    insight: Filled
    confidence: int | None = None


class Term(Open):
    """What to search for, and why."""

    term: Filled
    rationale: str = ""


class Payload(Open):
    """The work itself."""

    original_prompt: Filled
    reframed_challenge: str = ""
    problem_type: ProblemType
    synthesis_summary: str = ""
    convergent_insights: Annotated[list[Convergent], NONE]
    divergent_insights: Annotated[list[Divergent], NONE]
    key_uncertainties: Texts
    suggested_search_terms: Annotated[list[Term], NONE]
    blind_spots_identified: Texts


class Context(Open):
    """How the work was done."""

    perspectives_completed: Count | None = None
    convergence_level: Level | None = None
    user_feedback: str = ""


class Handoff(Open):
    """All of it, under the key `handoff`."""

    version: Literal["1.0"]
    timestamp: Moment
    source: Source
    target: Target
    payload: Payload
    context: Annotated[Context, Field(default_factory=Context)]


class Document(Open):
    """The whole file."""

    handoff: Handoff
