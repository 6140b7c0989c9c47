"""Payload 2.0: from any skill to any other, with insights and what to search for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flowrail.handoff.payload.versions.fields import (
    NONE,
    Count,
    Filled,
    Hash,
    Level,
    Moment,
    Open,
    ProblemType,
    Texts,
)
from flowrail.handoff.payload.versions.v1 import Convergent, Divergent, Term

VERSION = "2.0"
STRICT_SOURCE = "perspective-swarm"
"""The one source that the schema names; asked for only where it is meant to the letter."""


class Source(Open):
    """Who hands over, and where its session lies."""

    skill: Filled
    workflow_id: str = ""
    session_path: Filled


class Target(Open):
    """Who is to take over, and how it is started."""

    skill: Filled
    invocation: str = ""
    category: str = ""
    path: str = Field("", description="The SKILL.md that was chosen.")


class Context(Open):
    """What the work is about."""

    original_prompt: Filled
    reframed_challenge: str = ""
    problem_type: ProblemType
    synthesis_summary: str = ""


class Insights(Open):
    """What was found."""

    convergent: Annotated[list[Convergent], NONE]
    divergent: Annotated[list[Divergent], NONE]
    uncertainties: Texts
    blind_spots: Texts


class Seeds(Open):
    """What to look for next."""

    suggested_terms: Annotated[list[Term], NONE]
    open_questions: Texts


class Meta(Open):
    """How it came here, and what it has to be to be whole."""

    perspectives_completed: Count | None = None
    convergence_level: Level | None = None
    user_feedback: str = ""
    handoff_reason: str = ""
    handoff_chain: list[Filled] | None = Field(None, description="Default: the source alone.")
    payload_hash: Hash | None = None
    payload_size_bytes: Count | None = None


class Handoff(Open):
    """All of it, under the key `handoff`."""

    version: Literal["2.0"]
    timestamp: Moment
    expires_at: Moment | None = Field(None, description="Default: an hour after the timestamp.")
    source: Source
    target: Target
    context: Context
    insights: Annotated[Insights, Field(default_factory=Insights)]
    research_seeds: Annotated[Seeds, Field(default_factory=Seeds)]
    meta: Annotated[Meta, Field(default_factory=Meta)]


class Document(Open):
    """The whole file."""

    handoff: Handoff
