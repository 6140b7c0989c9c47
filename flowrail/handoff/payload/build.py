"""Build a payload from the work of a skill: parameters, reported facts, and the files that they name.

Facts are found by the names under which skills report them. Facts without a field of their own go to the working
tier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flowrail.errors import DocumentError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload import convert
from flowrail.handoff.payload.document import Payload, get, put, text_at, texts_at
from flowrail.handoff.payload.integrity import LIFETIME, sealed, stamp
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.guidance.guide import HASHED, UNHASHED, now_at
from flowrail.machines.sessions.session import ReceivedWork, Session
from flowrail.storage.files import read_bounded, sha256_hex
from flowrail.storage.records import to_plain
from flowrail.text import json as strict_json
from flowrail.text.phrases import moment
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
_EMPTY: tuple[object, ...] = (None, "", (), [])
_HALVED = "0-10"
_MAIN_FIELD = {
    "insights.convergent": "theme",
    "insights.divergent": "insight",
    "research_seeds.suggested_terms": "term",
}
"""The field that a text fills in a list of mappings."""


@dataclass(frozen=True)
class SourceWork:
    """The work of a skill, as a session of ours or the skill itself reports it."""

    skill: str
    id: str
    """The session, or the handoff if the skill has none."""
    facts: Mapping[str, Any]
    folder: str
    """Where the files of the work are."""
    phase: str
    """The step at which the work is handed off."""
    state: Mapping[str, Any] = Frozen()
    """The part of the session that 3.0 stores."""
    received: ReceivedWork | None = None
    problem_type: str = ""
    """The type of the problem, if none is reported."""


@dataclass(frozen=True)
class BuiltPayload:
    """A payload with its hash, and the values for which its version has no field."""

    handoff: dict[str, Any]
    lost: tuple[str, ...] = ()


def work_of(session: Session, *, folder: str, problem_type: str = "") -> SourceWork:
    """Return the work of a session: its parameters and reported facts."""
    facts = {**session.params, **session.state}
    return SourceWork(
        session.skill,
        session.id,
        facts,
        folder,
        session.step or session.status,
        {"step": session.step, "status": session.status, "revision": session.revision},
        session.received,
        problem_type,
    )


def build(work: SourceWork, handoff: Handoff, *, project: str, now: str) -> BuiltPayload:
    """Return the payload of *handoff* in its version. Validation comes later.

    Relative paths in facts refer to *project*.
    """
    own = {**work.facts, **handoff.facts}
    facts = _known_facts(own, work.received, work.problem_type)
    prompt = next((name for name in PROMPTS if _has_text(facts, name)), "")
    other_facts = {
        name: value
        for name, value in facts.items()
        if name not in _WITH_FIELD and name != prompt and value not in _EMPTY
    }
    artifacts = _artifacts(other_facts, project)
    other_facts = {name: value for name, value in other_facts.items() if name not in artifacts}
    files = [file for named in artifacts.values() for file in named]
    content = _version_2(facts, work, handoff, now)
    if handoff.schema == "3.0":
        return BuiltPayload(sealed("3.0", _version_3(content, facts, other_facts, files, work, handoff)))
    created = moment(now)
    if created is not None:
        content["expires_at"] = stamp(created + LIFETIME["2.0"])
    problem_type = text_at(content, "context.problem_type")
    content = put(content, "context.problem_type", convert.narrowed(problem_type))
    workflow_id = convert.published_workflow_id(handoff.source, work.id, now)
    content = put(content, "source.workflow_id", workflow_id)
    if references := [*map(convert.as_reference, files), *_received_file(work)]:
        content["references"] = {"files": references}
    lost = [f"the fact `{name}`" for name in other_facts]
    lost += [f"context.{name}" for name in _LISTS_OF_3 if _list(facts, (name,))]
    return BuiltPayload(sealed("2.0", content), (*lost, *convert.narrowed_loss(problem_type)))


def fact_for(field: str) -> str:
    """Return the name of the fact that fills a field of a payload of any version."""
    bare = field.removeprefix("handoff.").removeprefix("payload.working.")
    fact = next((fact for path, fact in _FACT_OF_FIELD.items() if f"{bare}.".startswith(f"{path}.")), None)
    return fact or bare.rpartition(".")[2]


def received_work(handoff: Handoff, payload: Payload, copy: str) -> ReceivedWork:
    """Return the receiver's record of a handoff: source, chain, trace and the user's request.

    *copy* is the path of the payload that the receiver keeps.
    """
    content = convert.content(payload.version, payload.handoff)
    foreign_origin = HASHED if get(payload.handoff, "meta.payload_hash") else UNHASHED
    request = {name: _in_tiers(content, f"context.{name}") for name in CARRIED_FACTS}
    return ReceivedWork(
        handoff=handoff.id,
        source=text_at(content, "source.skill"),
        payload=copy,
        sha256=payload.digest,
        version=payload.version,
        chain=tuple(texts_at(content, "meta.handoff_chain")),
        hops=handoff.hops,
        trace_id=handoff.trace_id or text_at(content, "trace_id"),
        span_id=handoff.span_id or text_at(content, "tracing.parent_span_id"),
        reason=text_at(content, "meta.handoff_reason"),
        summary=text_at(content, "context.summary"),
        asked={name: value for name, value in request.items() if value not in _EMPTY},
        origin=foreign_origin if handoff.foreign else "",
    )


def facts_of(payload: Payload, *, inside: Sequence[str]) -> dict[str, object]:
    """Return the facts from which a payload like *payload* is built.

    Its files are read when they are handed on, so those that are not *inside* these folders are left out.
    """
    content = convert.content(payload.version, payload.handoff)
    file_lists = [
        get(content, f"payload.{field_}") or () for field_ in ("session.artifacts", "references.files")
    ]
    facts = {
        "summary": text_at(content, "context.summary"),
        "known_gaps": texts_at(content, "context.known_gaps"),
        **{names[0]: _in_tiers(content, field) for field, names in (*_TEXTS.items(), *_LISTS.items())},
        **{name: _in_tiers(content, f"context.{name}") for name in CARRIED_FACTS},
        "reference_files": [file["path"] for listed in file_lists for file in listed],
        **(get(content, "payload.working.facts") or {}),
    }
    in_fields = {"insights", "research_seeds", "facts"}
    rest = {name: value for name, value in get(content, "payload.working").items() if name not in in_fields}
    facts |= rest
    for name in [name for name in facts if name.endswith(_FILE_ENDINGS)]:
        kept = [path for path in _as_list(facts[name]) if _is_inside(str(path), inside)]
        facts[name] = kept if name.endswith("s") else next(iter(kept), "")
    return {name: value for name, value in facts.items() if value not in _EMPTY}


def _is_inside(path: str, folders: Sequence[str]) -> bool:
    """Whether a path of a document leads into one of *folders*, links considered; it may be relative to the first."""
    if "\0" in path:
        return False
    real = os.path.realpath(os.path.join(folders[0], path))
    return any(real.startswith(f"{os.path.realpath(folder)}{os.sep}") for folder in folders)


def _in_tiers(content: Mapping[str, object], field: str) -> object:
    """Return the value of a field of 2.0 in a 3.0 payload."""
    value = get(content, field)
    return get(content, f"payload.working.{field.removeprefix('context.')}") if value is None else value


def _known_facts(
    own: Mapping[str, object], received: ReceivedWork | None, problem_type: str
) -> dict[str, object]:
    """Return a skill's facts. Missing ones are added: the user's request as received, and a problem type."""
    inherited = dict(received.asked) if received is not None else {}
    for names in (PROMPTS, _REFRAMED):
        if _text(own, names):
            inherited.pop(names[0], None)
    inherited.setdefault("problem_type", problem_type)
    return {
        **own,
        **{name: value for name, value in inherited.items() if own.get(name) in _EMPTY},
    }


def _version_2(
    facts: Mapping[str, object], work: SourceWork, handoff: Handoff, now: str
) -> dict[str, object]:
    """Return the content of a 2.0 payload. The problem type may be one of 3.0."""
    content: dict[str, object] = {
        "version": "2.0",
        "timestamp": now,
        "source": {
            "skill": handoff.source,
            "workflow_id": work.id,
            "session_path": os.path.join(work.folder, ""),
        },
        "target": {"skill": handoff.target, "invocation": handoff.trigger},
        "context": {"problem_type": str(facts.get("problem_type") or "").strip().lower()},
    }
    for field, names in _TEXTS.items():
        if text := _text(facts, names):
            content = put(content, field, text)
    for field, names in _LISTS.items():
        name = _MAIN_FIELD.get(field)
        if items := _list(facts, names):
            content = put(content, field, [{name: i} if name and isinstance(i, str) else i for i in items])
    if insights := get(content, "insights.divergent"):
        content = put(content, "insights.divergent", _on_scale_of_5(insights, facts.get(SCALE, "1-5")))
    meta = {name: facts[name] for name in META if facts.get(name) not in (None, "")}
    count = meta.get("perspectives_completed")
    if isinstance(count, str) and count.isdecimal():
        meta["perspectives_completed"] = int(count)  # given on the command line
    meta |= {**_filled(handoff_reason=handoff.reason), "handoff_chain": list(handoff.chain)}
    return {**content, "meta": meta}


def _version_3(
    content: Mapping[str, object],
    facts: Mapping[str, object],
    other_facts: Mapping[str, object],
    artifacts: Sequence[Mapping[str, object]],
    work: SourceWork,
    handoff: Handoff,
) -> dict[str, object]:
    """Return a 3.0 payload: the converted 2.0 content, other facts, artifacts, references and the trace."""
    new = convert.as_3(content)
    new = put(new, "trace_id", handoff.trace_id)
    new = put(new, "source.phase", work.phase)
    if other_facts:
        new = put(new, "payload.working.facts", to_plain(other_facts))
    for name in _LISTS_OF_3:
        if items := _list(facts, (name,)):
            new = put(new, f"context.{name}", items)
    if artifacts:
        new = put(new, "payload.session.artifacts", artifacts)
    if work.state:
        new = put(new, "payload.session.state", dict(work.state))
    if handoff.approved:
        new = put(new, "meta.user_approved", True)
    if files := list(_received_file(work)):
        new = put(new, "payload.references.files", files)
    event = {
        "timestamp": content["timestamp"],
        "event_type": "created",
        "workflow": handoff.source,
        "details": {"handoff": handoff.id},
    }
    new = put(new, "tracing", {"events": [event], **_filled(parent_span_id=handoff.span_id)})
    return convert.with_token_count(new)


def _received_file(work: SourceWork) -> Iterator[dict[str, object]]:
    """Yield a reference to the payload that the work came with."""
    if work.received is not None:
        yield {
            "path": now_at(work.received.payload, work.folder),
            "description": f"the payload received from {work.received.source}",
            "relevance": "important",
        }


def _artifacts(facts: Mapping[str, object], project: str) -> dict[str, list[dict[str, object]]]:
    """Return the existing files that facts name, by fact. Links are not followed."""
    artifacts: dict[str, list[dict[str, object]]] = {}
    for name, value in facts.items():
        if not name.endswith(_FILE_ENDINGS):
            continue
        many = name.endswith(("_files", "_paths"))
        for named in _as_list(value) if many else [value]:
            path = os.path.join(project, str(named))
            with suppress(DocumentError):
                data = read_bounded(path, limit=_MAX_ARTIFACT, what="the artifact")
                artifact: dict[str, object] = {
                    "name": os.path.basename(path),
                    "path": path,
                    "type": "analysis" if many else "documentation",
                    "description": name.replace("_", " "),
                    "checksum": f"sha256:{sha256_hex(data)}",
                }
                artifacts.setdefault(name, []).append(artifact)
    return artifacts


def _text(facts: Mapping[str, object], names: Sequence[str]) -> str:
    return next((str(facts[name]) for name in names if _has_text(facts, name)), "")


def _has_text(facts: Mapping[str, object], name: str) -> bool:
    value = facts.get(name)
    return isinstance(value, str) and bool(value.strip())


def _list(facts: Mapping[str, object], names: Sequence[str]) -> list[object]:
    """Return the first non-empty list. A text is a JSON list, or a list of one item."""
    return next((items for name in names if (items := _as_list(facts.get(name)))), [])


def _as_list(value: object) -> list[object]:
    if isinstance(value, str) and value.strip():
        with suppress(ValueError, RecursionError):
            if isinstance(items := json.loads(value), list) and strict_json.problem(items) is None:
                return items
        return [value]
    return list(to_plain(value)) if isinstance(value, list | tuple) else []


def _on_scale_of_5(insights: Sequence[object], scale: object) -> list[object]:
    """Return insights with their confidences from 1 to 5. A confidence from 0 to 10 is halved and rounded up."""
    if scale not in {"1-5", _HALVED}:
        raise DocumentError(
            f"`{SCALE}` is `{in_quotes(str(scale)[:20])}`", hint=f"write 1-5 or {_HALVED}", place="the facts"
        )
    return [
        {**insight, "confidence": max(1, -(-insight["confidence"] // 2))}
        if scale == _HALVED and isinstance(insight, Mapping) and insight.get("confidence") in range(11)
        else insight
        for insight in insights
    ]


def _filled(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value}
