"""Evaluate the guards of the lifecycle from the disk, the clock and the target's declarations.

All guards are evaluated, so that one refusal names every problem. A check that does not apply has no result.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate, LeftOut
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.index import Discovery
from flowrail.errors import FlowError
from flowrail.handoff import chain, health_check
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    MISSING,
    HandoffRefusedError,
    HealthCheckFailedError,
    InvalidPayloadError,
    TargetNotFoundError,
    ValidationFailedError,
    errors,
)
from flowrail.handoff.handoff import CheckResult, Handoff
from flowrail.handoff.payload import integrity, validate
from flowrail.handoff.payload.build import META, SCALE, fact_for
from flowrail.handoff.payload.document import Payload, get, read, render
from flowrail.handoff.request import skill_file_digest
from flowrail.handoff.store import work_folder


def check_all(context: HandoffContext, handoff: Handoff) -> tuple[CheckResult, ...]:
    """Return the result of every check that applies, in order. A missing target fails alone."""
    target = _target(handoff, context.discover())
    if target is None:
        return (CheckResult("target_exists", False, f"the target `{handoff.target}` no longer exists"),)
    return (
        *_check_identity(handoff, target),
        *_check_source(context, handoff),
        *_check_acceptance(handoff, target),
        _check_payload(context, handoff),
        _check_requirements(handoff.content, target),
        *(_check_health(context, target) if handoff.health else ()),
    )


def check_target(context: HandoffContext, handoff: Handoff) -> tuple[CheckResult, ...]:
    """Check the target's rules for a payload that was not sent from here."""
    discovery = context.discover()
    target = _target(handoff, discovery)
    if target is not None:
        return (*_check_acceptance(handoff, target), _check_requirements(handoff.content, target))
    skill = handoff.target.partition("/")[0]
    skipped = next((s for s in discovery.skipped if s.skill == skill and s.is_skill), None)
    if skipped is None:
        return ()
    if skipped.kind is LeftOut.DECLINES:
        message = f"`{skill}` does not accept handoffs: {skipped.reason}"
        return (CheckResult("source_accepted", False, message, False),)
    return (_check_version(handoff.schema, skipped.schema_version or handoff.schema),)


def _target(handoff: Handoff, discovery: Discovery) -> Candidate | None:
    """Return the target as discovery finds it. `skill/workflow` is found by its skill."""
    skill = handoff.target.partition("/")[0]
    return next((candidate for candidate in discovery.candidates if candidate.skill == skill), None)


def refusal(handoff: Handoff, again: Command, preserved: str | None) -> HandoffRefusedError:
    """Return one refusal that names every failed check. *again* is the command that tries again."""
    failed = [result for result in handoff.checks if not result.holds]
    names = {result.name for result in failed}
    missing = [field.removeprefix("handoff.") for result in failed for field in result.missing]
    messages = list(dict.fromkeys(result.message for result in failed))
    recoverable = all(result.fixable for result in failed)
    return _kind_of_refusal(names, missing)(
        f"the handoff to `{handoff.target}` is refused: {'; '.join(messages)}",
        hint=_how_to_fix(failed, again)
        if recoverable
        else Hint("this cannot be fixed; ", _alternative(names)),
        recoverable=recoverable,
        preserved=preserved,
        missing_fields=list(dict.fromkeys(missing)),
        validation_errors=messages,
        target_skill=handoff.target,
        handoff=handoff.id,
    )


def _kind_of_refusal(names: Collection[str], missing: Collection[str]) -> type[HandoffRefusedError]:
    if not {"target_exists", "target_unchanged"}.isdisjoint(names):
        return TargetNotFoundError
    if missing and set(names) <= {"payload_valid", "requirements_met"}:
        return InvalidPayloadError
    return HealthCheckFailedError if set(names) == {"health_check_passed"} else ValidationFailedError


def _how_to_fix(failed: list[CheckResult], again: Command) -> Hint:
    facts: dict[str, str] = dict.fromkeys((fact for answer in failed for fact in answer.facts), "…")
    oversized = [fact for answer in failed for fact in answer.oversized]
    advice = (
        "write it to a file and name the file" if oversized else "report these facts" if facts else "fix it"
    )
    for fact in oversized:
        facts |= {fact: "", f"{fact}_file": "…"}
    return Hint(f"{advice}: ", again.with_options(facts=facts))


def _alternative(names: Collection[str]) -> Hint:
    other_version = "; or send another `--schema`" if "version_supported" in names else ""
    return Hint("list other targets: ", Command("discover"), other_version)


def _check_identity(handoff: Handoff, target: Candidate) -> Iterator[CheckResult]:
    """Compare the target with the one that was chosen. A remote target is not compared."""
    same = target.remote or os.path.realpath(target.path) == os.path.realpath(handoff.target_path)
    found = f"found at {target.path}"
    moved = f"the target was {handoff.target_path} and is now {target.path}"
    yield CheckResult("target_exists", same, found if same else moved)
    if not target.remote:
        unchanged = skill_file_digest(target) == handoff.target_digest
        message = f"{target.path} {'is unchanged' if unchanged else 'has changed'}"
        yield CheckResult("target_unchanged", unchanged, message)


def _check_source(context: HandoffContext, handoff: Handoff) -> Iterator[CheckResult]:
    """Check that the session can be read, and that the chain may grow by the target."""
    if handoff.session:
        try:
            context.store.read(handoff.session)
            yield CheckResult("session_readable", True, f"session `{handoff.session}` can be read")
        except FlowError as error:
            yield CheckResult("session_readable", False, error.message)
    verdict = chain.judge_handoff(handoff)
    message = verdict.message or chain.format_chain(handoff.chain, handoff.target)
    yield CheckResult("chain_allowed", verdict.allowed, message, verdict.fixable)


def _check_acceptance(handoff: Handoff, target: Candidate) -> Iterator[CheckResult]:
    """Check that the target accepts work from the source, in the payload's version."""
    accepted = ", ".join(target.accepts_from)
    message = f"`{handoff.target}` accepts work from {accepted}; the source is `{handoff.source}`"
    yield CheckResult("source_accepted", target.admits(handoff.source), message, fixable=False)
    yield _check_version(handoff.schema, normal_version(target.schema_version))


def _check_version(sent: str, reads: str) -> CheckResult:
    """Check that a payload of version *sent* can be converted to the one that the target *reads*."""
    fit = compatibility(sent, reads)
    message = f"{sent} to {reads}: {fit.verdict.value}, {fit.reason}"
    return CheckResult("version_supported", fit.possible, message, fixable=False)


def _check_payload(context: HandoffContext, handoff: Handoff) -> CheckResult:
    """Validate the payload as it will be written."""
    payload = read(render(handoff.content, handoff.form), source=f"the payload for {handoff.target}")
    own = "" if handoff.session else work_folder(context.store, handoff)
    rules = validate.ValidationRules(context.current_time(), sending=True, own_folder=own)
    problems = errors(validate.validate(payload, rules).problems)
    reported = [problem.field for problem in problems if _is_reported(problem.field)]
    facts = dict.fromkeys(map(fact_for, reported))
    if any(field.endswith(".confidence") for field in reported):
        facts[SCALE] = None
    return CheckResult(
        "payload_valid",
        not problems,
        "; ".join(map(str, problems)) or "complete, valid and not expired",
        missing=tuple(problem.field for problem in problems if problem.kind == MISSING),
        facts=tuple(facts),
        oversized=_oversized_facts(payload),
    )


def _check_requirements(content: Mapping[str, object], target: Candidate) -> CheckResult:
    """Check that the payload contains what the target requires."""
    missing = tuple(path for path in target.requires if not _has_value(content, path))
    names = ", ".join(f"`{path}`" for path in missing)
    message = (
        f"the target requires {names}, which the payload does not contain"
        if missing
        else f"all {len(target.requires)} required fields are present"
        if target.requires
        else "nothing is required"
    )
    facts = tuple(dict.fromkeys(map(fact_for, missing)))
    return CheckResult("requirements_met", not missing, message, missing=missing, facts=facts)


def _check_health(context: HandoffContext, target: Candidate) -> Iterator[CheckResult]:
    """Run the target's own health check, if a person allowed it."""
    if target.health_check and not target.remote:
        try:
            health_check.require_approval(target, context.project, context.state, context.trusted_roots)
        except FlowError as error:
            message = f"the health check did not run: {error.message}; {error.hint}"
            yield CheckResult(health_check.NAME, False, message)
            return
    health = health_check.run(target, context.environ)
    yield replace(health, message=f"health check: {health.message}")


def _oversized_facts(payload: Payload) -> tuple[str, ...]:
    """Return the facts that make a payload too large. Facts with a field of their own are not among them."""
    if payload.version != "3.0":
        return ()
    prefix = "payload.working.facts."
    parts = integrity.largest_parts(payload.handoff)
    return tuple(part.removeprefix(prefix) for part in parts if part.startswith(prefix))


def _is_reported(field: str) -> bool:
    """Whether a field is filled from what a session reports."""
    bare = field.removeprefix("handoff.")
    if bare.removeprefix("payload.working.") in META:
        return True
    head, _, rest = bare.partition(".")
    return head in {"context", "insights", "research_seeds"} or (head == "meta" and rest in META)


def _has_value(draft: Mapping[str, object], path: str) -> bool:
    """Whether a field has a value, wherever the payload's version stores it."""
    bare = path.removeprefix("handoff.")
    name = bare.rpartition(".")[2]
    tiers = ("", "payload.", "payload.working.", "payload.working.facts.")
    fields = (*(f"{tier}{bare}" for tier in tiers), *(f"{tier}{name}" for tier in tiers[2:]))
    return any(get(draft, field) not in (None, "", [], {}) for field in fields)
