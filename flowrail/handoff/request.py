"""What a caller wants to hand off, turned into a handoff: target, payload version, chain and hops."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.index import AmbiguousSkillError, Discovery, UnknownCandidateError
from flowrail.discovery.locations import Scope
from flowrail.discovery.scan.eligibility import is_plain
from flowrail.errors import DocumentError
from flowrail.handoff.chain import chain_of, judge_handoff
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import TargetNotFoundError, ValidationFailedError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import DEFAULT_FORM
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.machines.sessions.session import ReceivedWork, Session
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text.suggestions import did_you_mean

WRITTEN_VERSIONS = ("2.0", "3.0")
"""The payload versions that `send` writes. Older ones are only read."""


class HandoffRequest(NamedTuple):
    """What to hand off and how. Empty values are left to the target."""

    target: str
    session: str
    reason: str = ""
    yes: bool = False
    approved: bool = False
    health: bool = False
    schema: str = ""
    form: str = ""
    facts: Mapping[str, Any] = {}


def new_handoff(
    context: HandoffContext, request: HandoffRequest, session: Session, target: HandoffTarget
) -> Handoff:
    """Return the requested handoff before its first phase; refused if the chain may not grow by the target."""
    candidate, received = target.candidate, session.received
    version = _payload_version(request, candidate.schema_version)
    random = context.random(24)
    handoff = Handoff(
        id=context.handoffs.new_id(context.random),
        source=session.skill,
        target=candidate.skill,
        session=session.id,
        revision=session.revision,
        schema=version,
        form=request.form or DEFAULT_FORM[version],
        trace_id=(received.trace_id if received else "") or str(UUID(bytes=random[:16], version=4)),
        span_id=random[16:].hex(),
        parent_span=received.span_id if received else "",
        chain=chain_of(session),
        hops=_next_hop(context, received),
        reason=request.reason.strip(),
        yes=request.yes,
        approved=request.approved,
        health=request.health,
        facts=dict(request.facts),
        started_at=context.now(),
    )
    handoff = _with_target(handoff, target)
    handoff = handoff._replace(request=_identity(handoff))
    _refuse_disallowed_chain(handoff)
    return handoff


def retried_handoff(handoff: Handoff, request: HandoffRequest, target: HandoffTarget) -> Handoff:
    """Return a failed handoff for another attempt, with the target as it is now and what *request* adds."""
    handoff = _with_target(handoff, target)._replace(
        checks=(),
        failure=None,
        reason=request.reason.strip() or handoff.reason,
        yes=request.yes or handoff.yes,
        approved=request.approved or handoff.approved,
        facts={**handoff.facts, **request.facts},
    )
    _refuse_disallowed_chain(handoff)
    return handoff


def _with_target(handoff: Handoff, target: HandoffTarget) -> Handoff:
    candidate = target.candidate
    return handoff._replace(
        target_path=candidate.path,
        target_digest=target.digest,
        target_schema=candidate.schema_version,
        trigger=trigger_template(candidate.trigger, candidate.skill),
        has_workflow=target.has_workflow,
        root=target.root,
    )


def _payload_version(request: HandoffRequest, declared: str) -> str:
    reads = normal_version(declared)
    version = request.schema or (reads if reads in WRITTEN_VERSIONS else WRITTEN_VERSIONS[-1])
    if not request.schema and not compatibility(version, reads).possible:
        version = WRITTEN_VERSIONS[0]
    return version


def _next_hop(context: HandoffContext, received: ReceivedWork | None) -> int:
    """Return the number of this hop according to our own records."""
    if received is None:
        return 1
    hops = [earlier.hops for earlier in context.handoffs.own_ones() if earlier.id == received.handoff]
    return max([received.hops, *hops]) + 1


def _identity(handoff: Handoff) -> str:
    parts = [
        handoff.session, handoff.revision, handoff.target, handoff.schema, handoff.form, handoff.reason,
        handoff.health, handoff.facts,
    ]  # fmt: skip
    return sha256(integrity.canonical(parts)).hexdigest()[:16]


def _refuse_disallowed_chain(handoff: Handoff) -> None:
    verdict = judge_handoff(handoff)
    if not verdict.allowed:
        raise ValidationFailedError(
            verdict.message,
            hint=verdict.hint,
            recoverable=verdict.fixable,
            rule=verdict.code,
            chain=[*handoff.chain, handoff.target],
            hops=handoff.hops,
            target_skill=handoff.target,
            validation_errors=[verdict.message],
        )


class HandoffTarget(NamedTuple):
    """A candidate, the digest of its SKILL.md (empty if it is remote), and whether it has a workflow."""

    candidate: Candidate
    digest: str
    has_workflow: bool

    @property
    def root(self) -> str:
        """The folder named with ``--root`` that contains the target. Without it nobody would find the target."""
        return extra_root(self.candidate)


def choose_target(discovery: Discovery, name: str) -> HandoffTarget:
    """Return the target *name*. An unknown or ambiguous name is refused with the known names."""
    try:
        candidate = discovery.find(name)
    except AmbiguousSkillError as error:
        skills = error.details.get("skills")
        raise TargetNotFoundError(
            error.message, hint=error.hint, recoverable=True, target_skill=name, skills=skills
        ) from None
    except UnknownCandidateError:
        known = sorted(candidate.skill for candidate in discovery.candidates)
        raise TargetNotFoundError(
            f"no skill named `{name[:80]}` accepts handoffs",
            hint=did_you_mean(name, known, Hint("list the skills that do: ", Command("handoff targets"))),
            recoverable=True,
            target_skill=name[:80],
            skills=known,
        ) from None
    folder = os.path.dirname(candidate.path)
    has_workflow = not candidate.remote and entry_file(folder, candidate.skill) is not None
    return HandoffTarget(candidate, skill_file_digest(candidate), has_workflow)


def extra_root(candidate: Candidate) -> str:
    """Return the folder named with ``--root`` that contains *candidate*, or an empty text."""
    return candidate.root if candidate.scope is Scope.EXTRA else ""


def skill_file_digest(candidate: Candidate) -> str:
    """Return the digest of the target's SKILL.md, or an empty text if it cannot be read here."""
    if candidate.remote:
        return ""
    try:
        data = files.read_bounded(
            candidate.path, limit=limits.JSON_BYTES, what="the target's SKILL.md", follow=True
        )
    except DocumentError:
        return ""
    return sha256(data).hexdigest()


PLACEHOLDER = "{payload_path}"


def trigger_template(trigger: str, skill: str) -> str:
    """Return the line with its placeholder. A trigger with shell operators is replaced by the placeholder."""
    words = "".join(char if char.isprintable() else " " for char in trigger)
    text = (" ".join(words.split()) if is_plain(words) else "") or PLACEHOLDER
    for quote in "\"'":  # the path is quoted when it is put in
        text = text.replace(f"{quote}{PLACEHOLDER}{quote}", PLACEHOLDER)
    if PLACEHOLDER not in text:
        text = f"{text} {PLACEHOLDER}"
    return text if text.startswith("/") else f"/{shlex.quote(skill)} {text}"


def trigger_line(trigger: str, skill: str, path: str) -> str:
    """Return the line with the payload's path."""
    return trigger_template(trigger, skill).replace(PLACEHOLDER, shlex.quote(path))
