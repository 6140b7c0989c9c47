"""Convert a payload to another version, and list the fields that are added and lost.

    1.0 → 2.0 ⇄ 3.0

A table for each conversion says where a field goes. A field that is not in the table is lost. Added values are derived
from the document, so that the same document gives the same result; only a new expiry counts from the conversion.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from flowrail.discovery.compatibility import compatibility
from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.payload import models
from flowrail.handoff.payload.document import get, put, text_at, texts_at
from flowrail.handoff.payload.integrity import (
    LIFETIME,
    expiry,
    identity,
    sealed,
    stamp,
    token_count,
    written_time,
)
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

_1_TO_2 = {
    "source.skill": "source.skill",
    "source.session_path": "source.session_path",
    "target.skill": "target.skill",
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
_SAME_IN_2_AND_3 = (
    "source.skill", "source.session_path", "target.skill", "target.invocation", "target.category",
    "context.original_prompt", "context.problem_type", "meta.handoff_chain", "meta.handoff_reason",
)  # fmt: skip
_WORKING = {
    "context.reframed_challenge": "payload.working.reframed_challenge",
    "context.synthesis_summary": "payload.working.synthesis_summary",
    "insights": "payload.working.insights",
    "research_seeds": "payload.working.research_seeds",
    "meta.perspectives_completed": "payload.working.perspectives_completed",
    "meta.convergence_level": "payload.working.convergence_level",
    "meta.user_feedback": "payload.working.user_feedback",
}
"""Fields of 2.0 that 3.0 has in its working tier."""
_2_TO_3 = {**{f: f for f in _SAME_IN_2_AND_3}, **_WORKING, "references": "payload.references"}
_3_TO_2 = {in_3: in_2 for in_2, in_3 in _2_TO_3.items()}
_DERIVED = frozenset(
    {
        "version", "schema_type", "timestamp", "expires_at", "source.workflow_id", "meta.payload_hash",
        "meta.payload_size_bytes",
    }
)  # fmt: skip
"""Fields that every conversion writes, so they are not lost."""


@dataclass(frozen=True)
class ConvertedPayload:
    """A payload in another version."""

    version: str
    """The new version."""

    handoff: Mapping[str, Any]
    """The content of the new document."""

    added: tuple[str, ...] = ()
    """The fields that the conversion added, each with the origin of its value."""

    lost: tuple[str, ...] = ()
    """The fields for which the new version has no place."""


def convert(version: str, handoff: Mapping[str, object], target: str, *, now: datetime) -> ConvertedPayload:
    """Return *handoff*, a payload of *version*, as one of version *target*; a new expiry counts from *now*."""
    if version == target:
        return ConvertedPayload(version, handoff)
    if (version, target) == ("1.0", "3.0"):
        second = convert(version, handoff, "2.0", now=now)
        third = convert("2.0", second.handoff, target, now=now)
        return replace(third, added=(*second.added, *third.added), lost=(*second.lost, *third.lost))
    if (version, target) not in _CONVERSIONS:
        raise ValidationFailedError(
            f"a payload of version {version} cannot be converted to {target}: "
            f"{compatibility(version, target).reason}",
            hint="use a version that both skills support",
            validation_errors=[f"no conversion from {version} to {target}"],
        )
    new, added, lost = _CONVERSIONS[version, target](handoff)
    expires_at, renewed = _new_expiry(version, handoff, target, now)
    if expires_at:
        new["expires_at"] = expires_at
    return ConvertedPayload(target, sealed(target, new), (*added, *renewed), tuple(lost))


def content(version: str, handoff: Mapping[str, object]) -> Mapping[str, Any]:
    """Return a payload of any version in the form of 3.0, to read its fields."""
    return convert(version, handoff, "3.0", now=datetime.min.replace(tzinfo=UTC)).handoff


def as_3(old: Mapping[str, object]) -> dict[str, Any]:
    """Return 2.0 content in the form of 3.0, without its hash."""
    return _2_to_3(old)[0]


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


def as_reference(artifact: Mapping[str, Any]) -> dict[str, object]:
    """Return an artifact as a reference, for versions that have no artifacts."""
    return {"path": artifact["path"], "description": artifact.get("description") or artifact["name"]}


def with_token_count(handoff: Mapping[str, object]) -> dict[str, object]:
    """Return a 3.0 payload with its token count."""
    return put(handoff, "meta.token_count", token_count(handoff))


_Conversion = tuple[dict[str, Any], list[str], list[str]]


def _1_to_2(old: Mapping[str, Any]) -> _Conversion:
    new = _moved(old, _1_TO_2, {"version": "2.0", "timestamp": written_time(old["timestamp"])})
    new = put(new, "source.workflow_id", _published_id(old))
    new = put(new, "meta.handoff_chain", _chain(old))
    added = ["meta.handoff_chain: the source alone"]
    if not text_at(old, "source.workflow_id"):
        added.append("source.workflow_id: from the session's folder")
    return new, added, list(_lost_fields(old, _1_TO_2))


def _2_to_3(old: Mapping[str, Any]) -> _Conversion:
    summary, was_cut = _summary(old)
    level = text_at(old, "meta.convergence_level")
    new = _moved(
        old,
        _2_TO_3,
        {"version": "3.0", "schema_type": "universal", "timestamp": written_time(old["timestamp"])},
    )
    for field, value in (
        ("trace_id", str(uuid5(NAMESPACE_URL, identity("2.0", old)))),
        ("source.phase", PHASE),
        ("source.workflow_id", _workflow_id(old)),
        ("context.summary", summary),
        ("context.known_gaps", texts_at(old, "insights.uncertainties") or None),
        ("payload.working", get(new, "payload.working") or {}),
        ("meta.confidence", "low" if level == "none" else level or "medium"),
        ("meta.handoff_chain", _chain(old)),
    ):
        new = new if value is None else put(new, field, value)
    added = [
        f"trace_id: from the content, source.phase: {PHASE}",
        "meta.token_count: counted",
        "meta.confidence: " + (f"from the convergence, {level}" if level else "medium"),
        f"context.summary: {'cut to' if was_cut else 'at most'} {models.MAX_SUMMARY} characters",
    ]
    return with_token_count(new), added, list(_lost_fields(old, _2_TO_3))


def _3_to_2(old: Mapping[str, Any]) -> _Conversion:
    if not text_at(old, "target.category").strip():
        old = put(old, "target.category", None)  # 2.0 refuses an empty one
    working = {source for source in _WORKING.values() if get(old, source) is not None}
    unfitting = {source for source in working if not _fits_2(_3_TO_2[source], get(old, source))}
    new = _moved(
        old,
        {source: target for source, target in _3_TO_2.items() if source not in unfitting},
        {"version": "2.0", "timestamp": written_time(old["timestamp"])},
    )
    problem_type, summary = text_at(old, "context.problem_type"), text_at(old, "context.summary")
    has_prompt = bool(text_at(old, "context.original_prompt").strip())
    gaps = texts_at(old, "context.known_gaps")
    artifacts = get(old, "payload.session.artifacts") or ()
    files = [*map(as_reference, artifacts), *(get(old, "payload.references.files") or ())]
    for field, value in (
        ("source.workflow_id", _published_id(old)),
        ("context.problem_type", narrowed(problem_type)),
        ("meta.handoff_chain", _chain(old)),
        ("context.original_prompt", None if has_prompt else summary),
        ("context.synthesis_summary", summary if get(new, "context.synthesis_summary") is None else None),
        ("insights.uncertainties", None if texts_at(new, "insights.uncertainties") else gaps or None),
        ("references.files", files or None),
    ):
        new = new if value is None else put(new, field, value)
    kept = {*_SAME_IN_2_AND_3, *working, "payload.references", "context.summary", "context.known_gaps"}
    lost = [
        *_lost_fields(old, {*kept, "payload.session.artifacts"}),
        *sorted(unfitting),
        *narrowed_loss(problem_type),
    ]
    if artifacts:
        lost.append("payload.session.artifacts: now references, without type and checksum")
    if gaps and texts_at(new, "insights.uncertainties") != gaps:
        lost.append("context.known_gaps: replaced by insights.uncertainties")
    return new, [] if has_prompt else ["context.original_prompt: the summary"], lost


_CONVERSIONS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], _Conversion]] = {
    ("1.0", "2.0"): _1_to_2,
    ("2.0", "3.0"): _2_to_3,
    ("3.0", "2.0"): _3_to_2,
}


def _new_expiry(
    version: str, old: Mapping[str, Any], target: str, now: datetime
) -> tuple[str, tuple[str, ...]]:
    """Return when the converted payload expires, and the words for it if the old one did not say so.

    A declared expiry that is still to come is kept. Otherwise the payload gets the lifetime of its new version.
    """
    expires = expiry(version, old)
    if expires is not None and expires > now:
        if old.get("expires_at"):
            return written_time(old["expires_at"]), ()
        return stamp(expires), ("expires_at: an hour after the timestamp, as in 2.0",)
    if target not in LIFETIME:
        return "", () if expires is None else ("expires_at: none, because it had passed",)
    return stamp(now + LIFETIME[target]), ("expires_at: an hour after the conversion",)


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


def _chain(old: Mapping[str, Any]) -> list[str]:
    return texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]]


def _published_id(old: Mapping[str, Any]) -> str:
    return published_workflow_id(old["source"]["skill"], _workflow_id(old), old["timestamp"])


def _workflow_id(old: Mapping[str, object]) -> str:
    folder = os.path.basename(text_at(old, "source.session_path").rstrip("/"))
    return text_at(old, "source.workflow_id") or folder or "unknown"


def _summary(old: Mapping[str, object]) -> tuple[str, bool]:
    """Return the first text that describes the work, and whether it had to be cut."""
    fields = ("context.synthesis_summary", "context.reframed_challenge", "context.original_prompt")
    text = next((text for field in fields if (text := text_at(old, field).strip())), "")
    return text[: models.MAX_SUMMARY].strip(), len(text) > models.MAX_SUMMARY


def _fits_2(field: str, value: object) -> bool:
    """Whether 2.0 accepts *value* at *field*."""
    return not any(
        problem.field == "handoff" or problem.field.startswith(f"handoff.{field}")
        for problem in shape_problems("2.0", put({}, field, value))
    )
