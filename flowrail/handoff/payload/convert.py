"""Convert a payload from one version to another, and list the fields that are added and lost.

    1.0 → 2.0 → 3.0      3.0 → 2.0      1.2 → 3.0 (lossy)

3.0 cannot be converted to 1.2 or 1.0. Added values are derived from the document, so that the same document
always gives the same result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
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
"""What the problem types that 2.0 does not have become."""

_CONFIDENCE = {"high": "high", "medium": "medium", "low": "low", "none": "low"}
_IN_WORKING_TIER = {
    "reframed_challenge": "context.reframed_challenge",
    "synthesis_summary": "context.synthesis_summary",
    "insights": "insights",
    "research_seeds": "research_seeds",
    "perspectives_completed": "meta.perspectives_completed",
    "convergence_level": "meta.convergence_level",
    "user_feedback": "meta.user_feedback",
}
"""Fields of 2.0 that 3.0 stores under `payload.working`: key there, path in 2.0."""


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


def published_workflow_id(skill: str, workflow_id: str, timestamp: str) -> str:
    """Return a workflow id that the published 2.0 schema accepts for its one source; others stay as they are."""
    time = moment(timestamp)
    if skill != models.STRICT_SOURCE or time is None or re.fullmatch(models.STRICT_WORKFLOW_ID, workflow_id):
        return workflow_id
    return f"swarm-session-{time:%Y%m%d-%H%M%S}-{sha256_hex(workflow_id.encode())[:8]}"


def from_1_to_2(old: Mapping[str, Any]) -> ConversionStep:
    """Return 1.0 as 2.0: the same work in other fields."""
    work, context, source = old["payload"], old.get("context") or {}, old["source"]
    expires = expiry("2.0", old)
    new = {
        "version": "2.0",
        "timestamp": written_time(old["timestamp"]),
        **({"expires_at": stamp(expires)} if expires else {}),
        "source": {
            "skill": source["skill"],
            "workflow_id": _published_id(source, old["timestamp"]),
            "session_path": source["session_path"],
        },
        "target": {"skill": old["target"]["skill"]},
        "context": _pick(work, models.ContextV2.model_fields),
        "insights": {
            "convergent": work.get("convergent_insights", []),
            "divergent": work.get("divergent_insights", []),
            "uncertainties": work.get("key_uncertainties", []),
            "blind_spots": work.get("blind_spots_identified", []),
        },
        "research_seeds": {"suggested_terms": work.get("suggested_search_terms", [])},
        "meta": {**_pick(context, models.ContextV1.model_fields), "handoff_chain": [source["skill"]]},
    }
    lost = [
        *_others(old, "", models.HandoffV1.model_fields),
        *_others(work, "payload.", models.WorkV1.model_fields),
        *_others(context, "context.", models.ContextV1.model_fields),
        *_others(source, "source.", models.SourceV1.model_fields),
    ]
    added = ["meta.handoff_chain: the source alone", "expires_at: an hour after the timestamp"]
    if not text_at(source, "workflow_id"):
        added.append("source.workflow_id: from the session's folder")
    return ConversionStep(new, added, lost)


def from_2_to_3(old: Mapping[str, Any]) -> ConversionStep:
    """Return 2.0 as 3.0: insights and seeds move to the working tier, no defined field is lost."""
    level = text_at(old, "meta.convergence_level")
    summary, was_cut = _summary(old)
    gaps = texts_at(old, "insights.uncertainties")
    new: dict[str, object] = {
        "version": "3.0",
        "schema_type": "universal",
        "timestamp": written_time(old["timestamp"]),
        "trace_id": _trace_id(old),
        **_expires_at(old),
        "source": {
            "skill": old["source"]["skill"],
            "workflow_id": _workflow_id(old["source"]),
            "session_path": text_at(old, "source.session_path"),
            "phase": PHASE,
        },
        "target": _pick(old["target"], ("skill", "invocation", "category")),
        "context": {
            "summary": summary,
            **_pick(old["context"], ("problem_type", "original_prompt")),
            **({"known_gaps": gaps} if gaps else {}),
        },
        "payload": {
            "working": {
                key: get(old, place) for key, place in _IN_WORKING_TIER.items() if get(old, place) is not None
            },
            **_pick(old, ("references",)),
        },
        "meta": {
            "token_count": 0,
            "confidence": _CONFIDENCE.get(level, "medium"),
            "handoff_chain": texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]],
            **_pick(old.get("meta") or {}, ("handoff_reason",)),
        },
    }
    added = [f"trace_id: from the content, source.phase: {PHASE}", "meta.token_count: counted"]
    if not old.get("expires_at"):
        added.append("expires_at: an hour after the timestamp, as in 2.0")
    added.append("meta.confidence: " + (f"from the convergence, {level}" if level else "medium"))
    added.append(f"context.summary: {'cut to' if was_cut else 'at most'} {models.MAX_SUMMARY} characters")
    lost = [
        *_others(old, "", models.HandoffV2.model_fields),
        *_others(old["source"], "source.", models.SourceV2.model_fields),
        *_others(old["target"], "target.", models.TargetV2.model_fields),
        *_others(old.get("meta") or {}, "meta.", models.MetaV2.model_fields),
    ]
    return ConversionStep(with_token_count(new), added, lost)


def from_3_to_2(old: Mapping[str, Any]) -> ConversionStep:
    """Return 3.0 as 2.0: the trace, the session's state and working content without a field are lost."""
    working = get(old, "payload.working") or {}
    problem_type = text_at(old, "context.problem_type")
    prompt = text_at(old, "context.original_prompt")
    prompt = prompt if prompt.strip() else ""
    new: dict[str, Any] = {
        "version": "2.0",
        "timestamp": written_time(old["timestamp"]),
        **_expires_at(old),
        "source": {
            "skill": old["source"]["skill"],
            "workflow_id": _published_id(old["source"], old["timestamp"]),
            "session_path": old["source"]["session_path"],
        },
        "target": _pick(old["target"], ("skill", "invocation", "category")),
        "context": {
            "original_prompt": prompt or text_at(old, "context.summary"),
            "problem_type": narrowed(problem_type),
        },
        "meta": {
            **_pick(old["meta"], ("handoff_reason",)),
            "handoff_chain": texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]],
        },
    }
    if not new["target"].get("category", "-").strip():
        del new["target"]["category"]
    movable = {key for key in _IN_WORKING_TIER if _fits_2(key, working.get(key))}
    for key, place in _IN_WORKING_TIER.items():
        if key in movable:
            new = put(new, place, working[key])
    if "synthesis_summary" not in new["context"]:
        new = put(new, "context.synthesis_summary", text_at(old, "context.summary"))
    gaps = texts_at(old, "context.known_gaps")
    if gaps and not texts_at(new, "insights.uncertainties"):
        new = put(new, "insights.uncertainties", gaps)
    files = [*_artifacts_as_references(old), *(get(old, "payload.references.files") or ())]
    references = {**(get(old, "payload.references") or {}), **({"files": files} if files else {})}
    if references:
        new["references"] = references
    added = [] if prompt else ["context.original_prompt: the summary"]
    if not old.get("expires_at"):
        added.append("expires_at: an hour after the timestamp; 3.0 had none")
    lost = ["trace_id", "source.phase", "meta.token_count", "meta.confidence"]
    optional = (
        "tracing",
        "payload.session.state",
        "target.expected_phase",
        "meta.user_approved",
        "context.focus_areas",
        "context.success_criteria",
    )
    lost += [field for field in optional if get(old, field) not in (None, {}, [], "")]
    if get(old, "payload.session.artifacts"):
        lost.append("payload.session.artifacts: now references, without type and checksum")
    lost += narrowed_loss(problem_type)
    lost += [f"payload.working.{key}" for key in working if key not in movable]
    if gaps and texts_at(working, "insights.uncertainties") not in ([], gaps):
        lost.append("context.known_gaps: replaced by insights.uncertainties")
    return ConversionStep(new, added, lost)


def from_1_2_to_3(old: Mapping[str, Any]) -> ConversionStep:
    """Return 1.2 as 3.0, tagged as lossy: what both versions have in common."""
    folder, deliverable = text_at(old, "session.session_dir"), old["deliverable"]
    description = text_at(old, "context.description").strip()
    task_id = text_at(old, "context.task_id")
    confidence = str(get(old, "quality.confidence") or "").lower()
    kind, checksum = deliverable.get("type"), text_at(deliverable, "checksum")
    has_checksum = re.fullmatch(r"sha256:[0-9a-f]{64}", checksum) is not None
    artifact = {
        "name": os.path.basename(str(deliverable["location"]).rstrip("/")) or "deliverable",
        "path": deliverable["location"],
        "type": kind if kind in models.ARTIFACT_TYPES else "report",
        **({"checksum": checksum} if has_checksum else {}),
    }
    working = {"quality": old.get("quality"), "task_id": task_id}
    new: dict[str, object] = {
        "version": "3.0",
        "schema_type": "universal",
        "timestamp": written_time(old["timestamp"]),
        "trace_id": _trace_id(old),
        "source": {
            "skill": old["producer"],
            "workflow_id": task_id or _folder_name(folder),
            "session_path": folder,
            "phase": "delivery",
        },
        "target": {"skill": old["consumer"]},
        "context": {
            "summary": description[: models.MAX_SUMMARY],
            "problem_type": "implementation",
            "original_prompt": description,
            **_pick(old["context"], ("focus_areas", "known_gaps")),
        },
        "payload": {
            "working": {key: value for key, value in working.items() if value},
            "session": {"artifacts": [artifact]},
        },
        "meta": {
            "token_count": 0,
            "confidence": confidence if confidence in {"high", "medium", "low"} else "medium",
            "handoff_chain": [old["producer"]],
        },
        "tracing": {"tags": {"conversion": "lossy", "converted_from": "1.2"}},
    }
    added = [
        "trace_id: from the content, source.phase: delivery",
        "context.problem_type: implementation",
        "meta.handoff_chain: the producer alone",
    ]
    lost = [
        "every field that 3.0 does not have, hence the tag `conversion: lossy`",
        *_others(old, "", ("version", *models.HandoffV12.model_fields)),
        *_others(old["session"], "session.", models.SessionV12.model_fields),
        *_others(deliverable, "deliverable.", models.DeliverableV12.model_fields),
        *_others(old["context"], "context.", models.ContextV12.model_fields),
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


def narrowed_loss(problem_type: str) -> list[str]:
    """Return what 2.0 loses of a problem type."""
    new = narrowed(problem_type)
    return [] if new == problem_type else [f"context.problem_type: {problem_type} becomes {new}"]


def _artifacts_as_references(old: Mapping[str, object]) -> list[dict[str, object]]:
    artifacts = get(old, "payload.session.artifacts") or ()
    return [
        {"path": artifact["path"], "description": artifact.get("description") or artifact["name"]}
        for artifact in artifacts
    ]


def _expires_at(old: Mapping[str, Any]) -> dict[str, str]:
    """Return when a payload expires; a 2.0 payload that does not say so expires after an hour."""
    if old.get("expires_at"):
        return {"expires_at": written_time(old["expires_at"])}
    expires = expiry("2.0", old)
    return {"expires_at": stamp(expires)} if expires else {}


def _published_id(source: Mapping[str, Any], timestamp: str) -> str:
    return published_workflow_id(source["skill"], _workflow_id(source), timestamp)


def _summary(old: Mapping[str, object]) -> tuple[str, bool]:
    """Return the first text that describes the work, and whether it had to be cut."""
    places = ("context.synthesis_summary", "context.reframed_challenge", "context.original_prompt")
    text = next((text for place in places if (text := text_at(old, place).strip())), "")
    return text[: models.MAX_SUMMARY].strip(), len(text) > models.MAX_SUMMARY


def _trace_id(old: Mapping[str, object]) -> str:
    return str(uuid5(NAMESPACE_URL, canonical(old).decode("utf-8", "replace")))


def _workflow_id(source: Mapping[str, object]) -> str:
    return text_at(source, "workflow_id") or _folder_name(text_at(source, "session_path"))


def _folder_name(path: str) -> str:
    return os.path.basename(path.rstrip("/")) or "unknown"


def _fits_2(key: str, value: object) -> bool:
    """Whether 2.0 accepts a value of the working tier."""
    if value is None:
        return False
    place = _IN_WORKING_TIER[key]
    fields = {problem.field for problem in shape_problems("2.0", put({}, place, value))}
    return not any(field == "handoff" or field.startswith(f"handoff.{place}") for field in fields)


def _pick(part: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: part[name] for name in names if part.get(name) is not None}


def _others(part: Mapping[str, object], prefix: str, names: Iterable[str]) -> list[str]:
    known = set(names)
    return [f"{prefix}{name}" for name in part if name not in known]
