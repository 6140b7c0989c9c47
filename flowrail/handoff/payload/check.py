"""Find every problem of a payload at once: shape, related fields, hash, expiry, and files on disk.

A receiver is more lenient than a sender.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from flowrail.errors import DocumentError
from flowrail.handoff.errors import ERROR, EXPIRED, INTEGRITY, MAX_LISTED, WARNING, PayloadProblem
from flowrail.handoff.hops import LONG_CHAIN, format_chain
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import Payload, get, text_at, texts_at
from flowrail.handoff.payload.models import STRICT_SOURCE, STRICT_WORKFLOW_ID, shape_of
from flowrail.storage.files import list_names
from flowrail.text import yaml as yaml_text
from flowrail.text.phrases import moment
from flowrail.text.safe_text import in_quotes

PERSPECTIVE_SOURCES = frozenset({"perspective-swarm", "brainstorming-pm"})
"""Skills whose sessions hold one file per perspective."""


@dataclass(frozen=True)
class CheckRules:
    """How strictly to check. The rules for a sender are stricter than those for a receiver."""

    now: datetime
    sending: bool = False
    strict_v2: bool = False
    """Whether the source must be the only one that the published 2.0 schema allows."""
    allow_expired: bool = False
    own_folder: str = ""
    """A folder that sending creates, so it need not exist yet."""


@dataclass(frozen=True)
class CheckedPayload:
    """What is wrong with a payload."""

    version: str | None
    """The version of the document; `None` if it is not a payload."""
    findings: tuple[PayloadProblem, ...] = ()
    """Errors and warnings."""
    ignored: tuple[str, ...] = ()
    """The fields that the version does not define."""

    @property
    def errors(self) -> tuple[PayloadProblem, ...]:
        """The problems that make the payload invalid."""
        return tuple(problem for problem in self.findings if problem.severity == ERROR)


def check_payload(payload: Payload, rules: CheckRules) -> CheckedPayload:
    """Return every problem of *payload*."""
    if payload.problem is not None:
        return CheckedPayload(None, (payload.problem,))
    version, handoff = payload.version, payload.handoff
    problems, ignored = shape_of(version, handoff)
    if len(problems) > MAX_LISTED:
        more = f"has {len(problems) - MAX_LISTED} more problems"
        problems = [*problems[:MAX_LISTED], PayloadProblem("handoff", more)]
    if version == "3.0" and (parts := integrity.largest_parts(handoff)):
        problems = [problem for problem in problems if problem.field != "handoff.meta.token_count"]
        problems.append(_oversize(handoff, parts))
    elif not problems:
        problems = [*_related_fields(version, handoff, rules), *_files_on_disk(version, handoff, rules)]
    problems += [*_seal(version, handoff), *_time(version, handoff, rules)]
    return CheckedPayload(version, _with_lines(payload, problems), ignored)


def _with_lines(payload: Payload, problems: list[PayloadProblem]) -> tuple[PayloadProblem, ...]:
    try:
        document = yaml_text.load(payload.data.decode(), source=payload.source) if problems else None
    except DocumentError:  # JSON that YAML cannot read
        document = None
    if document is None:
        return tuple(problems)
    paths = [
        [int(part) if part.isascii() and part.isdigit() else part for part in problem.field.split(".")]
        for problem in problems
    ]
    return tuple(replace(p, line=document.line(tuple(path))) for p, path in zip(problems, paths, strict=True))


def _oversize(handoff: Mapping[str, object], parts: Mapping[str, int]) -> PayloadProblem:
    """Return the problem of a 3.0 payload that is too large, with advice on what to move to a file."""
    named = ", ".join(f"`{part}` ({number})" for part, number in parts.items())
    by_tier = ", ".join(f"{tier} {number}" for tier, number in integrity.tiers(handoff).items())
    return PayloadProblem(
        "handoff.payload",
        f"has {integrity.tokens(handoff.get('payload'))} tokens ({by_tier}); at most {integrity.MAX_TOKENS} "
        f"are allowed; move to a file: {named}",
    )


def _related_fields(
    version: str, handoff: Mapping[str, object], rules: CheckRules
) -> Iterator[PayloadProblem]:
    source, target = text_at(handoff, "source.skill"), text_at(handoff, "target.skill")
    if source == target:
        yield PayloadProblem("handoff.target.skill", f"is the source, `{in_quotes(source)}`, itself")
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
    created, expires = (moment(text_at(handoff, key)) for key in ("timestamp", "expires_at"))
    if created is not None and expires is not None and expires <= created:
        yield PayloadProblem("handoff.expires_at", "is not after the timestamp")
    workflow_id = text_at(handoff, "source.workflow_id")
    if version == "2.0" and rules.strict_v2:
        required = "; the published schema requires"
        if source != STRICT_SOURCE:
            message = f"is `{in_quotes(source)}`{required} `{STRICT_SOURCE}`"
            yield PayloadProblem("handoff.source.skill", message)
        if not re.fullmatch(STRICT_WORKFLOW_ID, workflow_id):
            message = (
                f"is `{in_quotes(workflow_id)}`{required} the form `swarm-session-YYYYMMDD-HHMMSS-xxxxxxxx`"
            )
            yield PayloadProblem("handoff.source.workflow_id", message)
    counted, declared = integrity.tokens(handoff.get("payload")), get(handoff, "meta.token_count")
    if version == "3.0" and counted != declared:
        message = f"is {declared}, but {counted} tokens were counted"
        yield PayloadProblem("handoff.meta.token_count", message, severity=WARNING)


def _files_on_disk(
    version: str, handoff: Mapping[str, object], rules: CheckRules
) -> Iterator[PayloadProblem]:
    path = text_at(handoff, "source.session_path")
    is_own = bool(rules.own_folder) and os.path.normpath(path) == os.path.normpath(rules.own_folder)
    if not is_own and not (os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)):
        message = f"is `{in_quotes(path)}`, which is not a readable folder here"
        severity = ERROR if rules.sending else WARNING
        yield PayloadProblem("handoff.source.session_path", message, severity=severity)
        return
    if text_at(handoff, "source.skill") not in PERSPECTIVE_SOURCES:
        return
    part = {"1.0": "context", "2.0": "meta", "3.0": "payload.working"}[version]
    declared, number = get(handoff, f"{part}.perspectives_completed"), _count_perspectives(handoff, path)
    # the folder of a handoff: the source has no session that could have files
    is_without_session = os.path.basename(os.path.dirname(path.rstrip("/"))) == "handoffs"
    if isinstance(declared, int) and declared != number and (number or not is_without_session):
        message = f"is {declared}, but {number} perspective files were found"
        yield PayloadProblem(f"handoff.{part}.perspectives_completed", message)


def _count_perspectives(handoff: Mapping[str, object], session: str) -> int:
    """Return how many perspective files there are: in the session's folder or its `work`, else those that are named.

    In a folder they are in `perspectives/`, or named `perspective-…`.
    """
    for folder in (session, os.path.join(session, "work")):
        for place, prefix in ((os.path.join(folder, "perspectives"), ""), (folder, "perspective-")):
            names = list_names(place)
            files = [name for name in names if name.startswith(prefix) and not name.startswith(".")]
            if number := sum(os.path.isfile(os.path.join(place, name)) for name in files):
                return number
    lists = ("payload.session.artifacts", "payload.references.files", "references.files")
    named = [file for field in lists for file in get(handoff, field) or ()]
    return sum(os.path.isfile(f["path"]) for f in named if f.get("description") == "perspective files")


def _seal(version: str, handoff: Mapping[str, object]) -> Iterator[PayloadProblem]:
    if version == "1.0":
        return
    declared, declared_size = (
        get(handoff, f"meta.{name}") for name in ("payload_hash", "payload_size_bytes")
    )
    seals = integrity.accepted_seals(version, handoff)
    digest, size = next((seal for seal in seals if seal[0] == declared), seals[0])
    if declared is None:
        message = "is missing, so nothing proves that this is what was sent"
        yield PayloadProblem("handoff.meta.payload_hash", message, INTEGRITY, WARNING)
    elif isinstance(declared, str) and declared != digest:
        message = f"is not the hash of the content, {digest}"
        yield PayloadProblem("handoff.meta.payload_hash", message, INTEGRITY)
    if isinstance(declared_size, int) and declared_size != size:
        message = f"is {declared_size}, but the content has {size} bytes"
        yield PayloadProblem("handoff.meta.payload_size_bytes", message, INTEGRITY)


def _time(version: str, handoff: Mapping[str, object], rules: CheckRules) -> Iterator[PayloadProblem]:
    expires, created = integrity.expiry(version, handoff), moment(text_at(handoff, "timestamp"))
    if expires is not None and integrity.has_expired(expires, rules.now):
        severity = WARNING if rules.allow_expired else ERROR
        message = f"has passed: {integrity.stamp(expires)}"
        yield PayloadProblem("handoff.expires_at", message, EXPIRED, severity)
    if created is not None and created > rules.now + integrity.CLOCK_SKEW:
        yield PayloadProblem("handoff.timestamp", f"is in the future: {integrity.stamp(created)}")
