"""Evaluate the guards of the lifecycle from the disk, the clock and the target's declarations.

All guards are evaluated, so that one refusal names every problem. A check that does not apply has no result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class GuardInput:
    """The input of the guards: the handoff, and its target as discovery finds it."""

    context: HandoffContext
    handoff: Handoff
    target: Candidate

    @property
    def payload(self) -> Payload:
        """The payload as it will be written."""
        data = render(self.handoff.content, self.handoff.form)
        return read(data, source=f"the payload for {self.handoff.target}")


def check_all(context: HandoffContext, handoff: Handoff) -> tuple[CheckResult, ...]:
    """Return the result of every check that applies, in order. A missing target fails alone."""
    target = _target(handoff, context.discover())
    if target is None:
        return (CheckResult("target_exists", False, f"the target `{handoff.target}` no longer exists"),)
    subject = GuardInput(context, handoff, target)
    results = (guard(subject) for guard in _GUARDS.values())
    return tuple(result for result in results if result is not None)


def check_target(context: HandoffContext, handoff: Handoff) -> tuple[CheckResult, ...]:
    """Check the target's rules for a payload that was not sent from here."""
    discovery = context.discover()
    target = _target(handoff, discovery)
    if target is not None:
        subject = GuardInput(context, handoff, target)
        return (_source_accepted(subject), _version_supported(subject), _requirements_met(subject))
    skill = handoff.target.partition("/")[0]
    skipped = next((s for s in discovery.skipped if s.skill == skill and s.is_skill), None)
    if skipped is None:
        return ()
    if skipped.kind is LeftOut.DECLINES:
        message = f"`{skill}` does not accept handoffs: {skipped.reason}"
        return (CheckResult("source_accepted", False, message, False),)
    return (_version_answer(handoff.schema, skipped.schema_version or handoff.schema),)


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


def _target_exists(subject: GuardInput) -> CheckResult:
    name, target, chosen_path = "target_exists", subject.target, subject.handoff.target_path
    if os.path.realpath(target.path) != os.path.realpath(chosen_path) and not target.remote:
        return CheckResult(name, False, f"the target was {chosen_path} and is now {target.path}")
    return CheckResult(name, True, f"found at {target.path}")


def _target_unchanged(subject: GuardInput) -> CheckResult | None:
    name, target = "target_unchanged", subject.target
    if target.remote:
        return None
    unchanged = skill_file_digest(target) == subject.handoff.target_digest
    return CheckResult(name, unchanged, f"{target.path} {'is unchanged' if unchanged else 'has changed'}")


def _session_readable(subject: GuardInput) -> CheckResult | None:
    if not subject.handoff.session:
        return None
    try:
        subject.context.store.read(subject.handoff.session)
    except FlowError as error:
        return CheckResult("session_readable", False, error.message)
    return CheckResult("session_readable", True, f"session `{subject.handoff.session}` can be read")


def _chain_allowed(subject: GuardInput) -> CheckResult:
    verdict = chain.judge_handoff(subject.handoff)
    chain_text = chain.format_chain(subject.handoff.chain, subject.handoff.target)
    return CheckResult("chain_allowed", verdict.allowed, verdict.message or chain_text, verdict.fixable)


def _source_accepted(subject: GuardInput) -> CheckResult:
    target, source = subject.target, subject.handoff.source
    accepted = ", ".join(target.accepts_from)
    message = f"`{subject.handoff.target}` accepts work from {accepted}; the source is `{source}`"
    return CheckResult("source_accepted", target.admits(source), message, fixable=False)


def _version_supported(subject: GuardInput) -> CheckResult:
    return _version_answer(subject.handoff.schema, normal_version(subject.target.schema_version))


def _version_answer(sent: str, reads: str) -> CheckResult:
    """Return whether a payload of version *sent* can be converted to the one that the target *reads*."""
    fit = compatibility(sent, reads)
    message = f"{sent} to {reads}: {fit.verdict.value}, {fit.reason}"
    return CheckResult("version_supported", fit.possible, message, fixable=False)


def _payload_valid(subject: GuardInput) -> CheckResult:
    payload = subject.payload
    own = "" if subject.handoff.session else work_folder(subject.context.store, subject.handoff)
    rules = validate.ValidationRules(subject.context.current_time(), sending=True, own_folder=own)
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


def _requirements_met(subject: GuardInput) -> CheckResult:
    required = subject.target.requires
    missing = tuple(path for path in required if not _has_value(subject.handoff.content, path))
    if missing:
        names = ", ".join(f"`{path}`" for path in missing)
        message = f"the target requires {names}, which the payload does not contain"
    else:
        message = f"all {len(required)} required fields are present" if required else "nothing is required"
    facts = tuple(dict.fromkeys(map(fact_for, missing)))
    return CheckResult("requirements_met", not missing, message, missing=missing, facts=facts)


def _has_value(draft: Mapping[str, object], path: str) -> bool:
    """Whether a field has a value, wherever the payload's version stores it."""
    bare = path.removeprefix("handoff.")
    name = bare.rpartition(".")[2]
    tiers = ("", "payload.", "payload.working.", "payload.working.facts.")
    fields = (*(f"{tier}{bare}" for tier in tiers), *(f"{tier}{name}" for tier in tiers[2:]))
    return any(get(draft, field) not in (None, "", [], {}) for field in fields)


def _health_check_passed(subject: GuardInput) -> CheckResult | None:
    name = health_check.NAME
    if not subject.handoff.health:
        return None
    if subject.target.health_check and not subject.target.remote:
        try:
            context = subject.context
            health_check.require_approval(
                subject.target, context.project, context.state, context.trusted_roots
            )
        except FlowError as error:
            return CheckResult(name, False, f"the health check did not run: {error.message}; {error.hint}")
    health = health_check.run(subject.target, subject.context.environ)
    return replace(health, message=f"health check: {health.message}")


_GUARDS: Mapping[str, Callable[[GuardInput], CheckResult | None]] = {
    "target_exists": _target_exists,
    "target_unchanged": _target_unchanged,
    "session_readable": _session_readable,
    "chain_allowed": _chain_allowed,
    "source_accepted": _source_accepted,
    "version_supported": _version_supported,
    "payload_valid": _payload_valid,
    "requirements_met": _requirements_met,
    "health_check_passed": _health_check_passed,
}
