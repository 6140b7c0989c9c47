"""Convert a payload from one version to another, and list the fields that are added and lost.

    1.0 → 2.0 → 3.0      3.0 → 2.0      1.2 → 3.0 (lossy)

3.0 cannot be converted to 1.2 or 1.0. A table for each conversion maps every field; fields that are not in the table
are lost. Added values are derived from the document, so that the same document always gives the same result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from flowrail.discovery.compatibility import compatibility
from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.payload import models
from flowrail.handoff.payload.document import get, put, text_at, texts_at
from flowrail.handoff.payload.integrity import canonical, expiry, sealed, stamp, token_count, written_time
from flowrail.handoff.payload.validate import shape_problems
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import moment

PHASE = "synthesis"
"""The source phase of a converted 2.0 payload, which has none."""

NARROWED_PROBLEM_TYPES = {
    "implementation": "strategic",
    "research": "analytical",
    "verification": "analytical",
}
"""Problem types that 2.0 does not have, with those that replace them."""

_CONFIDENCE = {"high": "high", "medium": "medium", "low": "low", "none": "low"}

_1_TO_2 = {
    **{field: field for field in ("source.skill", "source.session_path", "target.skill")},
    "payload.original_prompt": "context.original_prompt",
    "payload.reframed_challenge": "context.reframed_challenge",
    "payload.problem_type": "context.problem_type",
    "payload.synthesis_summary": "context.synthesis_summary",
    "payload.convergent_insights": "insights.convergent",
    "payload.divergent_insights": "insights.divergent",
    "payload.key_uncertainties": "insights.uncertainties",
    "payload.blind_spots_identified": "insights.blind_spots",
    "payload.suggested_search_terms": "research_seeds.suggested_terms",
    "context.perspectives_completed": "meta.perspectives_completed",
    "context.convergence_level": "meta.convergence_level",
    "context.user_feedback": "meta.user_feedback",
}
_IN_BOTH_2_AND_3 = {
    field: field
    for field in (
        "source.skill",
        "source.session_path",
        "target.skill",
        "target.invocation",
        "target.category",
        "context.original_prompt",
        "context.problem_type",
        "meta.handoff_chain",
        "meta.handoff_reason",
    )
}
_IN_WORKING_TIER = {
    "context.reframed_challenge": "payload.working.reframed_challenge",
    "context.synthesis_summary": "payload.working.synthesis_summary",
    "insights": "payload.working.insights",
    "research_seeds": "payload.working.research_seeds",
    "meta.perspectives_completed": "payload.working.perspectives_completed",
    "meta.convergence_level": "payload.working.convergence_level",
    "meta.user_feedback": "payload.working.user_feedback",
}
"""Fields of 2.0 that 3.0 stores in its working tier."""
_2_TO_3 = {**_IN_BOTH_2_AND_3, **_IN_WORKING_TIER, "references": "payload.references"}
_3_TO_2 = {**_IN_BOTH_2_AND_3, "payload.references": "references"}
_1_2_TO_3 = {
    "producer": "source.skill",
    "session.session_dir": "source.session_path",
    "consumer": "target.skill",
    "context.focus_areas": "context.focus_areas",
    "context.known_gaps": "context.known_gaps",
    "context.description": "context.original_prompt",
    "quality": "payload.working.quality",
    "context.task_id": "payload.working.task_id",
}
_DERIVED = frozenset(
    {
        "version",
        "schema_type",
        "timestamp",
        "expires_at",
        "source.workflow_id",
        "meta.payload_hash",
        "meta.payload_size_bytes",
    }
)
"""Fields that every conversion writes, so they are not lost."""


class ConvertedPayload(NamedTuple):
    """A payload in a different version, the fields that were added and lost, and the versions on the way."""

    version: str
    handoff: Mapping[str, Any]
    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


class ConversionStep(NamedTuple):
    """The result of one conversion, before its hash is added."""

    handoff: dict[str, Any]
    added: list[str]
    lost: list[str]


def path(source: str, target: str) -> tuple[str, ...]:
    """Return the versions that a conversion passes through, both ends included; empty if it is impossible."""
    paths: list[tuple[str, ...]] = [(source,)]
    for versions in paths:  # grows below
        if versions[-1] == target:
            return versions
        paths += [(*versions, to) for start, to in _STEPS if start == versions[-1] and to not in versions]
    return ()


def convert(version: str, handoff: Mapping[str, object], target: str) -> ConvertedPayload:
    """Return *handoff*, a payload of *version*, as a payload of version *target*."""
    versions = path(version, target)
    if not versions:
        reason = compatibility(version, target).reason
        raise ValidationFailedError(
            f"a payload of version {version} cannot be converted to {target}: {reason}",
            hint="use a version that both skills support",
            validation_errors=[f"no conversion from {version} to {target}"],
        )
    result = ConvertedPayload(version, handoff, versions=versions)
    for pair in pairwise(versions):
        step = _STEPS[pair](result.handoff)
        result = ConvertedPayload(
            pair[1],
            sealed(pair[1], step.handoff),
            (*result.added, *step.added),
            (*result.lost, *step.lost),
            versions,
        )
    return result


def with_token_count(handoff: Mapping[str, object]) -> dict[str, object]:
    """Return a 3.0 payload with its token count."""
    return put(handoff, "meta.token_count", token_count(handoff))


def narrowed(problem_type: str) -> str:
    """Return the problem type as 2.0 has it."""
    return NARROWED_PROBLEM_TYPES.get(problem_type, problem_type)


def narrowed_loss(problem_type: str) -> list[str]:
    """Return the loss if 2.0 stores a problem type."""
    new = narrowed(problem_type)
    return [] if new == problem_type else [f"context.problem_type: {problem_type} becomes {new}"]


def published_workflow_id(skill: str, workflow_id: str, timestamp: str) -> str:
    """Return a workflow id that the published 2.0 schema accepts for its one source; others stay as they are."""
    time = moment(timestamp)
    if skill != models.STRICT_SOURCE or time is None or re.fullmatch(models.STRICT_WORKFLOW_ID, workflow_id):
        return workflow_id
    return f"swarm-session-{time:%Y%m%d-%H%M%S}-{sha256_hex(workflow_id.encode())[:8]}"


def from_1_to_2(old: Mapping[str, Any]) -> ConversionStep:
    """Return 1.0 as 2.0: the same work in other fields."""
    new = _moved(old, _1_TO_2, {"version": "2.0", **_times(old)})
    new = put(new, "source.workflow_id", _published_id(old))
    new = put(new, "meta.handoff_chain", [old["source"]["skill"]])
    added = ["meta.handoff_chain: the source alone", "expires_at: an hour after the timestamp"]
    if not text_at(old, "source.workflow_id"):
        added.append("source.workflow_id: from the session's folder")
    return ConversionStep(new, added, list(_lost_fields(old, _1_TO_2)))


def from_2_to_3(old: Mapping[str, Any]) -> ConversionStep:
    """Return 2.0 as 3.0: insights and seeds move to the working tier, no defined field is lost."""
    level = text_at(old, "meta.convergence_level")
    summary, was_cut = _summary(old)
    new = _moved(old, _2_TO_3, _start_of_3(old, PHASE))
    new = put(new, "source.workflow_id", _workflow_id(old))
    new = put(new, "context.summary", summary)
    new = put(new, "payload.working", get(new, "payload.working") or {})
    new = put(new, "meta.confidence", _CONFIDENCE.get(level, "medium"))
    new = put(new, "meta.handoff_chain", _chain(old))
    if gaps := texts_at(old, "insights.uncertainties"):
        new = put(new, "context.known_gaps", gaps)
    added = [f"trace_id: from the content, source.phase: {PHASE}", "meta.token_count: counted"]
    if not old.get("expires_at"):
        added.append("expires_at: an hour after the timestamp, as in 2.0")
    added.append("meta.confidence: " + (f"from the convergence, {level}" if level else "medium"))
    added.append(f"context.summary: {'cut to' if was_cut else 'at most'} {models.MAX_SUMMARY} characters")
    return ConversionStep(with_token_count(new), added, list(_lost_fields(old, _2_TO_3)))


def from_3_to_2(old: Mapping[str, Any]) -> ConversionStep:
    """Return 3.0 as 2.0: the trace, the session's state and working content without a field are lost."""
    problem_type, summary = text_at(old, "context.problem_type"), text_at(old, "context.summary")
    has_prompt = bool(text_at(old, "context.original_prompt").strip())
    if not text_at(old, "target.category").strip():
        old = put(old, "target.category", None)  # 2.0 refuses an empty one
    in_working = {
        source: target for target, source in _IN_WORKING_TIER.items() if get(old, source) is not None
    }
    fitting = {source: target for source, target in in_working.items() if _fits_2(target, get(old, source))}
    new = _moved(old, {**_3_TO_2, **fitting}, {"version": "2.0", **_times(old)})
    new = put(new, "source.workflow_id", _published_id(old))
    new = put(new, "context.problem_type", narrowed(problem_type))
    new = put(new, "meta.handoff_chain", _chain(old))
    if not has_prompt:
        new = put(new, "context.original_prompt", summary)
    if get(new, "context.synthesis_summary") is None:
        new = put(new, "context.synthesis_summary", summary)
    gaps = texts_at(old, "context.known_gaps")
    if gaps and not texts_at(new, "insights.uncertainties"):
        new = put(new, "insights.uncertainties", gaps)
    artifacts = get(old, "payload.session.artifacts") or ()
    if files := [*map(as_reference, artifacts), *(get(old, "payload.references.files") or ())]:
        new = put(new, "references.files", files)
    added = [] if has_prompt else ["context.original_prompt: the summary"]
    if not old.get("expires_at"):
        added.append("expires_at: an hour after the timestamp; 3.0 had none")
    moved = {*_3_TO_2, *in_working, "context.summary", "context.known_gaps", "payload.session.artifacts"}
    lost = [
        *_lost_fields(old, moved),
        *(source for source in in_working if source not in fitting),
        *narrowed_loss(problem_type),
    ]
    if artifacts:
        lost.append("payload.session.artifacts: now references, without type and checksum")
    if gaps and texts_at(new, "insights.uncertainties") != gaps:
        lost.append("context.known_gaps: replaced by insights.uncertainties")
    return ConversionStep(new, added, lost)


def from_1_2_to_3(old: Mapping[str, Any]) -> ConversionStep:
    """Return 1.2 as 3.0, tagged as lossy: what both versions have in common."""
    folder, deliverable = text_at(old, "session.session_dir"), old["deliverable"]
    confidence = str(get(old, "quality.confidence") or "").lower()
    kind, checksum = deliverable.get("type"), text_at(deliverable, "checksum")
    has_checksum = re.fullmatch(r"sha256:[0-9a-f]{64}", checksum) is not None
    artifact = {
        "name": os.path.basename(str(deliverable["location"]).rstrip("/")) or "deliverable",
        "path": deliverable["location"],
        "type": kind if kind in models.ARTIFACT_TYPES else "report",
        **({"checksum": checksum} if has_checksum else {}),
    }
    new = _moved(old, _1_2_TO_3, _start_of_3(old, "delivery"))
    for field, value in (
        ("source.workflow_id", text_at(old, "context.task_id") or _folder_name(folder)),
        ("context.summary", text_at(old, "context.description").strip()[: models.MAX_SUMMARY]),
        ("context.problem_type", "implementation"),
        ("payload.working", get(new, "payload.working") or {}),
        ("payload.session.artifacts", [artifact]),
        ("meta.confidence", confidence if confidence in {"high", "medium", "low"} else "medium"),
        ("meta.handoff_chain", [old["producer"]]),
        ("tracing.tags", {"conversion": "lossy", "converted_from": "1.2"}),
    ):
        new = put(new, field, value)
    added = [
        "trace_id: from the content, source.phase: delivery",
        "context.problem_type: implementation",
        "meta.handoff_chain: the producer alone",
    ]
    moved = {*_1_2_TO_3, *(f"deliverable.{name}" for name in models.DeliverableV12.model_fields)}
    lost = [
        "every field that 3.0 does not have, hence the tag `conversion: lossy`",
        *_lost_fields(old, moved),
    ]
    if kind and kind not in models.ARTIFACT_TYPES:
        lost.append(f"deliverable.type: {kind} becomes {artifact['type']}")
    if checksum and not has_checksum:
        lost.append("deliverable.checksum: not a SHA-256 hash")
    return ConversionStep(with_token_count(new), added, lost)


_STEPS: Mapping[tuple[str, str], Callable[[Mapping[str, object]], ConversionStep]] = {
    ("1.0", "2.0"): from_1_to_2,
    ("2.0", "3.0"): from_2_to_3,
    ("3.0", "2.0"): from_3_to_2,
    ("1.2", "3.0"): from_1_2_to_3,
}


def _moved(old: Mapping[str, Any], fields: Mapping[str, str], new: dict[str, Any]) -> dict[str, Any]:
    """Return *new* with the values of *old* in their new fields."""
    for source, target in fields.items():
        if (value := get(old, source)) is not None:
            new = put(new, target, value)
    return new


def _lost_fields(part: Mapping[str, object], moved: Collection[str], prefix: str = "") -> Iterator[str]:
    """Yield the fields that are not empty and that the new version cannot store."""
    known = _DERIVED.union(moved)
    for name, value in part.items():
        field = f"{prefix}{name}"
        if field in known or value in (None, "", [], {}):
            continue
        if isinstance(value, Mapping) and any(known_field.startswith(f"{field}.") for known_field in known):
            yield from _lost_fields(value, known, f"{field}.")
        else:
            yield field


def _times(old: Mapping[str, Any]) -> dict[str, str]:
    """Return the times of a payload. Without `expires_at`, it expires an hour after its timestamp."""
    expires = expiry("2.0", old)
    written = written_time(old["expires_at"]) if old.get("expires_at") else stamp(expires) if expires else ""
    return {"timestamp": written_time(old["timestamp"]), **({"expires_at": written} if written else {})}


def _start_of_3(old: Mapping[str, Any], phase: str) -> dict[str, Any]:
    return {
        "version": "3.0",
        "schema_type": "universal",
        **_times(old),
        "trace_id": str(uuid5(NAMESPACE_URL, canonical(old).decode("utf-8", "replace"))),
        "source": {"phase": phase},
    }


def _chain(old: Mapping[str, Any]) -> list[str]:
    return texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]]


def as_reference(artifact: Mapping[str, Any]) -> dict[str, object]:
    """Return an artifact as a reference, for versions that have no artifacts."""
    return {"path": artifact["path"], "description": artifact.get("description") or artifact["name"]}


def _published_id(old: Mapping[str, Any]) -> str:
    return published_workflow_id(old["source"]["skill"], _workflow_id(old), old["timestamp"])


def _summary(old: Mapping[str, object]) -> tuple[str, bool]:
    """Return the first text that describes the work, and whether it had to be cut."""
    fields = ("context.synthesis_summary", "context.reframed_challenge", "context.original_prompt")
    text = next((text for field in fields if (text := text_at(old, field).strip())), "")
    return text[: models.MAX_SUMMARY].strip(), len(text) > models.MAX_SUMMARY


def _workflow_id(old: Mapping[str, object]) -> str:
    return text_at(old, "source.workflow_id") or _folder_name(text_at(old, "source.session_path"))


def _folder_name(path: str) -> str:
    return os.path.basename(path.rstrip("/")) or "unknown"


def _fits_2(field: str, value: object) -> bool:
    """Whether 2.0 accepts *value* at *field*."""
    invalid_fields = {problem.field for problem in shape_problems("2.0", put({}, field, value))}
    return not any(
        invalid == "handoff" or invalid.startswith(f"handoff.{field}") for invalid in invalid_fields
    )
