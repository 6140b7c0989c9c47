"""The guards of the lifecycle, answered: each looks at the disk, the clock or what the target declares.

They are all asked, so that everything that stands in the way is told at once; the machine then asks
for their answers by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.index import Discovery
from flowrail.errors import FlowError
from flowrail.handoff import chain, health_check
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import (
    MISSING,
    HealthCheckFailedError,
    InvalidPayloadError,
    Refusal,
    TargetNotFoundError,
    ValidationFailedError,
    errors,
)
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.lifecycle.machine import CHECKS
from flowrail.handoff.payload import (
    convert,
    file,
    integrity,
    validate,
)
from flowrail.handoff.payload.build import META, fact_for
from flowrail.handoff.payload.document import (
    Payload,
    get,
    read,
    render,
)
from flowrail.handoff.selection import card_digest

_DECLINES = ("NOT_ACCEPTING", "it accepts no handoffs")
"""Code and words of a skill that is passed over since it says itself that it takes over nothing."""


class Check(NamedTuple):
    """How one guard was answered: its name, whether it holds, what was seen, whether that can be mended.

    ``missing`` are fields that lack, ``facts`` those that would fill or mend them, ``heavy`` those that
    should stand in files.
    """

    name: str
    holds: bool
    told: str
    mendable: bool = True
    missing: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    heavy: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as plain data, for the record."""
        return {"name": self.name, "holds": self.holds, "told": self.told, "mendable": self.mendable}


class Case(NamedTuple):
    """What the guards look at: the handoff, what can be found now, and the world."""

    desk: Desk
    handoff: Handoff
    discovery: Discovery
    now: str

    @property
    def target(self) -> Candidate | None:
        """The target as it is found now; of a workflow beside that of a skill, the skill."""
        wanted = self.handoff.target.partition("/")[0]
        return next((each for each in self.discovery.candidates if each.skill == wanted), None)

    @property
    def payload(self) -> Payload:
        """The payload as it will stand on disk."""
        return read(
            render(self.handoff.draft, self.handoff.form), source=f"the payload for {self.handoff.target}"
        )


def ask(case: Case) -> tuple[Check, ...]:
    """Return how every guard of validation is answered now, in their order."""
    return tuple(_GUARDS[name](case) for name in CHECKS)


def of_the_target(case: Case) -> tuple[Check, ...]:
    """Return what the target itself asks of a payload that no journal of ours vouches for."""
    if case.target is None:
        return tuple(_declined(case))
    return (_admitted(case), _schema(case), _requires(case))


def _declined(case: Case) -> Iterator[Check]:
    """Yield the refusal of a target that says itself that it takes over nothing."""
    wanted = case.handoff.target.partition("/")[0]
    for each in case.discovery.skipped:
        if each.skill == wanted and each.code == _DECLINES[0] and each.reason.startswith(_DECLINES[1]):
            yield Check(
                "source_admitted", False, f"`{case.handoff.target}` is not offered: {each.reason}", False
            )
            return


def refusal(handoff: Handoff, checks: tuple[Check, ...], preserved: str | None, again: Command) -> Refusal:
    """Return the one refusal that tells everything that does not hold; *again* is the command to retry."""
    wrong = [each for each in checks if not each.holds]
    names = {each.name for each in wrong}
    missing = [field for each in wrong for field in each.missing]
    kind: type[Refusal] = ValidationFailedError
    if names & {"target_there", "target_unchanged"}:
        kind = TargetNotFoundError
    elif names & {"payload_fit", "requires_met"} and not names - {"payload_fit", "requires_met"}:
        kind = InvalidPayloadError if missing else ValidationFailedError
    elif names == {"health_good"}:
        kind = HealthCheckFailedError
    recoverable = all(each.mendable for each in wrong)
    facts = dict.fromkeys(fact for each in wrong for fact in each.facts)
    given = dict.fromkeys(facts, "…")
    heavy = [fact for each in wrong for fact in each.heavy]
    for fact in heavy:
        given |= {fact: "", f"{fact}_file": "…"}
    what = "write it into a file and name that" if heavy else "give what is wanting" if given else "mend that"
    hint = Hint(f"{what}: ", again.with_options(facts=given))
    return kind(
        f"the handoff to `{handoff.target}` is refused: {'; '.join(each.told for each in wrong)}",
        hint=hint if recoverable else Hint("this cannot be mended; ", _instead(names)),
        recoverable=recoverable,
        preserved=preserved,
        missing_fields=missing,
        validation_errors=[each.told for each in wrong],
        target_skill=handoff.target,
        handoff=handoff.id,
    )


def _instead(failing: Collection[str]) -> Hint:
    other = "; or send it by another `--schema`" if "schema_fits" in failing else ""
    return Hint("see which other skills can take over: ", Command("handoff targets"), other)


def _there(case: Case) -> Check:
    target, wanted = case.target, case.handoff.target_path
    if target is None:
        return Check("target_there", False, f"the target `{case.handoff.target}` is not found any more")
    if os.path.realpath(target.path) != os.path.realpath(wanted) and not target.remote:
        return Check("target_there", False, f"the target was {wanted} and is {target.path} now")
    return Check("target_there", True, f"found at {target.path}")


def _unchanged(case: Case) -> Check:
    name, target = "target_unchanged", case.target
    if target is None:
        return Check(name, False, "what is not there cannot be compared")
    if target.remote:
        return Check(name, True, "lives elsewhere: not compared")
    same = card_digest(target) == case.handoff.target_digest
    return Check(name, same, f"{target.path} {'is' if same else 'is not'} what it was when it was chosen")


def _session(case: Case) -> Check:
    try:
        case.desk.store.read(case.handoff.session)
    except FlowError as error:
        return Check("session_readable", False, error.message)
    return Check("session_readable", True, f"session `{case.handoff.session}` can be read")


def judged(handoff: Handoff) -> chain.Verdict:
    """Return whether the chain of *handoff* may grow by its target."""
    consent = chain.Consent(handoff.yes, handoff.reason, handoff.approved)
    return chain.judge(handoff.chain, handoff.target, hops=handoff.hops, consent=consent)


def _chain(case: Case) -> Check:
    verdict = judged(case.handoff)
    shown = chain.drawn(case.handoff.chain, case.handoff.target)
    return Check("chain_allowed", verdict.allowed, verdict.message or shown, verdict.mendable)


def _admitted(case: Case) -> Check:
    target, source = case.target, case.handoff.source
    admits = target is not None and target.admits(source)
    said = f"accepts from {', '.join(target.accepts_from)}" if target else "is not there"
    told = f"`{case.handoff.target}` {said}, the source is `{source}`"
    return Check("source_admitted", admits, told, mendable=target is None)


def _schema(case: Case) -> Check:
    sent = case.handoff.schema
    reads = normal_version(case.target.schema_version if case.target else case.handoff.target_schema)
    fit = compatibility(sent, reads)
    possible = fit.possible and bool(convert.way(sent, reads))
    return Check("schema_fits", possible, f"{sent} to {reads}: {fit.verdict.value}, {fit.reason}", False)


def _fit(case: Case) -> Check:
    asked = validate.Asked(case.desk.moment(case.now), sending=True)
    found = errors(validate.check(case.payload, asked).problems)
    missing = tuple(each.field for each in found if each.kind == MISSING)
    told = "; ".join(map(str, found)) or "whole, in time, without mistakes"
    facts = dict.fromkeys(fact_for(each.field) for each in found if _is_reported(each.field))
    return Check(
        "payload_fit", not found, told, missing=missing, facts=tuple(facts), heavy=_heavy(case.payload)
    )


def _heavy(payload: Payload) -> tuple[str, ...]:
    """Return the facts that make a payload too large, as far as no field of its own holds them."""
    if payload.version != "3.0":
        return ()
    before = "payload.working.facts."
    parts = integrity.heaviest(payload.handoff)
    return tuple(part.removeprefix(before) for part in parts if part.startswith(before))


def _is_reported(field: str) -> bool:
    """Whether a field is made from what a session reports, and not by ourselves."""
    head, _, rest = field.removeprefix("handoff.").partition(".")
    return head in {"context", "insights", "research_seeds"} or (head == "meta" and rest in META)


def _requires(case: Case) -> Check:
    wanted = case.target.requires if case.target else ()
    lacking = tuple(path for path in wanted if not _has(case.handoff.draft, path))
    told = (
        f"the target requires {', '.join(f'`{path}`' for path in lacking)}, which the payload does not have"
    )
    good = f"all {len(wanted)} required fields are there" if wanted else "nothing is required"
    facts = tuple(dict.fromkeys(map(fact_for, lacking)))
    return Check("requires_met", not lacking, told if lacking else good, missing=lacking, facts=facts)


def _has(draft: Mapping[str, Any], path: str) -> bool:
    """Whether a field has something in it, wherever that version of the payload keeps it."""
    bare = path.removeprefix("handoff.")
    name = bare.rpartition(".")[2]
    tiers = ("", "payload.", "payload.working.", "payload.working.facts.")
    places = (*(f"{tier}{bare}" for tier in tiers), *(f"{tier}{name}" for tier in tiers[2:]))
    return any(get(draft, place) not in (None, "", [], {}) for place in places)


def _health(case: Case) -> Check:
    if not case.handoff.health:
        return Check("health_good", True, "not asked for")
    if case.target is None:
        return Check("health_good", False, "what is not there cannot be asked")
    if case.target.health_check and not case.target.remote:
        try:
            health_check.may_run(case.target, case.desk.state, case.desk.own)
        except FlowError as error:
            return Check("health_good", False, f"the health check did not run: {error.message}; {error.hint}")
    found = health_check.check(case.target, case.desk.environ)
    return Check("health_good", found.good, f"the health check: {found.told}")


_GUARDS: Mapping[str, Callable[[Case], Check]] = {
    "target_there": _there,
    "target_unchanged": _unchanged,
    "session_readable": _session,
    "chain_allowed": _chain,
    "source_admitted": _admitted,
    "schema_fits": _schema,
    "payload_fit": _fit,
    "requires_met": _requires,
    "health_good": _health,
}


def written(handoff: Handoff) -> bool:
    """Whether the payload stands on disk with the digest that is on record."""
    return bool(handoff.digest) and file.digest_of(handoff.payload) == handoff.digest
