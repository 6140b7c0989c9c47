"""Build a payload from the work of a skill: parameters, reported facts, and the files that they name.

Facts are found by the names under which skills report them. Facts without a field of their own go to the working
tier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flowrail.errors import DocumentError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload.convert import (
    as_reference,
    content,
    convert,
    narrowed,
    narrowed_loss,
    published_workflow_id,
)
from flowrail.handoff.payload.document import Payload, get, put, text_at, texts_at
from flowrail.handoff.payload.integrity import LIFETIME, sealed, stamp
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.received_work import HASHED, UNHASHED, now_at
from flowrail.machines.session import ReceivedWork, Session
from flowrail.storage.converter import to_plain
from flowrail.storage.files import read_bounded, sha256_hex
from flowrail.text import json as strict_json
from flowrail.text.safe_text import in_quotes

PROMPTS = (
    "original_prompt", "prompt", "problem", "question", "topic", "task", "request", "goal", "decision", "focus",
)  # fmt: skip
"""The names of the user's request. The first one with a text is used."""

CARRIED_FACTS = (
    "original_prompt", "problem_type", "reframed_challenge", "focus_areas", "success_criteria",
)  # fmt: skip
"""The facts of the user's request. They stay with the work, even if a skill on the way does not report them again."""

SCALE = "confidence_scale"
"""The fact that declares the scale of the confidences of insights: `1-5` (the default) or `0-10`."""
META = ("perspectives_completed", "convergence_level", "user_feedback")
_REFRAMED = ("reframed_challenge", "reframed")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "context.original_prompt": PROMPTS,
    "context.reframed_challenge": _REFRAMED,
    "context.synthesis_summary": ("synthesis_summary", "summary"),
}
_LISTS: Mapping[str, tuple[str, ...]] = {
    "insights.convergent": ("convergent_insights",),
    "insights.divergent": ("divergent_insights",),
    "insights.uncertainties": ("uncertainties", "key_uncertainties", "known_gaps"),
    "insights.blind_spots": ("blind_spots", "blind_spots_identified"),
    "research_seeds.suggested_terms": ("suggested_terms", "suggested_search_terms"),
    "research_seeds.open_questions": ("open_questions",),
}
_MAIN_FIELDS = {
    "insights.convergent": "theme",
    "insights.divergent": "insight",
    "research_seeds.suggested_terms": "term",
}
"""The field that a text fills in a list of mappings."""
_LISTS_OF_3 = ("focus_areas", "success_criteria")
_WITH_FIELD = {"problem_type", SCALE, *META, *_LISTS_OF_3}.union(
    *(names for names in (*_TEXTS.values(), *_LISTS.values()) if names is not PROMPTS)
)
"""The facts that have a field of their own."""
_FACT_OF_FIELD = {
    **{field: names[0] for field, names in (*_TEXTS.items(), *_LISTS.items())},
    "context.summary": "synthesis_summary",
    "context.known_gaps": "uncertainties",
}
"""The fact that fills a field, if it does not have the field's own name."""
_FILE_ENDINGS = ("_file", "_files", "_path", "_paths")
_MAX_ARTIFACT = 64 * 1024 * 1024
_EMPTY: tuple[object, ...] = (None, "", (), [], {})


@dataclass(frozen=True)
class HandoffSource:
    """The skill that hands off, and its work."""

    skill: str
    chain: tuple[str, ...]
    """The skills that the work came through; this one is last."""
    facts: Mapping[str, Any] = Frozen()
    """Parameters and reported facts, or those of a payload that the skill wrote."""
    session: Session | None = None
    received: ReceivedWork | None = None
    """How the work came to the skill."""
    problem_type: str = ""
    """The type of the problem, if none is reported."""
    notes: tuple[str, ...] = ()
    """What the caller should know about the chain."""


def build(
    source: HandoffSource, handoff: Handoff, *, folder: str, project: str, now: datetime
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the payload of *handoff* in its version, and the values for which that has no field.

    The files of the work are in *folder*. Relative paths in facts refer to *project*. Validation comes later.
    """
    facts = _with_inherited({**source.facts, **handoff.facts}, source)
    prompt = next((name for name in PROMPTS if _text(facts, (name,))), "")
    others = {
        name: value
        for name, value in facts.items()
        if name not in _WITH_FIELD and name != prompt and value not in _EMPTY
    }
    named = {name: _artifacts(name, value, project) for name, value in others.items()}
    others = {name: value for name, value in others.items() if not named[name]}
    artifacts = [artifact for found in named.values() for artifact in found]
    came_with: list[dict[str, object]] = []
    if source.received is not None:
        about = f"the payload received from {source.received.source}"
        path = now_at(source.received.payload, folder)
        came_with = [{"path": path, "description": about, "relevance": "important"}]
    core = _core(facts, handoff, folder, stamp(now))
    lists_of_3 = {f"context.{name}": items for name in _LISTS_OF_3 if (items := _list(facts, (name,)))}
    problem_type = text_at(core, "context.problem_type")
    if handoff.schema == "2.0":
        values: dict[str, object] = {
            "expires_at": stamp(now + LIFETIME["2.0"]),
            "context.problem_type": narrowed(problem_type),
            "source.workflow_id": published_workflow_id(
                source.skill, text_at(core, "source.workflow_id"), stamp(now)
            ),
            "references.files": [*map(as_reference, artifacts), *came_with],
        }
        lost = (*(f"the fact `{name}`" for name in others), *lists_of_3, *narrowed_loss(problem_type))
    else:
        core = dict(convert("2.0", core, "3.0", now=now).handoff)
        del core["expires_at"]
        session = source.session
        state = session and {"step": session.step, "status": session.status, "revision": session.revision}
        details = {"handoff": handoff.id}
        created = {
            "timestamp": stamp(now),
            "event_type": "created",
            "workflow": source.skill,
            "details": details,
        }
        values, lost = (
            {
                "trace_id": handoff.trace_id,
                "source.phase": session.step or session.status if session else "handoff",
                "payload.working.facts": to_plain(others),
                **lists_of_3,
                "payload.session.artifacts": artifacts,
                "payload.session.state": state,
                "payload.references.files": came_with,
                "meta.user_approved": handoff.request.approved,
                "tracing.events": [created],
                "tracing.parent_span_id": handoff.span_id,
            },
            (),
        )
    for field, value in values.items():
        core = put(core, field, value) if value else core
    return sealed(handoff.schema, core), lost


def fact_for(field: str) -> str:
    """Return the name of the fact that fills a field of a payload of any version."""
    bare = field.removeprefix("handoff.").removeprefix("payload.working.")
    fact = next((fact for path, fact in _FACT_OF_FIELD.items() if f"{bare}.".startswith(f"{path}.")), None)
    return fact or bare.rpartition(".")[2]


def received_work(handoff: Handoff, payload: Payload, copy: str) -> ReceivedWork:
    """Return the receiver's record of a handoff: source, chain, trace and the user's request.

    *copy* is the path of the payload that the receiver keeps.
    """
    fields = content(payload.version, payload.handoff)
    foreign_origin = HASHED if get(payload.handoff, "meta.payload_hash") else UNHASHED
    request = {name: _in_tiers(fields, f"context.{name}") for name in CARRIED_FACTS}
    return ReceivedWork(
        handoff=handoff.id,
        source=text_at(fields, "source.skill"),
        payload=copy,
        sha256=payload.digest,
        version=payload.version,
        chain=tuple(texts_at(fields, "meta.handoff_chain")),
        hops=handoff.hops,
        trace_id=handoff.trace_id or text_at(fields, "trace_id"),
        span_id=handoff.span_id or text_at(fields, "tracing.parent_span_id"),
        reason=text_at(fields, "meta.handoff_reason"),
        summary=text_at(fields, "context.summary"),
        asked={name: value for name, value in request.items() if value not in _EMPTY},
        origin=foreign_origin if handoff.foreign else "",
    )


def facts_of(fields: Mapping[str, Any], *, inside: Sequence[str]) -> dict[str, object]:
    """Return the facts from which a payload with these *fields* of 3.0 is built.

    Its files are read when they are handed on, so those that are not *inside* these folders are left out.
    """
    in_fields = {"insights", "research_seeds", "facts"}
    files = [
        *(get(fields, "payload.session.artifacts") or ()),
        *(get(fields, "payload.references.files") or ()),
    ]
    facts = {
        "summary": text_at(fields, "context.summary"),
        "known_gaps": texts_at(fields, "context.known_gaps"),
        **{names[0]: _in_tiers(fields, field) for field, names in (*_TEXTS.items(), *_LISTS.items())},
        **{name: _in_tiers(fields, f"context.{name}") for name in CARRIED_FACTS},
        "reference_files": [file["path"] for file in files],
        **(get(fields, "payload.working.facts") or {}),
        **{n: value for n, value in get(fields, "payload.working").items() if n not in in_fields},
    }
    for name in [name for name in facts if name.endswith(_FILE_ENDINGS)]:
        kept = [path for path in _as_list(facts[name]) if _is_inside(str(path), inside)]
        facts[name] = kept if name.endswith("s") else next(iter(kept), "")
    return {name: value for name, value in facts.items() if value not in _EMPTY}


def _is_inside(path: str, folders: Sequence[str]) -> bool:
    """Whether a path of a document leads into one of *folders*, links considered; it may be relative to the first."""
    real = "" if "\0" in path else os.path.realpath(os.path.join(folders[0], path))
    return any(real.startswith(f"{os.path.realpath(folder)}{os.sep}") for folder in folders)


def _in_tiers(fields: Mapping[str, object], field: str) -> object:
    """Return the value of a field of 2.0 in a 3.0 payload."""
    value = get(fields, field)
    return get(fields, f"payload.working.{field.removeprefix('context.')}") if value is None else value


def _with_inherited(own: dict[str, Any], source: HandoffSource) -> dict[str, Any]:
    """Return a skill's facts. Missing ones are added: the user's request as received, and a problem type."""
    inherited = {"problem_type": source.problem_type, **(source.received.asked if source.received else {})}
    for names in (PROMPTS, _REFRAMED):
        if _text(own, names):
            inherited.pop(names[0], None)
    return own | {name: value for name, value in inherited.items() if own.get(name) in _EMPTY}


def _core(facts: Mapping[str, Any], handoff: Handoff, folder: str, now: str) -> dict[str, Any]:
    """Return the content that 2.0 and 3.0 share, as 2.0 has it. The problem type may be one of 3.0."""
    core: dict[str, Any] = {
        "version": "2.0",
        "timestamp": now,
        "source": {
            "skill": handoff.source,
            "workflow_id": handoff.session or handoff.id,
            "session_path": os.path.join(folder, ""),
        },
        "target": {"skill": handoff.target, "invocation": handoff.trigger},
        "context": {"problem_type": str(facts.get("problem_type") or "").strip().lower()},
        "meta": {"handoff_chain": list(handoff.chain)},
    }
    if handoff.category:
        core = put(core, "target.category", handoff.category)
    values: dict[str, Any] = {field: _text(facts, names) for field, names in _TEXTS.items()}
    for field, names in _LISTS.items():
        name, items = _MAIN_FIELDS.get(field), _list(facts, names)
        values[field] = [{name: item} if name and isinstance(item, str) else item for item in items]
    values["insights.divergent"] = _on_scale_of_5(values["insights.divergent"], facts.get(SCALE, "1-5"))
    count = facts.get("perspectives_completed")
    is_text = isinstance(count, str) and count.isdecimal()  # given on the command line
    values |= {f"meta.{name}": facts.get(name) for name in META}
    values["meta.perspectives_completed"] = int(str(count)) if is_text else count
    values["meta.handoff_reason"] = handoff.request.reason
    for field, value in values.items():
        core = core if value in _EMPTY else put(core, field, value)
    return core


def _artifacts(name: str, value: object, project: str) -> list[dict[str, object]]:
    """Return the existing files that a fact names. Links are not followed."""
    artifacts: list[dict[str, object]] = []
    is_list = name.endswith(("_files", "_paths"))
    paths = _as_list(value) if is_list else [value] if name.endswith(_FILE_ENDINGS) else []
    for path in (os.path.join(project, str(path)) for path in paths):
        with suppress(DocumentError):
            data = read_bounded(path, limit=_MAX_ARTIFACT, what="the artifact")
            artifact: dict[str, object] = {
                "name": os.path.basename(path),
                "path": path,
                "type": "analysis" if is_list else "documentation",
                "description": name.replace("_", " "),
                "checksum": f"sha256:{sha256_hex(data)}",
            }
            artifacts.append(artifact)
    return artifacts


def _text(facts: Mapping[str, object], names: Sequence[str]) -> str:
    values = (facts.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def _list(facts: Mapping[str, object], names: Sequence[str]) -> list[object]:
    """Return the first non-empty list."""
    return next((items for name in names if (items := _as_list(facts.get(name)))), [])


def _as_list(value: object) -> list[object]:
    """Return a list as it is; a text is a JSON list, or a list of one item."""
    if not isinstance(value, str):
        return list(to_plain(value)) if isinstance(value, list | tuple) else []
    with suppress(ValueError, RecursionError):
        if isinstance(items := json.loads(value), list) and strict_json.problem(items) is None:
            return items
    return [value] if value.strip() else []


def _on_scale_of_5(insights: Sequence[object], scale: object) -> list[object]:
    """Return insights with their confidences from 1 to 5. A confidence from 0 to 10 is halved and rounded up."""
    if scale == "1-5":
        return list(insights)
    if scale != "0-10":
        problem = f"`{SCALE}` is `{in_quotes(str(scale)[:20])}`"
        raise DocumentError(problem, hint="write 1-5 or 0-10", place="the facts")
    return [
        {**insight, "confidence": max(1, -(-insight["confidence"] // 2))}
        if isinstance(insight, Mapping) and insight.get("confidence") in range(11)
        else insight
        for insight in insights
    ]
