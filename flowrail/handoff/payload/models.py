"""The payload versions as pydantic models, and readable messages for their errors.

Each version has its own model. Fields that a version does not define are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from flowrail.handoff.errors import INVALID, MISSING, PayloadProblem
from flowrail.handoff.payload.integrity import MAX_TOKENS
from flowrail.text.validation import in_words

Content = TypeVar("Content", bound=BaseModel)
_MAX_NAME = 200


def _timestamp(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("must be an ISO 8601 time, such as 2026-02-04T19:30:00Z") from None
    return text


def _uuid(text: str) -> str:
    try:
        if str(UUID(text)) == text:
            return text
    except ValueError:
        pass
    raise ValueError("must be a UUID in lower case, such as 0b0e6ac1-7c1f-4a53-9d0c-2f6f0c1d2e3f")


def filled(text: str) -> str:
    """Return *text* unless it is empty or only white space."""
    if not text.strip():
        raise ValueError("is empty")
    return text


Filled = Annotated[str, Field(min_length=1), AfterValidator(filled)]
Timestamp = Annotated[str, AfterValidator(_timestamp), Field(json_schema_extra={"format": "date-time"})]
Uuid = Annotated[str, AfterValidator(_uuid), Field(json_schema_extra={"format": "uuid"})]
Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Chain = Annotated[list[Filled], Field(min_length=1)]
OPTIONAL: Any = Field(default_factory=lambda: None)
"""The default of a field that may be missing. If it is present, it must have its type: `null` is refused."""
EMPTY_LIST: Any = Field(default_factory=list)


def optional(description: str) -> Any:
    """Return the default of a field that may be missing, with its description."""
    return Field(default_factory=lambda: None, description=description)


Texts = Annotated[list[str], EMPTY_LIST]
ProblemType = Literal["decision", "creative", "analytical", "strategic"]
Level = Literal["high", "medium", "low", "none"]


def _allow_unknown(schema: dict[str, Any]) -> None:
    schema.pop("additionalProperties", None)


class PayloadPart(BaseModel):
    """A part of a payload. Fields that the version does not define are errors here; `shape_of` only lists them."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra=_allow_unknown)


class ConvergentInsight(PayloadPart):
    """A theme that several perspectives share."""

    theme: Filled
    confidence_score: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = OPTIONAL
    contributing_archetypes: Texts
    key_evidence: Texts


class DivergentInsight(PayloadPart):
    """An insight that only one perspective has."""

    archetype: Filled
    insight: Filled
    confidence: Annotated[int, Field(ge=1, le=5)] = OPTIONAL


class SearchTerm(PayloadPart):
    """What to search for, and why."""

    term: Filled
    rationale: str = ""


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

    perspectives_completed: Count = OPTIONAL
    convergence_level: Level = OPTIONAL
    user_feedback: str = ""


class HandoffV1(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["1.0"]
    timestamp: Timestamp
    source: SourceV1
    target: TargetV1
    payload: WorkV1
    context: Annotated[ContextV1, Field(default_factory=ContextV1)]


STRICT_SOURCE = "perspective-swarm"
STRICT_WORKFLOW_ID = r"swarm-session-[0-9]{8}-[0-9]{6}-[a-f0-9]{8}"
"""The only source, and the form of its workflow ids, that the published 2.0 schema allows; required with `--strict-v2`."""


class SourceV2(SourceV1):
    """The skill that hands off, and the folder of its session."""

    workflow_id: Filled


class TargetV2(PayloadPart):
    """The skill that takes over, and how it is invoked."""

    skill: Filled
    invocation: str = ""
    category: Filled = OPTIONAL


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

    perspectives_completed: Annotated[int, Field(ge=0, le=5)] = OPTIONAL
    convergence_level: Level = OPTIONAL
    user_feedback: str = ""
    handoff_reason: str = ""
    handoff_chain: Chain = optional("Default: the source alone.")
    payload_hash: Hash = OPTIONAL
    payload_size_bytes: Count = OPTIONAL


class FileReference(PayloadPart):
    """A file to read if needed."""

    path: Filled
    description: str = OPTIONAL
    relevance: Literal["critical", "important", "optional"] = OPTIONAL


class UrlReference(PayloadPart):
    """A page to read if needed."""

    url: Filled
    description: str = OPTIONAL


class ReferenceTier(PayloadPart):
    """Files and pages to read if needed."""

    files: Annotated[list[FileReference], EMPTY_LIST]
    urls: Annotated[list[UrlReference], EMPTY_LIST]


class HandoffV2(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["2.0"]
    timestamp: Timestamp
    expires_at: Timestamp = optional("Default: an hour after the timestamp.")
    source: SourceV2
    target: TargetV2
    context: ContextV2
    insights: Annotated[Insights, Field(default_factory=Insights)]
    research_seeds: Annotated[ResearchSeeds, Field(default_factory=ResearchSeeds)]
    meta: Annotated[MetaV2, Field(default_factory=MetaV2)]
    references: ReferenceTier = optional("Files that the work refers to. Not in the published schema.")


MAX_SUMMARY = 500

ArtifactType = Literal["specification", "analysis", "code", "documentation", "data", "model", "report"]
Summary = Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY), AfterValidator(filled)]


class SourceV3(SourceV2):
    """The skill that hands off, the phase it was in, and the folder of its session."""

    phase: Filled


class TargetV3(PayloadPart):
    """The skill that takes over, and how it is invoked."""

    skill: Filled
    invocation: str = OPTIONAL
    category: str = OPTIONAL
    expected_phase: str = OPTIONAL


class ContextV3(PayloadPart):
    """What the work is about."""

    summary: Summary
    problem_type: Literal[
        "decision", "creative", "analytical", "strategic", "implementation", "research", "verification"
    ]
    original_prompt: str = OPTIONAL
    focus_areas: list[str] = OPTIONAL
    known_gaps: list[str] = OPTIONAL
    success_criteria: list[str] = OPTIONAL


class Artifact(PayloadPart):
    """A file that the session made."""

    name: Filled
    path: Filled
    type: ArtifactType
    description: str = OPTIONAL
    checksum: Hash = OPTIONAL


class SessionTier(PayloadPart):
    """The artifacts and the state of the session."""

    artifacts: Annotated[list[Artifact], EMPTY_LIST]
    state: dict[str, Any] = OPTIONAL


class WorkV3(PayloadPart):
    """The work itself, in tiers: immediate context, the session's files, references."""

    working: dict[str, Any]
    session: SessionTier = OPTIONAL
    references: ReferenceTier = OPTIONAL


class MetaV3(PayloadPart):
    """The size, the source's confidence, the chain so far, and the hash of the content."""

    token_count: Annotated[int, Field(ge=0, le=MAX_TOKENS)]
    confidence: Literal["high", "medium", "low"]
    handoff_chain: Chain = OPTIONAL
    handoff_reason: str = OPTIONAL
    payload_hash: Hash = OPTIONAL
    payload_size_bytes: Count = OPTIONAL
    user_approved: bool = OPTIONAL


class TraceEvent(PayloadPart):
    """An event of the trace."""

    timestamp: Timestamp
    event_type: Literal["created", "validated", "transmitted", "received", "processed", "error"]
    workflow: Filled
    details: dict[str, Any] = OPTIONAL


class Tracing(PayloadPart):
    """The trace across skills."""

    events: Annotated[list[TraceEvent], EMPTY_LIST]
    parent_span_id: str | None = None
    tags: dict[str, str] = OPTIONAL


class HandoffV3(PayloadPart):
    """The content of the key `handoff`."""

    version: Literal["3.0"]
    schema_type: Literal["universal"]
    timestamp: Timestamp
    trace_id: Uuid
    expires_at: Timestamp = optional("Default: never.")
    source: SourceV3
    target: TargetV3
    context: ContextV3
    payload: WorkV3
    meta: MetaV3
    tracing: Tracing = OPTIONAL


class Document(PayloadPart, Generic[Content]):
    """The whole file."""

    handoff: Content


MODELS: Mapping[str, type[BaseModel]] = {
    "1.0": Document[HandoffV1],
    "2.0": Document[HandoffV2],
    "3.0": Document[HandoffV3],
}


def json_schema(version: str) -> dict[str, Any]:
    """Return the JSON Schema of a version."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[version].model_json_schema(),
        "title": f"Handoff payload {version}",
    }


def shape_of(version: str, handoff: Mapping[str, object]) -> tuple[list[PayloadProblem], tuple[str, ...]]:
    """Return where *handoff* does not have the shape of its version, and the fields that this does not define."""
    try:
        MODELS[version].model_validate({"handoff": handoff})
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    else:
        return [], ()
    problems, unknown = [], []
    for detail in details:
        field = ".".join(str(part)[:_MAX_NAME] for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            unknown.append(field)
            continue
        message = in_words(detail)
        if field == "handoff.version" and not isinstance(handoff.get("version"), str):
            message = f'is a number; write it as text, "{version}"'
        lacks_value = message in {"is missing", "is empty"}
        problems.append(PayloadProblem(field, message, MISSING if lacks_value else INVALID))
    return list(dict.fromkeys(problems)), tuple(unknown)
