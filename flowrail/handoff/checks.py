"""Evaluate the guards of the lifecycle from the disk, the clock and the target's declarations.

All guards are evaluated, so that one refusal names every problem. A check that does not apply has no result.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate, LeftOut
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.index import Discovery
from flowrail.errors import FlowError
from flowrail.handoff import hops
from flowrail.handoff.errors import (
    MISSING,
    HandoffRefusedError,
    HealthCheckFailedError,
    InvalidPayloadError,
    TargetNotFoundError,
    ValidationFailedError,
)
from flowrail.handoff.handoff import CheckResult, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import META, SCALE, fact_for
from flowrail.handoff.payload.check import CheckRules, check_payload
from flowrail.handoff.payload.document import Payload, get, render
from flowrail.handoff.source import skill_file_digest
from flowrail.handoff.store import work_folder
from flowrail.machines.session_store import Store

_FILLED_BY_FACTS = (
    "context.", "insights.", "research_seeds.", *(f"meta.{name}" for name in META), "payload.working.",
)  # fmt: skip
"""Where the fields are that a session's facts fill."""
_UNKNOWN_TARGET = frozenset({"target_exists", "target_unchanged"})


def find_target(handoff: Handoff, discovery: Discovery) -> Candidate | None:
    """Return the target as discovery finds it. `skill/workflow` is found by its skill."""
    skill = handoff.target.partition("/")[0]
    return next((candidate for candidate in discovery.candidates if candidate.skill == skill), None)


def check_send(
    handoff: Handoff, discovery: Discovery, store: Store, now: datetime
) -> tuple[CheckResult, ...]:
    """Return the result of every check before a send, in order. A missing target fails alone."""
    target = find_target(handoff, discovery)
    if target is None:
        return (CheckResult("target_exists", False, f"the target `{handoff.target}` no longer exists"),)
    return (
        *_check_identity(handoff, target),
        *_check_source(handoff, store),
        *_check_acceptance(handoff, target, handoff.content),
        _check_payload(handoff, store, now),
    )


def check_arrival(
    handoff: Handoff, fields: Mapping[str, object], discovery: Discovery
) -> tuple[CheckResult, ...]:
    """Check the target's rules, and the chain, for a payload that was not sent from here."""
    target, skill = find_target(handoff, discovery), handoff.target.partition("/")[0]
    skipped = discovery.left_out(skill)
    checks: tuple[CheckResult, ...] = ()
    if target is not None:
        checks = tuple(_check_acceptance(handoff, target, fields))
    elif skipped is not None and skipped.kind is LeftOut.DECLINES:
        message = f"`{skill}` does not accept handoffs: {skipped.reason}"
        checks = (CheckResult("source_accepted", False, message, False),)
    elif skipped is not None:
        checks = (_check_version(handoff.schema, skipped.schema_version or handoff.schema),)
    path = hops.format_chain(handoff.chain, handoff.target)
    too_far = (
        f"the work came through {handoff.hops} handoffs, and at most {hops.MAX_HOPS} are allowed: {path}"
    )
    is_short = handoff.hops <= hops.MAX_HOPS
    return (
        *checks,
        CheckResult("chain_allowed", is_short, path if is_short else too_far),
        CheckResult("payload_valid", True, "complete, valid and not expired"),
    )


def refusal(handoff: Handoff, again: Command, preserved: str | None) -> HandoffRefusedError:
    """Return one refusal that names every failed check. *again* is the command that tries again."""
    failed = [check for check in handoff.checks if not check.holds]
    names = {check.name for check in failed}
    missing = [field.removeprefix("handoff.") for check in failed for field in check.missing]
    messages = list(dict.fromkeys(check.message for check in failed))
    kind: type[HandoffRefusedError] = ValidationFailedError
    if names & _UNKNOWN_TARGET:
        kind = TargetNotFoundError
    elif missing and names <= {"payload_valid", "requirements_met"}:
        kind = InvalidPayloadError
    elif names == {"health_check_passed"}:
        kind = HealthCheckFailedError
    recoverable = all(check.fixable for check in failed)
    other_version = "; or send another `--schema`" if "version_supported" in names else ""
    others = Hint("this cannot be fixed; list other targets: ", Command("discover"), other_version)
    return kind(
        f"the handoff to `{handoff.target}` is refused: {'; '.join(messages)}",
        hint=_how_to_fix(failed, again) if recoverable else others,
        recoverable=recoverable,
        preserved=preserved,
        missing_fields=list(dict.fromkeys(missing)),
        validation_errors=messages,
        target_skill=handoff.target,
        handoff=handoff.id,
    )


def _how_to_fix(failed: Collection[CheckResult], again: Command) -> Hint:
    facts: dict[str, str] = dict.fromkeys((fact for check in failed for fact in check.facts), "…")
    oversized = [fact for check in failed for fact in check.oversized]
    advice = "report these facts" if facts else "fix it"
    for fact in oversized:
        advice = "write it to a file and name the file"
        facts |= {fact: "", f"{fact}_file": "…"}
    return Hint(f"{advice}: ", again.with_options(facts=facts))


def _check_identity(handoff: Handoff, target: Candidate) -> Iterator[CheckResult]:
    """Compare the target with the one that was chosen. A remote target is not compared."""
    same = target.remote or os.path.realpath(target.path) == os.path.realpath(handoff.target_path)
    moved = f"the target was {handoff.target_path} and is now {target.path}"
    yield CheckResult("target_exists", same, f"found at {target.path}" if same else moved)
    if not target.remote:
        unchanged = skill_file_digest(target) == handoff.target_digest
        message = f"{target.path} {'is unchanged' if unchanged else 'has changed'}"
        yield CheckResult("target_unchanged", unchanged, message)


def _check_source(handoff: Handoff, store: Store) -> Iterator[CheckResult]:
    """Check that the session can be read, and that the chain may grow by the target."""
    if handoff.session:
        try:
            store.read(handoff.session)
            yield CheckResult("session_readable", True, f"session `{handoff.session}` can be read")
        except FlowError as error:
            yield CheckResult("session_readable", False, error.message)
    refused = hops.chain_refusal(handoff)
    message = refused.message if refused else hops.format_chain(handoff.chain, handoff.target)
    yield CheckResult("chain_allowed", refused is None, message, refused is None or refused.recoverable)


def _check_acceptance(
    handoff: Handoff, target: Candidate, fields: Mapping[str, object]
) -> Iterator[CheckResult]:
    """Check that the target accepts work from the source, in the payload's version, with the fields it requires."""
    accepted = ", ".join(target.accepts_from)
    message = f"`{handoff.target}` accepts work from {accepted}; the source is `{handoff.source}`"
    yield CheckResult("source_accepted", target.admits(handoff.source), message, fixable=False)
    yield _check_version(handoff.schema, normal_version(target.schema_version))
    missing = tuple(path for path in target.requires if not _has_value(fields, path))
    names = ", ".join(f"`{path}`" for path in missing)
    message = (
        f"all {len(target.requires)} required fields are present"
        if target.requires
        else "nothing is required"
    )
    if missing:
        message = f"the target requires {names}, which the payload does not contain"
    facts = tuple(dict.fromkeys(map(fact_for, missing)))
    yield CheckResult("requirements_met", not missing, message, missing=missing, facts=facts)


def _check_version(sent: str, reads: str) -> CheckResult:
    """Check that a payload of version *sent* can be converted to the one that the target *reads*."""
    fit = compatibility(sent, reads)
    return CheckResult("version_supported", fit.possible, fit.in_words(sent, reads), fixable=False)


def _check_payload(handoff: Handoff, store: Store, now: datetime) -> CheckResult:
    """Check the payload as it will be written."""
    data = render(handoff.schema, handoff.content)
    payload = Payload(handoff.schema, handoff.content, f"the payload for {handoff.target}", data)
    own = "" if handoff.session else work_folder(store, handoff)
    errors = check_payload(payload, CheckRules(now, sending=True, own_folder=own)).errors
    fields = [problem.field.removeprefix("handoff.") for problem in errors]
    facts = dict.fromkeys(fact_for(field) for field in fields if field.startswith(_FILLED_BY_FACTS))
    if any(field.endswith(".confidence") for field in fields):
        facts[SCALE] = None
    parts = integrity.largest_parts(handoff.content) if handoff.schema == "3.0" else {}
    prefix = "payload.working.facts."
    return CheckResult(
        "payload_valid",
        not errors,
        "; ".join(map(str, errors)) or "complete, valid and not expired",
        missing=tuple(problem.field for problem in errors if problem.kind == MISSING),
        facts=tuple(facts),
        oversized=tuple(part.removeprefix(prefix) for part in parts if part.startswith(prefix)),
    )


def _has_value(fields: Mapping[str, object], path: str) -> bool:
    """Whether a field has a value, wherever the payload's version stores it."""
    bare = path.removeprefix("handoff.")
    name = bare.rpartition(".")[2]
    tiers = ("", "payload.", "payload.working.", "payload.working.facts.")
    places = (*(f"{tier}{bare}" for tier in tiers), *(f"{tier}{name}" for tier in tiers[2:]))
    return any(get(fields, place) not in (None, "", [], {}) for place in places)
