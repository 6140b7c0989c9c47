"""Turn a caller's request into a handoff: source, target, payload version, chain and hops."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import TRIGGER, Candidate, is_plain
from flowrail.discovery.compatibility import normal_version
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.scores import default_problem_type
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
from flowrail.handoff.handoff import ACKNOWLEDGMENT, INVOCATION, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import SourceWork, facts_of, received_work, work_of
from flowrail.handoff.payload.convert import content
from flowrail.handoff.payload.document import DEFAULT_FORM, Payload, read_file, text_at, texts_at
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.machines.sessions.session import ReceivedWork, Session
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import in_quotes


@dataclass(frozen=True)
class HandoffRequest:
    """A request to hand off work. The target decides on empty values."""

    target: str
    session: str = ""
    skill: str = ""
    """The source, if it has no session."""
    payload: str = ""
    """A file that this skill wrote, or that it received."""
    reason: str = ""
    yes: bool = False
    """Whether the user wants a target that had the work before."""
    approved: bool = False
    """Whether the user approved a chain of more than five skills."""
    health: bool = False
    schema: str = ""
    form: str = ""
    facts: Mapping[str, Any] = Frozen()
    again: bool = False
    """Whether work that was received before is sent again."""
    new: bool = False
    """Whether this is new work, and not what the skill received."""


@dataclass(frozen=True)
class HandoffSource:
    """The skill that hands off, and its work."""

    skill: str
    chain: tuple[str, ...]
    """The skills that the work came through; this one is last."""
    session: Session | None = None
    received: ReceivedWork | None = None
    """How the work came to the skill."""
    facts: Mapping[str, Any] = Frozen()
    """Facts from a payload that the skill wrote."""
    notes: tuple[str, ...] = ()
    """What the caller should know about the chain."""

    def work(self, context: HandoffContext, handoff: Handoff, folder: str) -> SourceWork:
        """Return what the payload of *handoff* is built from."""
        candidates = context.discover().candidates
        problem_type = default_problem_type(
            next((c.categories for c in candidates if c.skill == self.skill), ())
        )
        if self.session is not None:
            return work_of(self.session, folder=folder, problem_type=problem_type)
        return SourceWork(
            self.skill, handoff.id, {}, folder, phase="handoff", received=self.received,
            problem_type=problem_type,
        )  # fmt: skip


def source_of(session: Session) -> HandoffSource:
    """Return a session as the source of a handoff."""
    return HandoffSource(session.skill, chain_of(session), session, session.received)


def skill_source(
    context: HandoffContext, skill: str, payload: str = "", *, new: bool = False
) -> HandoffSource:
    """Return a skill without a session as the source of a handoff.

    The chain continues from the payload that the skill received: the one in the file *payload*, or the newest that was
    sent to it here, even if the skill has not confirmed it. If the skill wrote the file itself, the facts come from it.
    *new* work begins a chain.
    """
    _refuse_unknown_skill(context, skill)
    if payload:
        return _source_in_file(context, skill, read_file(os.path.abspath(payload)))
    received = [
        handoff
        for handoff in context.handoffs.own_ones()
        if handoff.target == skill and handoff.phase in {ACKNOWLEDGMENT, INVOCATION}
    ]
    newest = max(received, key=_arrived_at, default=None)
    if newest is None or new:
        return HandoffSource(skill, (skill,))
    arrived = Payload(newest.schema, newest.content, newest.sha256, newest.size, newest.payload)
    note = f"continues the work received in {newest.id}"
    if newest.phase == INVOCATION:
        note += f", although `{skill}` has not confirmed it; add --new if this is new work"
    work = received_work(newest, arrived, newest.payload)
    return HandoffSource(skill, extend_chain(newest.chain, skill), received=work, notes=(note,))


def requested(
    context: HandoffContext, request: HandoffRequest, source: HandoffSource, target: Candidate
) -> Handoff:
    """Return the requested handoff before its first phase; refused if the chain may not grow by the target."""
    received = source.received
    version = request.schema or normal_version(target.schema_version)
    random = context.random(24)
    handoff = Handoff(
        id=context.handoffs.new_id(context.random),
        source=source.skill,
        target=target.skill,
        session=source.session.id if source.session else "",
        revision=source.session.revision if source.session else 0,
        schema=version,
        form=request.form or DEFAULT_FORM[version],
        trace_id=(received.trace_id if received else "") or str(UUID(bytes=random[:16], version=4)),
        span_id=random[16:].hex(),
        parent_span=received.span_id if received else "",
        chain=source.chain,
        hops=_next_hop(context, received),
        continues=received.handoff if received and not source.session else "",
        reason=request.reason.strip(),
        yes=request.yes,
        approved=request.approved,
        health=request.health,
        facts={**source.facts, **request.facts},
        started_at=context.now(),
    )
    handoff = with_target(handoff, target)
    handoff = replace(handoff, request=_request_id(handoff, received))
    refuse_disallowed_chain(handoff)
    return handoff


def with_target(handoff: Handoff, target: Candidate) -> Handoff:
    """Return *handoff* with its target as it is now."""
    entry = None if target.remote else entry_file(os.path.dirname(target.path), target.skill)
    return replace(
        handoff,
        target_path=target.path,
        target_digest=skill_file_digest(target),
        target_schema=target.schema_version,
        trigger=trigger_template(target.trigger, target.skill),
        has_workflow=entry is not None,
        root=extra_root(target),
    )


def refuse_disallowed_chain(handoff: Handoff) -> None:
    """Refuse a handoff whose chain may not grow by its target."""
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


def _refuse_unknown_skill(context: HandoffContext, skill: str) -> None:
    """Refuse a source that is not installed here, is not bundled, and never received work here."""
    known = context.skills()
    if skill in known or any(handoff.target == skill for handoff in context.handoffs.own_ones()):
        return
    raise TargetNotFoundError(
        f"unknown skill `{in_quotes(skill[:80])}`",
        hint=did_you_mean(skill, sorted(known), Hint("list the installed skills: ", Command("list"))),
        recoverable=True,
        target_skill=skill[:80],
    )


def _source_in_file(context: HandoffContext, skill: str, payload: Payload) -> HandoffSource:
    """Return the source of a payload that *skill* wrote or received."""
    rules = ValidationRules(context.current_time(), allow_expired=True)
    if errors(problems := validate(payload, rules).problems):
        hint = Hint("see all problems: ", Command("handoff check", payload.source))
        raise payload_refusal(f"{payload.source} is not a payload to hand off", problems, hint=hint)
    fields = content(payload.version, payload.handoff)
    chain = tuple(texts_at(fields, "meta.handoff_chain"))
    source, target = text_at(fields, "source.skill"), text_at(fields, "target.skill")
    if target == skill:
        identity = integrity.identity(payload.version, payload.handoff)
        known = [handoff for handoff in context.handoffs.own_ones() if handoff.identity == identity]
        unknown = Handoff(id="", source=source, target=target, hops=len(chain), foreign=True)
        work = received_work(known[0] if known else unknown, payload, payload.source)
        note = f"continues the work received in {work.handoff or payload.source}"
        return HandoffSource(skill, extend_chain(chain, skill), received=work, notes=(note,))
    if source == skill:
        facts = facts_of(payload, inside=(context.project, context.store.path))
        return HandoffSource(skill, extend_chain(chain, skill), facts=facts)
    raise InvalidPayloadError(
        f"{payload.source} goes from `{in_quotes(source)}` to `{in_quotes(target)}`, not from or to `{skill}`",
        hint="name the payload that the skill received, or one that it wrote",
        recoverable=True,
        missing_fields=[],
        validation_errors=["the skill is neither the source nor the target of the payload"],
    )


def _arrived_at(handoff: Handoff) -> str:
    return handoff.claim.at if handoff.claim else handoff.started_at


def _next_hop(context: HandoffContext, received: ReceivedWork | None) -> int:
    """Return the number of this hop according to our own records."""
    if received is None:
        return 1
    hops = [earlier.hops for earlier in context.handoffs.own_ones() if earlier.id == received.handoff]
    return max([received.hops, *hops]) + 1


def _request_id(handoff: Handoff, received: ReceivedWork | None) -> str:
    parts = [
        handoff.source, handoff.session, handoff.revision, handoff.target, handoff.schema, handoff.form,
        handoff.reason, handoff.health, handoff.facts, received.sha256 if received and not handoff.session else "",
    ]  # fmt: skip
    return sha256_hex(integrity.canonical(parts))[:16]


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
                hint=Hint("list the skills that can: ", Command("discover")),
                target_skill=name[:80],
            )
    names = sorted(candidate.skill for candidate in discovery.candidates)
    raise TargetNotFoundError(
        f"no skill named `{quoted}` accepts handoffs",
        hint=did_you_mean(name, names, Hint("list the skills that do: ", Command("discover"))),
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
