"""Payload 1.0: from any skill to `lit-pm`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flowrail.handoff.payload.versions.fields import (
    EMPTY_LIST,
    ConvergentInsight,
    Count,
    DivergentInsight,
    Filled,
    Level,
    PayloadPart,
    ProblemType,
    SearchTerm,
    Texts,
    Timestamp,
)


class SourceV1(PayloadPart):
    """The skill that hands off, and the folder of its session."""

    skill: Filled
    workflow_id: str = ""
    session_path: Filled


class TargetV1(PayloadPart):
    """The skill that takes over."""

    skill: Literal["lit-pm"]


class WorkV1(PayloadPart):
    """The work itself."""

    original_prompt: Filled
    reframed_challenge: str = ""
    problem_type: ProblemType
    synthesis_summary: str = ""
    convergent_insights: Annotated[list[ConvergentInsight], EMPTY_LIST]
    divergent_insights: Annotated[list[DivergentInsight], EMPTY_LIST]
    key_uncertainties: Texts
    suggested_search_terms: Annotated[list[SearchTerm], EMPTY_LIST]
    blind_spots_identified: Texts


class ContextV1(PayloadPart):
    """How the work was done."""

    perspectives_completed: Count | None = None
    convergence_level: Level | None = None
    user_feedback: str = ""


class HandoffV1(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["1.0"]
    timestamp: Timestamp
    source: SourceV1
    target: TargetV1
    payload: WorkV1
    context: Annotated[ContextV1, Field(default_factory=ContextV1)]


class DocumentV1(PayloadPart):
    """The whole file."""

    handoff: HandoffV1
