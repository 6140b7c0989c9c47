"""A payload of one version as one of another, with a list of what that adds and what it loses.

    1.0 → 2.0 → 3.0      3.0 → 2.0      1.2 → 3.0 (lossy)

There is no way back from 3.0 to 1.2, nor to 1.0. Pure: what an adapter has to invent follows from the
document itself, so that the same document becomes the same one each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from flowrail.discovery.compatibility import compatibility
from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.payload.document import (
    get,
    put,
    text_at,
    texts_at,
)
from flowrail.handoff.payload.integrity import (
    canonical,
    expiry,
    sealed,
    stamp,
    tiers,
)
from flowrail.handoff.payload.validate import shape
from flowrail.handoff.payload.versions.v3 import LONGEST_SUMMARY

PHASE = "synthesis"
"""The phase that a 2.0 payload is handed over from, which it does not say."""

NARROWED = {"implementation": "strategic", "research": "analytical", "verification": "analytical"}
"""What the problem types that 2.0 does not have become there."""

_CONFIDENCE = {"high": "high", "medium": "medium", "low": "low", "none": "low"}
_WORKING = (
    ("reframed_challenge", "context.reframed_challenge"),
    ("synthesis_summary", "context.synthesis_summary"),
    ("insights", "insights"),
    ("research_seeds", "research_seeds"),
    ("perspectives_completed", "meta.perspectives_completed"),
    ("convergence_level", "meta.convergence_level"),
    ("user_feedback", "meta.user_feedback"),
    ("target_path", "target.path"),
)
"""What a 2.0 payload has and 3.0 has no field for: where it stands in `payload.working`."""


class Converted(NamedTuple):
    """A payload of another version, the fields that were added to it, and those that were lost."""

    version: str
    handoff: Mapping[str, Any]
    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()


def way(source: str, target: str) -> tuple[str, ...]:
    """Return the versions that a payload goes through, both ends included; empty where there is no way."""
    roads: list[tuple[str, ...]] = [(source,)]
    for road in roads:
        if road[-1] == target:
            return road
        roads += [(*road, to) for start, to in _STEPS if start == road[-1] and to not in road]
    return ()


def convert(version: str, handoff: Mapping[str, Any], target: str) -> Converted:
    """Return *handoff*, which is one of that *version*, as one of version *target*."""
    versions = way(version, target)
    if not versions:
        raise ValidationFailedError(
            f"a payload of version {version} cannot be made one of version {target}: "
            f"{compatibility(version, target).reason}",
            hint="hand over a version that both sides have",
            validation_errors=[f"no adapter from {version} to {target}"],
        )
    made = Converted(version, handoff, ways=versions)
    for step in pairwise(versions):
        after, added, lost = _STEPS[step](made.handoff)
        made = Converted(
            step[1], sealed(step[1], after), (*made.added, *added), (*made.lost, *lost), versions
        )
    return made


Step = Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[str], list[str]]]


def lift_1_to_2(old: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return 1.0 as 2.0: the same work in other places."""
    work, done, skill = old["payload"], old.get("context") or {}, text_at(old, "source.skill")
    seeds = {"suggested_terms": work.get("suggested_search_terms", [])}
    insights = {
        "convergent": work.get("convergent_insights", []),
        "divergent": work.get("divergent_insights", []),
        "uncertainties": work.get("key_uncertainties", []),
        "blind_spots": work.get("blind_spots_identified", []),
    }
    context = {
        key: work[key]
        for key in ("original_prompt", "reframed_challenge", "problem_type", "synthesis_summary")
        if key in work
    }
    ends = expiry("2.0", old)
    new = {
        "version": "2.0",
        "timestamp": old["timestamp"],
        **({"expires_at": stamp(ends)} if ends else {}),
        "source": dict(old["source"]),
        "target": {"skill": old["target"]["skill"]},
        "context": context,
        "insights": insights,
        "research_seeds": seeds,
        "meta": {**_known(done, _DONE), "handoff_chain": [skill]},
    }
    lost = [
        *_others(old, "", ("version", "timestamp", "source", "target", "payload", "context")),
        *_others(work, "payload.", _WORK),
        *_others(done, "context.", _DONE),
    ]
    return new, ["meta.handoff_chain: the source alone", "expires_at: an hour after the timestamp"], lost


def lift_2_to_3(old: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return 2.0 as 3.0: insights and seeds become the working tier, nothing that is known is lost."""
    path = text_at(old, "source.session_path")
    workflow = text_at(old, "source.workflow_id")
    added = [f"trace_id: made from the content, source.phase: {PHASE}", "meta.token_count: counted"]
    added += [] if workflow else ["source.workflow_id: from the session's folder"]
    added += [] if old.get("expires_at") else ["expires_at: an hour after the timestamp, as 2.0 means it"]
    level = text_at(old, "meta.convergence_level")
    added.append("meta.confidence: " + (f"from the convergence, {level}" if level else "medium"))
    summary = _summary(old)
    added.append(f"context.summary: {'cut to' if summary[1] else 'at most'} {LONGEST_SUMMARY} characters")
    working = {key: get(old, place) for key, place in _WORKING if get(old, place) is not None}
    ends = expiry("2.0", old)
    new: dict[str, Any] = {
        "version": "3.0",
        "schema_type": "universal",
        "timestamp": old["timestamp"],
        "trace_id": str(uuid5(NAMESPACE_URL, canonical(old).decode("utf-8", "replace"))),
        **({"expires_at": old.get("expires_at") or stamp(ends)} if ends else {}),
        "source": {
            "skill": old["source"]["skill"],
            "workflow_id": workflow or os.path.basename(path.rstrip("/")) or "unknown",
            "session_path": path,
            "phase": PHASE,
        },
        "target": _known(old["target"], ("skill", "invocation", "category")),
        "context": _context_3(old, summary[0]),
        "payload": {"working": working},
        "meta": {
            "token_count": 0,
            "confidence": _CONFIDENCE.get(level, "medium"),
            "handoff_chain": texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]],
            **_known(old.get("meta") or {}, ("handoff_reason",)),
        },
    }
    return counted(new), added, [*_unknown_2(old)]


def lower_3_to_2(old: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return 3.0 as 2.0: the trace and the tiers beside the working one are lost."""
    working = get(old, "payload.working") or {}
    kind = text_at(old, "context.problem_type")
    said = text_at(old, "context.original_prompt")
    prompt = said if said.strip() else ""
    added = [] if prompt else ["context.original_prompt: the summary"]
    added += [] if old.get("expires_at") else ["expires_at: an hour after the timestamp; 3.0 had none"]
    new: dict[str, Any] = {
        "version": "2.0",
        "timestamp": old["timestamp"],
        **({"expires_at": old["expires_at"]} if old.get("expires_at") else {}),
        "source": _known(old["source"], ("skill", "workflow_id", "session_path")),
        "target": _present(old["target"], ("skill", "invocation", "category")),
        "context": {
            "original_prompt": prompt or text_at(old, "context.summary"),
            "problem_type": NARROWED.get(kind, kind),
        },
        "meta": {
            **_present(old["meta"], ("handoff_reason",)),
            "handoff_chain": texts_at(old, "meta.handoff_chain") or [old["source"]["skill"]],
        },
    }
    for key, place in _WORKING:
        if _fits_2(key, working.get(key)):
            new = put(new, place, working[key])
    if "synthesis_summary" not in new["context"]:
        new = put(new, "context.synthesis_summary", text_at(old, "context.summary"))
    gaps = texts_at(old, "context.known_gaps")
    if gaps and not texts_at(new, "insights.uncertainties"):
        new = put(new, "insights.uncertainties", gaps)
    return new, added, _lost_3(old, working, kind)


def lift_1_2_to_3(old: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return 1.2 as 3.0, marked lossy: what both have in common."""
    folder, made = text_at(old, "session.session_dir"), old["deliverable"]
    about = text_at(old, "context.description").strip()
    said = str(get(old, "quality.confidence") or "").lower()
    artifact = {
        "name": os.path.basename(str(made["location"]).rstrip("/")) or "deliverable",
        "path": made["location"],
        "type": made.get("type") if made.get("type") in _ARTIFACTS else "report",
        **({"checksum": made["checksum"]} if made.get("checksum") else {}),
    }
    working = {
        key: value
        for key, value in (("quality", old.get("quality")), ("task_id", text_at(old, "context.task_id")))
        if value
    }
    new: dict[str, Any] = {
        "version": "3.0",
        "schema_type": "universal",
        "timestamp": old["timestamp"],
        "trace_id": str(uuid5(NAMESPACE_URL, canonical(old).decode("utf-8", "replace"))),
        "source": {
            "skill": old["producer"],
            "workflow_id": text_at(old, "context.task_id")
            or os.path.basename(folder.rstrip("/"))
            or "unknown",
            "session_path": folder,
            "phase": "delivery",
        },
        "target": {"skill": old["consumer"]},
        "context": {
            "summary": about[:LONGEST_SUMMARY],
            "problem_type": "implementation",
            "original_prompt": about,
            **_present(old["context"], ("focus_areas", "known_gaps")),
        },
        "payload": {"working": working, "session": {"artifacts": [artifact]}},
        "meta": {
            "token_count": 0,
            "confidence": said if said in {"high", "medium", "low"} else "medium",
            "handoff_chain": [old["producer"]],
        },
        "tracing": {"tags": ["lossy", "from-1.2"]},
    }
    added = [
        "trace_id: made from the content, source.phase: delivery",
        "context.problem_type: implementation",
        "meta.handoff_chain: the producer alone",
    ]
    known = ("version", "producer", "consumer", "timestamp", "session", "deliverable", "context", "quality")
    lost = ["all that 1.2 and 3.0 do not have in common, hence the tag `lossy`", *_others(old, "", known)]
    parts = {
        "session": ("session_dir",),
        "deliverable": ("location", "type", "checksum"),
        "context": ("task_id", "description", "focus_areas", "known_gaps"),
    }
    for part, names in parts.items():
        lost += _others(get(old, part) or {}, f"{part}.", names)
    if made.get("type") and made["type"] not in _ARTIFACTS:
        lost.append(f"deliverable.type: {made['type']} becomes {artifact['type']}")
    return counted(new), added, lost


def counted(handoff: Mapping[str, Any]) -> dict[str, Any]:
    """Return a 3.0 payload with its tokens counted."""
    return put(handoff, "meta.token_count", sum(tiers(handoff).values()))


_STEPS: Mapping[tuple[str, str], Step] = {
    ("1.0", "2.0"): lift_1_to_2,
    ("2.0", "3.0"): lift_2_to_3,
    ("3.0", "2.0"): lower_3_to_2,
    ("1.2", "3.0"): lift_1_2_to_3,
}
_DONE = ("perspectives_completed", "convergence_level", "user_feedback")
_WORK = (
    "original_prompt",
    "reframed_challenge",
    "problem_type",
    "synthesis_summary",
    "convergent_insights",
    "divergent_insights",
    "key_uncertainties",
    "suggested_search_terms",
    "blind_spots_identified",
)
_ARTIFACTS = frozenset({"specification", "analysis", "code", "documentation", "data", "model", "report"})
_TOP_2 = (
    "version", "timestamp", "expires_at", "source", "target", "context", "insights", "research_seeds", "meta",
)  # fmt: skip


def _context_3(old: Mapping[str, Any], summary: str) -> dict[str, Any]:
    gaps = texts_at(old, "insights.uncertainties")
    return {
        "summary": summary,
        **_present(old["context"], ("problem_type", "original_prompt")),
        **({"known_gaps": gaps} if gaps else {}),
    }


def _summary(old: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the first text that says what it is about, and whether it had to be cut."""
    places = ("context.synthesis_summary", "context.reframed_challenge", "context.original_prompt")
    said = next((text for text in (text_at(old, place).strip() for place in places) if text), "")
    return said[:LONGEST_SUMMARY].strip(), len(said) > LONGEST_SUMMARY


def _lost_3(old: Mapping[str, Any], working: Mapping[str, Any], kind: str) -> list[str]:
    lost = ["trace_id", "source.phase", "meta.token_count", "meta.confidence"]
    lost += ["tracing"] if old.get("tracing") else []
    lost += [f"payload.{tier}" for tier in ("session", "references") if get(old, f"payload.{tier}")]
    lost += ["target.expected_phase"] if get(old, "target.expected_phase") else []
    lost += ["meta.user_approved"] if get(old, "meta.user_approved") is not None else []
    lost += [f"context.{key}" for key in ("focus_areas", "success_criteria") if get(old, f"context.{key}")]
    if kind in NARROWED:
        lost.append(f"context.problem_type: {kind} becomes {NARROWED[kind]}")
    known = {key for key, _ in _WORKING if _fits_2(key, working.get(key))}
    lost += [f"payload.working.{key}" for key in working if key not in known]
    gaps = texts_at(old, "context.known_gaps")
    if gaps and texts_at(working, "insights.uncertainties") not in ([], gaps):
        lost.append("context.known_gaps: insights.uncertainties stand instead")
    return lost


def _fits_2(key: str, value: object) -> bool:
    """Whether a piece of the working tier is what 2.0 takes in that place."""
    if value is None:
        return False
    place = dict(_WORKING)[key]
    wrong = {each.field for each in shape("2.0", put({}, place, value))}
    return not any(field == "handoff" or field.startswith(f"handoff.{place}") for field in wrong)


def _unknown_2(old: Mapping[str, Any]) -> list[str]:
    meta = (*_DONE, "handoff_reason", "handoff_chain", "payload_hash", "payload_size_bytes")
    return [
        *_others(old, "", _TOP_2),
        *_others(old["source"], "source.", ("skill", "workflow_id", "session_path")),
        *_others(old["target"], "target.", ("skill", "invocation", "category", "path")),
        *_others(old.get("meta") or {}, "meta.", meta),
    ]


def _known(part: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: part[name] for name in names if name in part}


def _present(part: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: part[name] for name in names if part.get(name) is not None}


def _others(part: Mapping[str, Any], before: str, names: Sequence[str]) -> list[str]:
    return [f"{before}{key}" for key in part if key not in names]
