"""Where the work of a handoff comes from and where it goes: the source, the target, and the chain between them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import TRIGGER, Candidate, is_plain
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.scores import default_problem_type
from flowrail.errors import DocumentError
from flowrail.handoff.errors import InvalidPayloadError, TargetNotFoundError, payload_refusal
from flowrail.handoff.handoff import ACKNOWLEDGMENT, INVOCATION, Handoff, HandoffRequest
from flowrail.handoff.hops import chain_of, extend_chain
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import HandoffSource, facts_of, received_work
from flowrail.handoff.payload.check import CheckRules, check_payload
from flowrail.handoff.payload.convert import content
from flowrail.handoff.payload.document import Payload, read_file, render, text_at, texts_at
from flowrail.handoff.store import Handoffs
from flowrail.machines.loading.skill_folder import find_file
from flowrail.machines.session import Session
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import size_limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import in_quotes


def source_of(session: Session, discovery: Discovery) -> HandoffSource:
    """Return a session as the source of a handoff."""
    facts = {**session.params, **session.state}
    source = HandoffSource(session.skill, chain_of(session), facts, session, session.received)
    return _with_problem_type(source, discovery)


def skill_source(
    skill: str,
    discovery: Discovery,
    handoffs: Handoffs,
    *,
    skills: Collection[str],
    project: str,
    now: datetime,
    payload: str,
    new: bool,
) -> HandoffSource:
    """Return a skill without a session as the source of a handoff. *skills* are the names of all skills.

    The chain continues from the payload that the skill received: the one in the file *payload*, or the newest that was
    sent to it here, even if the skill has not confirmed it. If the skill wrote the file itself, the facts come from it.
    *new* work begins a chain.
    """
    own = list(handoffs.own_ones())
    sent_here = [handoff for handoff in own if handoff.target == skill]
    if skill not in skills and not sent_here:
        raise TargetNotFoundError(
            f"unknown skill `{in_quotes(skill[:80])}`",
            hint=did_you_mean(skill, sorted(skills), Hint("list the installed skills: ", Command("list"))),
            recoverable=True,
            target_skill=skill[:80],
        )
    received = [handoff for handoff in sent_here if handoff.phase in {ACKNOWLEDGMENT, INVOCATION}]
    if payload:
        document = read_file(os.path.abspath(payload))
        found = _source_in_file(skill, document, own, inside=(project, handoffs.store.path), now=now)
    elif new or not received:
        found = HandoffSource(skill, (skill,))
    else:
        newest = max(
            received, key=lambda handoff: handoff.receipt.at if handoff.receipt else handoff.started_at
        )
        note = f"continues the work received in {newest.id}"
        if newest.phase == INVOCATION:
            note += f", although `{skill}` has not confirmed it; add --new if this is new work"
        data = render(newest.schema, newest.content)
        work = received_work(
            newest, Payload(newest.schema, newest.content, newest.payload, data), newest.payload
        )
        found = HandoffSource(
            skill,
            extend_chain(newest.chain, skill),
            received=replace(work, sha256=newest.sha256),
            notes=(note,),
        )
    return _with_problem_type(found, discovery)


def _with_problem_type(source: HandoffSource, discovery: Discovery) -> HandoffSource:
    categories = next((c.categories for c in discovery.candidates if c.skill == source.skill), ())
    return replace(source, problem_type=default_problem_type(categories))


def _source_in_file(
    skill: str, payload: Payload, known: Collection[Handoff], *, inside: tuple[str, ...], now: datetime
) -> HandoffSource:
    """Return the source of a payload that *skill* wrote or received."""
    if errors := check_payload(payload, CheckRules(now, allow_expired=True)).errors:
        hint = Hint("see all problems: ", Command("handoff check", payload.source))
        raise payload_refusal(f"{payload.source} is not a payload to hand off", errors, hint=hint)
    fields = content(payload.version, payload.handoff)
    chain = tuple(texts_at(fields, "meta.handoff_chain"))
    source, target = text_at(fields, "source.skill"), text_at(fields, "target.skill")
    if target == skill:
        identity = integrity.identity(payload.version, payload.handoff)
        elsewhere = Handoff("", source, target, HandoffRequest(target), hops=len(chain), foreign=True)
        handoff = next((handoff for handoff in known if handoff.identity == identity), elsewhere)
        work = received_work(handoff, payload, payload.source)
        note = f"continues the work received in {work.handoff or payload.source}"
        return HandoffSource(skill, extend_chain(chain, skill), received=work, notes=(note,))
    if source == skill:
        return HandoffSource(skill, extend_chain(chain, skill), facts_of(fields, inside=inside))
    raise InvalidPayloadError(
        f"{payload.source} goes from `{in_quotes(source)}` to `{in_quotes(target)}`, not from or to `{skill}`",
        hint="name the payload that the skill received, or one that it wrote",
        recoverable=True,
        missing_fields=[],
        validation_errors=["the skill is neither the source nor the target of the payload"],
    )


def choose_target(discovery: Discovery, name: str) -> Candidate:
    """Return the target *name*. An unknown or ambiguous name is refused with the known names."""
    matches, quoted = discovery.named(name), in_quotes(name[:80])
    if len(matches) == 1:
        return matches[0]
    skipped = discovery.left_out(name)
    if not matches and skipped is not None:
        raise TargetNotFoundError(
            f"the skill `{quoted}` cannot take over work: {skipped.reason}",
            hint=Hint("list the skills that can: ", Command("discover")),
            target_skill=name[:80],
        )
    names = sorted(candidate.skill for candidate in matches or discovery.candidates)
    otherwise = Hint("list the skills that do: ", Command("discover"))
    raise TargetNotFoundError(
        f"{len(names)} skills have the name `{quoted}`"
        if matches
        else f"no skill named `{quoted}` accepts handoffs",
        hint=f"use the name of its folder: {', '.join(map(in_quotes, names))}"
        if matches
        else did_you_mean(name, names, otherwise),
        recoverable=True,
        target_skill=name[:80],
        skills=names,
    )


def with_target(handoff: Handoff, target: Candidate) -> Handoff:
    """Return *handoff* with its target as it is now."""
    folder = os.path.dirname(target.path)
    return replace(
        handoff,
        target_path=target.path,
        target_digest=skill_file_digest(target),
        target_schema=target.schema_version,
        category=next(iter(target.categories), ""),
        trigger=trigger_template(target.trigger, target.skill),
        has_workflow=not target.remote and find_file(folder, target.skill) is not None,
        root=extra_root(target),
    )


def extra_root(candidate: Candidate) -> str:
    """Return the folder named with ``--root`` that contains *candidate*, or an empty text."""
    return candidate.root if candidate.scope is Scope.EXTRA else ""


def skill_file_digest(candidate: Candidate) -> str:
    """Return the digest of the target's SKILL.md, or an empty text if it cannot be read here."""
    if candidate.remote:
        return ""
    what = "the target's SKILL.md"
    try:
        return sha256_hex(
            files.read_bounded(candidate.path, limit=size_limits.JSON_BYTES, what=what, follow=True)
        )
    except DocumentError:
        return ""


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
