"""Turn a caller's request into a handoff: target, payload version, chain and hops."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import normal_version
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.scores import default_problem_type
from flowrail.discovery.scan.eligibility import TRIGGER, is_plain
from flowrail.errors import DocumentError
from flowrail.handoff.chain import chain_of, extend_chain, judge_handoff
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    InvalidPayloadError,
    TargetNotFoundError,
    ValidationFailedError,
    errors,
    payload_refusal,
)
from flowrail.handoff.handoff import ACKNOWLEDGMENT, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import facts_of, received_work
from flowrail.handoff.payload.convert import content
from flowrail.handoff.payload.document import DEFAULT_FORM, Payload, read_file, text_at, texts_at
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.machines.sessions.session import ReceivedWork, Session
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import in_quotes


class HandoffRequest(NamedTuple):
    """A request to hand off work. The target decides on empty values.

    The source is a ``session``, or a ``skill`` without one. ``payload`` is a file that such a skill wrote, or that it
    received. ``again`` sends work that was received before.
    """

    target: str
    session: str = ""
    reason: str = ""
    yes: bool = False
    approved: bool = False
    health: bool = False
    schema: str = ""
    form: str = ""
    facts: Mapping[str, Any] = {}
    skill: str = ""
    payload: str = ""
    again: bool = False


class HandoffSource(NamedTuple):
    """The skill that hands off: its session if it has one, the handoff by which it received the work, and its facts."""

    skill: str
    chain: tuple[str, ...]
    session: str = ""
    revision: int = 0
    received: ReceivedWork | None = None
    facts: Mapping[str, Any] = {}


def source_of(session: Session) -> HandoffSource:
    """Return a session as the source of a handoff."""
    return HandoffSource(session.skill, chain_of(session), session.id, session.revision, session.received)


def skill_source(context: HandoffContext, skill: str, payload: str) -> HandoffSource:
    """Return a skill without a session as the source of a handoff.

    The chain continues from the payload that the skill received: the one in the file *payload*, or the newest that it
    acknowledged here. If the skill wrote the file itself, the facts come from it.
    """
    if payload:
        return _source_in_file(context, skill, read_file(os.path.abspath(payload)))
    received = [
        handoff
        for handoff in context.handoffs.own_ones()
        if handoff.phase == ACKNOWLEDGMENT and handoff.target == skill
    ]
    newest = max(received, key=lambda handoff: handoff.claim.at if handoff.claim else "", default=None)
    if newest is None:
        return HandoffSource(skill, (skill,))
    arrived = _payload_of(newest)
    work = received_work(newest, arrived, newest.payload) if arrived else None
    return HandoffSource(skill, extend_chain(newest.chain, skill), received=work)


def new_handoff(
    context: HandoffContext, request: HandoffRequest, source: HandoffSource, target: Candidate
) -> Handoff:
    """Return the requested handoff before its first phase; refused if the chain may not grow by the target."""
    received = source.received
    version = request.schema or normal_version(target.schema_version)
    random = context.random(24)
    handoff = Handoff(
        id=context.handoffs.entries.new_id("handoff", context.random),
        source=source.skill,
        target=target.skill,
        session=source.session,
        revision=source.revision,
        schema=version,
        form=request.form or DEFAULT_FORM[version],
        trace_id=(received.trace_id if received else "") or str(UUID(bytes=random[:16], version=4)),
        span_id=random[16:].hex(),
        parent_span=received.span_id if received else "",
        chain=source.chain,
        hops=_next_hop(context, received),
        reason=request.reason.strip(),
        yes=request.yes,
        approved=request.approved,
        health=request.health,
        facts={**source.facts, **request.facts},
        problem_type=_problem_type(context, source.skill),
        received=None if source.session else received,
        started_at=context.now(),
    )
    handoff = _with_target(handoff, target)
    handoff = handoff._replace(request=_identity(handoff))
    _refuse_disallowed_chain(handoff)
    return handoff


def retried_handoff(handoff: Handoff, request: HandoffRequest, target: Candidate) -> Handoff:
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


def _with_target(handoff: Handoff, target: Candidate) -> Handoff:
    entry = None if target.remote else entry_file(os.path.dirname(target.path), target.skill)
    return handoff._replace(
        target_path=target.path,
        target_digest=skill_file_digest(target),
        target_schema=target.schema_version,
        trigger=trigger_template(target.trigger, target.skill),
        has_workflow=entry is not None,
        root=extra_root(target),
    )


def _source_in_file(context: HandoffContext, skill: str, payload: Payload) -> HandoffSource:
    """Return the source that a payload describes: it was sent to the skill, or the skill wrote it."""
    rules = ValidationRules(context.current_time(), allow_expired=True)
    if errors(problems := validate(payload, rules).problems):
        hint = Hint("see all problems: ", Command("handoff check", payload.source))
        raise payload_refusal(f"{payload.source} is not a payload to hand off", problems, hint=hint)
    fields = content(payload.version, payload.handoff)
    chain = tuple(texts_at(fields, "meta.handoff_chain"))
    source, target = text_at(fields, "source.skill"), text_at(fields, "target.skill")
    if target == skill:
        known = [handoff for handoff in context.handoffs.own_ones() if handoff.digest == payload.digest]
        unknown = Handoff(id="", source=source, target=target, hops=len(chain), foreign=True)
        work = received_work(known[0] if known else unknown, payload, payload.source)
        return HandoffSource(skill, extend_chain(chain, skill), received=work)
    if source == skill:
        return HandoffSource(skill, extend_chain(chain, skill), facts=facts_of(payload))
    raise InvalidPayloadError(
        f"{payload.source} goes from `{in_quotes(source)}` to `{in_quotes(target)}`, not from or to `{skill}`",
        hint="name the payload that the skill received, or one that it wrote",
        recoverable=True,
        missing_fields=[],
        validation_errors=["the skill is neither the source nor the target of the payload"],
    )


def _payload_of(handoff: Handoff) -> Payload | None:
    """Return the payload of a handoff: from its file, or from our record if the file is gone."""
    try:
        return read_file(handoff.payload)
    except DocumentError:
        draft = handoff.draft
        return (
            Payload(handoff.schema, draft, handoff.digest, handoff.size, handoff.payload) if draft else None
        )


def _problem_type(context: HandoffContext, skill: str) -> str:
    """Return the problem type of work by *skill*, if it reports none."""
    candidates = context.discover().candidates
    return default_problem_type(next((c.categories for c in candidates if c.skill == skill), ()))


def _next_hop(context: HandoffContext, received: ReceivedWork | None) -> int:
    """Return the number of this hop according to our own records."""
    if received is None:
        return 1
    hops = [earlier.hops for earlier in context.handoffs.own_ones() if earlier.id == received.handoff]
    return max([received.hops, *hops]) + 1


def _identity(handoff: Handoff) -> str:
    parts = [
        handoff.source, handoff.session, handoff.revision, handoff.target, handoff.schema, handoff.form,
        handoff.reason, handoff.health, handoff.facts, handoff.received.sha256 if handoff.received else "",
    ]  # fmt: skip
    return sha256_hex(integrity.canonical(parts))[:16]


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


def choose_target(discovery: Discovery, name: str) -> Candidate:
    """Return the target *name*. An unknown or ambiguous name is refused with the known names."""
    matches, quoted = discovery.named(name), in_quotes(name[:80])
    if len(matches) == 1:
        return matches[0]
    if matches:
        folders = [candidate.skill for candidate in matches]
        raise TargetNotFoundError(
            f"{len(folders)} skills have the name `{quoted}`",
            hint=f"use the name of its folder: {', '.join(map(in_quotes, folders))}",
            recoverable=True,
            target_skill=name[:80],
            skills=folders,
        )
    for skipped in discovery.skipped:
        if skipped.skill == name and skipped.is_skill:
            raise TargetNotFoundError(
                f"the skill `{quoted}` cannot take over work: {skipped.reason}",
                hint=Hint("list the skills that can: ", Command("handoff targets")),
                target_skill=name[:80],
            )
    names = sorted(candidate.skill for candidate in discovery.candidates)
    raise TargetNotFoundError(
        f"no skill named `{quoted}` accepts handoffs",
        hint=did_you_mean(name, names, Hint("list the skills that do: ", Command("handoff targets"))),
        recoverable=True,
        target_skill=name[:80],
        skills=names,
    )


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
    return sha256_hex(data)


def trigger_template(trigger: str, skill: str) -> str:
    """Return the line with its placeholder. A trigger with shell operators is replaced by the placeholder."""
    printable = "".join(char if char.isprintable() else " " for char in trigger)
    text = (" ".join(printable.split()) if is_plain(printable) else "") or TRIGGER
    for quote in "\"'":  # the path is quoted when it is inserted
        text = text.replace(f"{quote}{TRIGGER}{quote}", TRIGGER)
    if TRIGGER not in text:
        text = f"{text} {TRIGGER}"
    return text if text.startswith("/") else f"/{shlex.quote(skill)} {text}"


def trigger_line(trigger: str, skill: str, path: str) -> str:
    """Return the line with the payload's path."""
    return trigger_template(trigger, skill).replace(TRIGGER, shlex.quote(path))
