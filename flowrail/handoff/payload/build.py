"""A session as a payload: what it was given, what it reported, the files that it made.

Facts go by the names that skills report them under; those that no field knows travel in the working
tier. Themes and insights may be texts with ` | ` between their parts, as agents report them.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from flowrail.errors import DocumentError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload import convert, integrity
from flowrail.handoff.payload.document import put
from flowrail.machines.guidance.received_work import now_at
from flowrail.machines.sessions.session import Session
from flowrail.text import json as strict_json
from flowrail.text import limits

PROMPTS = (
    "original_prompt", "prompt", "problem", "question", "topic", "task", "request", "goal", "decision", "focus",
)  # fmt: skip
"""The names that skills give to what they were asked, the first that says anything counts."""

ASKED = ("original_prompt", "problem_type", "reframed_challenge", "focus_areas", "success_criteria")
"""What the user asked: it goes on with the work, whether or not the skill in between says it again."""

_SUMMARIES = ("synthesis_summary", "summary")
_FRAMED = ("reframed_challenge", "reframed")
_OPEN = ("uncertainties", "key_uncertainties", "known_gaps")
_BLIND = ("blind_spots", "blind_spots_identified")
_TERMS = ("suggested_terms", "suggested_search_terms")
META = ("perspectives_completed", "convergence_level", "user_feedback")
_LISTED = ("convergent_insights", "divergent_insights", "open_questions", "focus_areas", "success_criteria")
_TAKEN = {
    *PROMPTS, *_SUMMARIES, *_FRAMED, *_OPEN, *_BLIND, *_TERMS, *META, *_LISTED, "problem_type",
}  # fmt: skip
FACTS = {
    "context.original_prompt": PROMPTS[0],
    "context.problem_type": "problem_type",
    "context.reframed_challenge": _FRAMED[0],
    "context.synthesis_summary": _SUMMARIES[0],
    "context.summary": _SUMMARIES[0],
    "context.known_gaps": _OPEN[0],
    "insights.convergent": "convergent_insights",
    "insights.divergent": "divergent_insights",
    "insights.uncertainties": _OPEN[0],
    "insights.blind_spots": _BLIND[0],
    "research_seeds.suggested_terms": _TERMS[0],
    "research_seeds.open_questions": "open_questions",
}
"""The fact that each field is made from, where it does not go by the field's own last name."""

_FILE_ENDINGS = ("_file", "_files", "_path", "_paths")
_LARGEST_ARTIFACT = 64 * 1024 * 1024
_MOST_SUMMED = 4 * _LARGEST_ARTIFACT
"""So many bytes of all files are read for their checksums; the others are named without."""
_PIECE = 1024 * 1024
_TEN = 10
_PLAINER = "report plainer values, then send it again; `-s NAME=VALUE` gives one anew"


def build(session: Session, handoff: Handoff, *, now: str, folder: str, project: str) -> dict[str, Any]:
    """Return the payload of *handoff* in its version, sealed; its shape is judged elsewhere.

    Facts of more values than are read of a payload are refused before it is made.
    """
    facts = _known({**session.params, **session.state, **handoff.facts}, session.received)
    others = {name: value for name, value in facts.items() if name not in _TAKEN}
    for travels in (
        others if handoff.schema == "3.0" else {},
        *(facts[name] for name in facts.keys() & _TAKEN),
    ):
        if odd := strict_json.problem(travels, values=limits.VALUES):
            raise DocumentError(f"a fact {odd}", hint=_PLAINER, place=f"the payload for {handoff.target}")
    made = _two(facts, session, handoff, now=now, folder=folder)
    if handoff.schema != "3.0":
        when = integrity.moment(now)
        ends = integrity.stamp(when + integrity.LIFETIME["2.0"]) if when else ""
        head = {"version": "2.0", "timestamp": now, "expires_at": ends}
        return integrity.sealed("2.0", {**head, **made})
    lifted, _, _ = convert.lift_2_to_3({"version": "2.0", "timestamp": now, **made})
    lifted.pop("expires_at", None)
    return integrity.sealed("3.0", _three(lifted, facts, session, handoff, now, folder, project))


def _known(own: Mapping[str, Any], received: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a session, and what was asked of the one before it where it says nothing itself."""
    asked = received.get("asked")
    before = dict(asked) if isinstance(asked, Mapping) else {}
    for names in (PROMPTS, _FRAMED):
        if _text(own, names):
            before.pop(names[0], None)
    said = {name for name, value in own.items() if value not in (None, "", (), [])}
    return {**own, **{name: value for name, value in before.items() if name not in said}}


def fact_for(field: str) -> str:
    """Return the name of the fact that fills a field of a payload, wherever that version keeps it."""
    bare = field.removeprefix("handoff.").removeprefix("payload.working.")
    known = next((fact for path, fact in FACTS.items() if f"{bare}.".startswith(f"{path}.")), None)
    return known or bare.rpartition(".")[2]


def _two(
    facts: Mapping[str, Any], session: Session, handoff: Handoff, *, now: str, folder: str
) -> dict[str, Any]:
    del now
    context = {
        **_some("original_prompt", _text(facts, PROMPTS)),
        **_some("problem_type", str(facts.get("problem_type") or "").lower()),
        **_some("reframed_challenge", _text(facts, _FRAMED)),
        **_some("synthesis_summary", _text(facts, _SUMMARIES)),
    }
    insights = {
        **_some("convergent", [_theme(each) for each in _list(facts, ("convergent_insights",))]),
        **_some("divergent", [_insight(each) for each in _list(facts, ("divergent_insights",))]),
        **_some("uncertainties", _list(facts, _OPEN)),
        **_some("blind_spots", _list(facts, _BLIND)),
    }
    seeds = {
        **_some("suggested_terms", [_term(each) for each in _list(facts, _TERMS)]),
        **_some("open_questions", _list(facts, ("open_questions",))),
    }
    meta = {key: facts[key] for key in META if facts.get(key) not in (None, "")}
    count = meta.get(META[0])
    if isinstance(count, str) and count.isdecimal():
        meta[META[0]] = int(count)  # as it is given on the command line
    return {
        "source": {
            "skill": handoff.source,
            "workflow_id": session.id,
            "session_path": os.path.join(folder, ""),
        },
        "target": {
            "skill": handoff.target,
            "invocation": handoff.trigger,
            **_some("path", handoff.target_path if handoff.target_digest else ""),
        },
        "context": context,
        **_some("insights", insights),
        **_some("research_seeds", seeds),
        "meta": {
            **meta,
            **_some("handoff_reason", handoff.reason),
            "handoff_chain": list(handoff.chain),
        },
    }


def _three(
    lifted: dict[str, Any],
    facts: Mapping[str, Any],
    session: Session,
    handoff: Handoff,
    now: str,
    folder: str,
    project: str,
) -> dict[str, Any]:
    new = put(lifted, "trace_id", handoff.trace_id)
    new = put(new, "source.phase", session.step or session.status)
    others = {key: value for key, value in facts.items() if key not in _TAKEN and value not in (None, "", ())}
    artifacts = list(_artifacts(others, project))
    files = {each["fact"] for each in artifacts}
    others = {key: _plain(value) for key, value in others.items() if key not in files}
    if others:
        new = put(new, "payload.working.facts", others)
    for name in ("focus_areas", "success_criteria"):
        if listed := _list(facts, (name,)):
            new = put(new, f"context.{name}", listed)
    held = [{key: value for key, value in each.items() if key != "fact"} for each in artifacts]
    state = {"step": session.step, "status": session.status, "revision": session.revision}
    new = put(new, "payload.session", {"artifacts": held, "state": state})
    if handoff.approved:
        new = put(new, "meta.user_approved", True)
    if came := session.received.get("payload"):
        told, path = (
            f"the payload that the work came with from {session.received.get('from')}",
            now_at(str(came), folder),
        )
        new = put(
            new,
            "payload.references",
            {"files": [{"path": path, "description": told, "relevance": "important"}]},
        )
    tracing = {
        "events": [
            {"timestamp": now, "event_type": "created", "workflow": handoff.source, "details": handoff.id}
        ],
        **_some("parent_span_id", handoff.span_id),
    }
    return convert.counted(put(new, "tracing", tracing))


def _artifacts(facts: Mapping[str, Any], project: str) -> Iterable[dict[str, Any]]:
    """Yield the files that facts name, as far as they are there."""
    sums = _Sums()
    for name, value in facts.items():
        if not name.endswith(_FILE_ENDINGS):
            continue
        for path in [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
            full = os.path.join(project, str(path))
            checksum = sums.of(full)
            if checksum is None:
                continue
            kind = "analysis" if name.endswith(("_files", "_paths")) else "documentation"
            yield {
                "fact": name,
                "name": os.path.basename(full),
                "path": full,
                "type": kind,
                "description": name.replace("_", " "),
                **_some("checksum", checksum),
            }


class _Sums:
    """Checksums of files, each read once and in pieces: facts may name one file thousands of times."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._room = _MOST_SUMMED

    def of(self, path: str) -> str | None:
        """Return the checksum of a file, empty where no more are read; `None` where it is no file to hand over."""
        if path not in self._known:
            try:
                self._known[path] = self._read_file(path)
            except (OSError, ValueError):
                self._known[path] = None
        return self._known[path]

    def _read_file(self, path: str) -> str | None:
        with open(path, "rb", buffering=0, opener=_opener) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST_ARTIFACT:
                return None
            if about.st_size > self._room:
                return ""
            seen, size = sha256(), 0
            while piece := file.read(_PIECE):
                seen.update(piece)
                size += len(piece)
                if size > _LARGEST_ARTIFACT:  # it grew
                    return None
            self._room -= size
            return f"sha256:{seen.hexdigest()}"


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)


def _text(facts: Mapping[str, Any], names: Sequence[str]) -> str:
    found = (facts.get(name) for name in names)
    return next((each for each in found if isinstance(each, str) and each.strip()), "")


def _list(facts: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return the first of these that says anything; a text is a list in JSON, or a list of that one."""
    found = (_listed(facts.get(name)) for name in names)
    return next((each for each in found if each), [])


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) and value.strip():
        with suppress(ValueError, RecursionError):
            if isinstance(read := json.loads(value), list) and strict_json.problem(read) is None:
                return read
        return [value]
    return list(value) if isinstance(value, list | tuple) else []


def _some(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


def _theme(value: Any) -> Any:
    """THEME | ARCHETYPES | CONFIDENCE | EVIDENCE; EVIDENCE."""
    if not isinstance(value, str):
        return _plain(value)
    theme, who, sure, evidence = _parts(value, 4)
    number = _number(sure)
    return {
        "theme": theme,
        **({} if number is None else {"confidence_score": number}),
        **_some("contributing_archetypes", _split(who, ",")),
        **_some("key_evidence", _split(evidence, ";")),
    }


def _insight(value: Any) -> Any:
    """ARCHETYPE | INSIGHT | CONFIDENCE."""
    if not isinstance(value, str):
        return _plain(value)
    who, insight, sure = _parts(value, 3)
    if not insight:
        who, insight = "unnamed", who
    number = _number(sure)
    return {"archetype": who, "insight": insight, **({} if number is None else {"confidence": round(number)})}


def _term(value: Any) -> Any:
    """TERM | RATIONALE."""
    if not isinstance(value, str):
        return _plain(value)
    term, why = _parts(value, 2)
    return {"term": term, **_some("rationale", why)}


def _parts(text: str, count: int) -> list[str]:
    parts = [part.strip() for part in re.split(r"(?<=\s)\|(?=\s)", text, maxsplit=count - 1)]
    return [*parts, *[""] * (count - len(parts))]


def _split(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _number(text: str) -> float | None:
    """Return the number that *text* begins with; ``8/10`` and ``80 %`` are 8."""
    head = text.strip().split("/")[0].rstrip("% ").replace(",", ".")
    try:
        number = float(head)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return number / _TEN if text.rstrip().endswith("%") else number


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
