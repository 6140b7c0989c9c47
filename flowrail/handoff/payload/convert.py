"""Convert a payload to another version, and list the fields that are added and lost.

    1.0 → 2.0 ⇄ 3.0

A table for each conversion says where a field goes. A field that is not in the table is lost. Added values are derived
from the document, so that the same document gives the same result; only a new expiry counts from the conversion.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from flowrail.discovery.compatibility import compatibility
from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.payload.document import get, put, text_at, texts_at
from flowrail.handoff.payload.integrity import LIFETIME, expiry, identity, sealed, stamp
from flowrail.handoff.payload.models import MAX_SUMMARY, STRICT_SOURCE, STRICT_WORKFLOW_ID, shape_of
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import moment

NARROWED_PROBLEM_TYPES = {
    "implementation": "strategic",
    "research": "analytical",
    "verification": "analytical",
}
"""Problem types that 2.0 does not have, with those that replace them."""

_WRITTEN_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
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
_2_TO_3 = {field: field for field in _SAME_IN_2_AND_3} | {
    "context.reframed_challenge": "payload.working.reframed_challenge",
    "context.synthesis_summary": "payload.working.synthesis_summary",
    "insights": "payload.working.insights",
    "research_seeds": "payload.working.research_seeds",
    "meta.perspectives_completed": "payload.working.perspectives_completed",
    "meta.convergence_level": "payload.working.convergence_level",
    "meta.user_feedback": "payload.working.user_feedback",
    "references": "payload.references",
}
_MOVES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("1.0", "2.0"): _1_TO_2,
    ("2.0", "3.0"): _2_TO_3,
    ("3.0", "2.0"): {in_3: in_2 for in_2, in_3 in _2_TO_3.items()},
}
_DERIVED = frozenset(
    {
        "version", "schema_type", "timestamp", "expires_at", "source.workflow_id", "meta.payload_hash",
        "meta.payload_size_bytes", "context.summary", "context.known_gaps",
    }
)  # fmt: skip
"""Fields that conversions write or use, so they are not lost."""


@dataclass(frozen=True)
class ConvertedPayload:
    """A payload in another version."""

    version: str
    """The new version."""
    handoff: Mapping[str, Any]
    """The content of the new document."""
    added: tuple[str, ...] = ()
    """The fields that the conversion added."""
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
    moves = _MOVES.get((version, target))
    if moves is None:
        raise ValidationFailedError(
            f"a payload of version {version} cannot be converted to {target}: "
            f"{compatibility(version, target).reason}",
            hint="use a version that both skills support",
            validation_errors=[f"no conversion from {version} to {target}"],
        )
    new: dict[str, Any] = {"version": target, "timestamp": _written_time(text_at(handoff, "timestamp"))}
    new |= {"schema_type": "universal"} if target == "3.0" else {}
    for source, place in moves.items():
        if (value := get(handoff, source)) is not None:
            new = put(new, place, value)
    new, unfit = _without_unfit(new, target, moves)
    moved = new
    derived = {"expires_at": _expiry(version, handoff, target, now), **_derive(version, target, handoff, new)}
    for place, value in derived.items():
        new = new if value is None else put(new, place, value)
    lost = [*_lost_fields(handoff, moves), *unfit]
    if target == "2.0":
        gaps = texts_at(handoff, "context.known_gaps")
        if gaps and texts_at(new, "insights.uncertainties") != gaps:
            lost.append("context.known_gaps: replaced by insights.uncertainties")
        lost += narrowed_loss(text_at(handoff, "context.problem_type"))
    added = [
        place
        for place, value in derived.items()
        if value and not get(handoff, place) and not get(moved, place)
    ]
    return ConvertedPayload(target, sealed(target, new), tuple(added), tuple(lost))


def content(version: str, handoff: Mapping[str, object]) -> Mapping[str, Any]:
    """Return a payload of any version in the form of 3.0, to read its fields."""
    return convert(version, handoff, "3.0", now=datetime.min.replace(tzinfo=UTC)).handoff


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
    if skill != STRICT_SOURCE or time is None or re.fullmatch(STRICT_WORKFLOW_ID, workflow_id):
        return workflow_id
    return f"swarm-session-{time:%Y%m%d-%H%M%S}-{sha256_hex(workflow_id.encode())[:8]}"


def as_reference(artifact: Mapping[str, Any]) -> dict[str, object]:
    """Return an artifact as a reference, for versions that have no artifacts."""
    return {"path": artifact["path"], "description": artifact.get("description") or artifact["name"]}


def _derive(
    version: str, target: str, old: Mapping[str, object], new: Mapping[str, object]
) -> dict[str, object]:
    """Return the values that are not moved but derived. `None` if a field has its value already, or needs none."""
    skill = text_at(old, "source.skill")
    folder = os.path.basename(text_at(old, "source.session_path").rstrip("/"))
    workflow_id = text_at(old, "source.workflow_id") or folder or "unknown"
    values: dict[str, object] = {"meta.handoff_chain": texts_at(old, "meta.handoff_chain") or [skill]}
    if target == "3.0":
        level = text_at(old, "meta.convergence_level")
        described = ("context.synthesis_summary", "context.reframed_challenge", "context.original_prompt")
        summary = next((text for field in described if (text := text_at(old, field).strip())), "")
        return values | {
            "trace_id": str(uuid5(NAMESPACE_URL, identity("2.0", old))),
            "source.phase": "synthesis",
            "source.workflow_id": workflow_id,
            "context.summary": summary[:MAX_SUMMARY].strip(),
            "context.known_gaps": texts_at(old, "insights.uncertainties") or None,
            "payload.working": get(new, "payload.working") or {},
            "meta.confidence": "low" if level == "none" else level or "medium",
        }
    published = published_workflow_id(skill, workflow_id, text_at(old, "timestamp"))
    values["source.workflow_id"] = published
    if version == "1.0":
        return values
    summary, gaps = text_at(old, "context.summary"), texts_at(old, "context.known_gaps")
    artifacts = get(old, "payload.session.artifacts") or ()
    files = [*map(as_reference, artifacts), *(get(old, "payload.references.files") or ())]
    has_prompt = bool(text_at(old, "context.original_prompt").strip())
    has_summary = get(new, "context.synthesis_summary") is not None
    return values | {
        "context.problem_type": narrowed(text_at(old, "context.problem_type")),
        "context.original_prompt": None if has_prompt else summary,
        "context.synthesis_summary": None if has_summary else summary,
        "insights.uncertainties": None if texts_at(new, "insights.uncertainties") else gaps or None,
        "references.files": files or None,
    }


def _expiry(version: str, old: Mapping[str, object], target: str, now: datetime) -> str | None:
    """Return when the converted payload expires, or `None` for never.

    An expiry that is still to come is kept. Otherwise the payload gets the lifetime of its new version.
    """
    expires = expiry(version, old)
    if expires is not None and expires > now:
        return _written_time(text_at(old, "expires_at")) or stamp(expires)
    return stamp(now + LIFETIME[target]) if target in LIFETIME else None


def _without_unfit(
    new: dict[str, Any], target: str, moves: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return *new* without the moved values that its version does not accept, and the fields they came from.

    3.0 has few rules for its working tier. Required fields keep their problems, which are reported later.
    """
    if target != "2.0":
        return new, []
    fields = [f"{problem.field.removeprefix('handoff.')}." for problem in shape_of(target, new)[0]]
    unfit = [
        source
        for source, place in moves.items()
        if (source.startswith("payload.working.") or place == "target.category")
        and any(field.startswith(f"{place}.") for field in fields)
        and get(new, place) is not None
    ]
    for source in unfit:
        parent, _, name = moves[source].rpartition(".")
        inner = get(new, parent) if parent else new
        rest = {key: value for key, value in inner.items() if key != name}
        new = put(new, parent, rest) if parent else rest
    return new, [source for source in unfit if source != "target.category"]


def _lost_fields(part: Mapping[str, object], moved: Collection[str], prefix: str = "") -> Iterator[str]:
    """Yield the fields that are not empty and that the new version cannot store."""
    known = _DERIVED.union(moved)
    for name, value in part.items():
        field = f"{prefix}{name}"
        if field in known or value in (None, "", [], {}):
            continue
        if isinstance(value, Mapping) and any(known_field.startswith(f"{field}.") for known_field in known):
            yield from _lost_fields(value, known, f"{field}.")
        elif field == "payload.session" and isinstance(value, Mapping):
            files = f"{field}.artifacts: now references, without type and checksum"
            yield from (files if name == "artifacts" else f"{field}.{name}" for name in value if value[name])
        else:
            yield field


def _written_time(text: str) -> str:
    """Return a time as our payloads write it. A time that already has this form stays as it is."""
    time = moment(text)
    return text if time is None or _WRITTEN_TIME.fullmatch(text) else stamp(time)
