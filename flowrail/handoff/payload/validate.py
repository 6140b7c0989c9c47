"""Find every problem of a payload at once: shape, related fields, hash, expiry, and files on disk.

Each version has its own model. A receiver is more lenient than a sender.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from flowrail.handoff.chain import LONG_CHAIN, format_chain
from flowrail.handoff.errors import ERROR, EXPIRED, INTEGRITY, WARNING, PayloadProblem, first_of
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import Payload, get, text_at, texts_at
from flowrail.handoff.payload.models import (
    MODELS,
    STRICT_SOURCE,
    STRICT_WORKFLOW_ID,
    problems_of,
    unknown_fields,
)
from flowrail.text.phrases import moment
from flowrail.text.safe_text import in_quotes

PERSPECTIVE_SOURCES = frozenset({"perspective-swarm", "brainstorming-pm"})
"""Skills whose sessions hold one file per perspective."""


@dataclass(frozen=True)
class ValidationRules:
    """How strictly to validate. The rules for a sender are stricter than those for a receiver."""

    now: datetime
    sending: bool = False
    strict_v2: bool = False
    """Whether the source must be the only one that the published 2.0 schema allows."""
    allow_expired: bool = False
    own_folder: str = ""
    """A folder that sending creates, so it need not exist yet."""


@dataclass(frozen=True)
class ValidationResult:
    """The problems of a payload, and the fields that its version does not define."""

    version: str
    problems: tuple[PayloadProblem, ...]
    ignored: tuple[str, ...] = ()


def validate(payload: Payload, rules: ValidationRules) -> ValidationResult:
    """Return every problem of *payload*."""
    if payload.problems:
        return ValidationResult("", payload.problems)
    version, handoff = payload.version, payload.handoff
    problems = first_of(shape_problems(version, handoff))
    if version == "3.0" and (oversize := _oversize(handoff)):
        problems = [*(p for p in problems if p.field != "handoff.meta.token_count"), oversize]
    elif not problems:
        problems = [*_related_fields(version, handoff, rules), *_files_on_disk(version, handoff, rules)]
    problems += [*_seal(version, handoff), *_time(version, handoff, rules)]
    ignored = tuple(unknown_fields(MODELS[version], {"handoff": handoff}))
    return ValidationResult(version, _with_lines(payload, problems), ignored)


def shape_problems(version: str, handoff: Mapping[str, object]) -> list[PayloadProblem]:
    """Return where *handoff* does not have the shape of its version."""
    problems = problems_of(MODELS[version], {"handoff": handoff})
    if "version" in handoff and not isinstance(handoff["version"], str):
        message = f'is a number; write it as text, "{version}"'
        problems = [replace(p, message=message) if p.field == "handoff.version" else p for p in problems]
    return problems


def perspective_files(path: str) -> list[str]:
    """Return the perspective files of a session: those in `perspectives/`, or named `perspective-…`.

    Both may also be in its folder for working files.
    """
    for folder in (path, os.path.join(path, "work")):
        paths = _files_in(os.path.join(folder, "perspectives"), "") or _files_in(folder, "perspective-")
        if paths:
            return paths
    return []


def _files_in(folder: str, prefix: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    matches = [name for name in names if name.startswith(prefix) and not name.startswith(".")]
    return [name for name in matches if os.path.isfile(os.path.join(folder, name))]


def _named_perspectives(handoff: Mapping[str, object]) -> list[str]:
    """Return the existing perspective files that a payload names."""
    named = [
        *(get(handoff, "payload.session.artifacts") or ()),
        *(get(handoff, "payload.references.files") or ()),
        *(get(handoff, "references.files") or ()),
    ]
    paths = [item["path"] for item in named if item.get("description") == "perspective files"]
    return [path for path in paths if os.path.isfile(path)]


def _with_lines(payload: Payload, problems: list[PayloadProblem]) -> tuple[PayloadProblem, ...]:
    document = payload.lines() if problems else None
    if document is None:
        return tuple(problems)
    return tuple(replace(problem, line=document.line(_path(problem.field))) for problem in problems)


def _path(field: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isascii() and part.isdigit() else part for part in field.split("."))


def _related_fields(
    version: str, handoff: Mapping[str, object], rules: ValidationRules
) -> Iterator[PayloadProblem]:
    source, target = text_at(handoff, "source.skill"), text_at(handoff, "target.skill")
    if source and source == target:
        yield PayloadProblem("handoff.target.skill", f"is the source, `{in_quotes(source)}`, itself")
    yield from _chain(version, handoff, source, target)
    created, expires = (moment(text_at(handoff, key)) for key in ("timestamp", "expires_at"))
    if created is not None and expires is not None and expires <= created:
        yield PayloadProblem("handoff.expires_at", "is not after the timestamp")
    if version == "2.0" and rules.strict_v2:
        yield from _strict_source(source, text_at(handoff, "source.workflow_id"))
    counted, declared = integrity.token_count(handoff), get(handoff, "meta.token_count")
    if version == "3.0" and counted != declared:
        message = f"is {declared}, but {counted} tokens were counted"
        yield PayloadProblem("handoff.meta.token_count", message, severity=WARNING)


def _strict_source(skill: str, workflow_id: str) -> Iterator[PayloadProblem]:
    """Yield how the source differs from the only one that the published 2.0 schema allows."""
    if skill != STRICT_SOURCE:
        message = f"is `{in_quotes(skill)}`; the published schema requires `{STRICT_SOURCE}`"
        yield PayloadProblem("handoff.source.skill", message)
    if not re.fullmatch(STRICT_WORKFLOW_ID, workflow_id):
        form = "swarm-session-YYYYMMDD-HHMMSS-xxxxxxxx"
        message = f"is `{in_quotes(workflow_id)}`; the published schema requires the form `{form}`"
        yield PayloadProblem("handoff.source.workflow_id", message)


def _chain(version: str, handoff: Mapping[str, object], source: str, target: str) -> Iterator[PayloadProblem]:
    field, chain = "handoff.meta.handoff_chain", texts_at(handoff, "meta.handoff_chain")
    if chain and chain[-1] != source:
        message = f"ends with `{in_quotes(chain[-1])}`, not with the source `{in_quotes(source)}`"
        yield PayloadProblem(field, message)
    if target in chain and target != source:
        message = f"already contains `{in_quotes(target)}`: {format_chain(chain, target)} may be a loop"
        yield PayloadProblem(field, message, severity=WARNING)
    if len(chain) > LONG_CHAIN and get(handoff, "meta.user_approved") is not True:
        message = f"has {len(chain)} skills; more than {LONG_CHAIN} need the user's approval"
        yield PayloadProblem(field, message, severity=ERROR if version == "3.0" else WARNING)


def _oversize(handoff: Mapping[str, object]) -> PayloadProblem | None:
    message = integrity.oversize(handoff) if isinstance(get(handoff, "payload.working"), Mapping) else ""
    return PayloadProblem("handoff.payload", message) if message else None


def _files_on_disk(
    version: str, handoff: Mapping[str, object], rules: ValidationRules
) -> Iterator[PayloadProblem]:
    field = "source.session_path"
    path = text_at(handoff, field)
    is_own = bool(rules.own_folder) and os.path.normpath(path) == os.path.normpath(rules.own_folder)
    if not is_own and not (os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)):
        message = f"is `{in_quotes(path)}`, which is not a readable folder here"
        severity = ERROR if rules.sending else WARNING
        yield PayloadProblem(f"handoff.{field}", message, severity=severity)
    elif text_at(handoff, "source.skill") in PERSPECTIVE_SOURCES:
        yield from _perspectives(version, handoff, path)


def _perspectives(version: str, handoff: Mapping[str, object], path: str) -> Iterator[PayloadProblem]:
    part = {"1.0": "context", "2.0": "meta", "3.0": "payload.working"}[version]
    declared = get(handoff, f"{part}.perspectives_completed")
    paths = perspective_files(path) or _named_perspectives(handoff)
    if not paths and os.path.basename(os.path.dirname(path.rstrip("/"))) == "handoffs":
        return  # the folder of a handoff: the source has no session that could have files
    if isinstance(declared, int) and declared != len(paths):
        message = f"is {declared}, but {len(paths)} perspective files were found"
        yield PayloadProblem(f"handoff.{part}.perspectives_completed", message)


def _seal(version: str, handoff: Mapping[str, object]) -> Iterator[PayloadProblem]:
    if version not in {"2.0", "3.0"}:
        return
    field = "handoff.meta.payload_hash"
    declared, declared_size = get(handoff, "meta.payload_hash"), get(handoff, "meta.payload_size_bytes")
    seals = integrity.accepted_seals(version, handoff)
    seal = next((seal for seal in seals if seal.hash == declared), seals[0])
    if declared is None:
        message = "is missing, so nothing proves that this is what was sent"
        yield PayloadProblem(field, message, INTEGRITY, WARNING)
    elif isinstance(declared, str) and declared != seal.hash:
        yield PayloadProblem(field, f"is not the hash of the content, {seal.hash}", INTEGRITY)
    if isinstance(declared_size, int) and declared_size != seal.size:
        message = f"is {declared_size}, but the content has {seal.size} bytes"
        yield PayloadProblem("handoff.meta.payload_size_bytes", message, INTEGRITY)


def _time(version: str, handoff: Mapping[str, object], rules: ValidationRules) -> Iterator[PayloadProblem]:
    expires = integrity.expiry(version, handoff)
    if expires is not None and integrity.has_expired(expires, rules.now):
        severity = WARNING if rules.allow_expired else ERROR
        yield PayloadProblem(
            "handoff.expires_at", f"has passed: {integrity.stamp(expires)}", EXPIRED, severity
        )
    created = moment(text_at(handoff, "timestamp"))
    if created is not None and integrity.is_in_future(created, rules.now):
        yield PayloadProblem("handoff.timestamp", f"is in the future: {integrity.stamp(created)}")
