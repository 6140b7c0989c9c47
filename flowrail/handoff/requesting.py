"""What somebody wants handed over, as a handoff: target, version, chain, hops; judged before it is begun."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.locations import Scope
from flowrail.handoff import invocation
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.handoff import Handoff
from flowrail.handoff.history import chain_of
from flowrail.handoff.lifecycle import guards
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import FORMS
from flowrail.handoff.selection import Chosen
from flowrail.machines.sessions.session import Session

SENT_IN = ("2.0", "3.0")
"""The versions that are written; older ones are only read."""


class Asked(NamedTuple):
    """What somebody wants handed over, and how; empty where it is left to the target."""

    target: str
    session: str
    reason: str = ""
    yes: bool = False
    approved: bool = False
    health: bool = False
    schema: str = ""
    form: str = ""
    facts: Mapping[str, Any] = {}


def wanted_by(desk: Desk, asked: Asked, session: Session, chosen: Chosen) -> Handoff:
    """Return the handoff that is asked for, not yet begun."""
    candidate, before = chosen.candidate, session.received
    version = _version(asked, candidate.schema_version)
    form = asked.form or FORMS[version]
    chain = chain_of(session)
    random = desk.random(24)
    wanted = Handoff(
        id=desk.handoffs.new_id(desk.random),
        source=session.skill,
        target=candidate.skill,
        session=session.id,
        revision=session.revision,
        target_path=candidate.path,
        target_digest=chosen.digest,
        target_schema=candidate.schema_version,
        trigger=invocation.template(candidate.trigger, candidate.skill),
        ours=chosen.ours,
        root=named_root(candidate),
        schema=version,
        form=form,
        trace_id=str(before.get("trace_id") or UUID(bytes=random[:16], version=4)),
        span_id=random[16:].hex(),
        parent_span=str(before.get("span_id", "")),
        chain=chain,
        hops=_hops(desk, before),
        reason=asked.reason.strip(),
        yes=asked.yes,
        approved=asked.approved,
        health=asked.health,
        facts=dict(asked.facts),
        started_at=desk.now(),
    )
    return wanted._replace(request=_request(wanted))


def named_root(candidate: Candidate) -> str:
    """Return the place that a target was found in, where nobody finds it without being told."""
    return candidate.root if candidate.scope is Scope.EXTRA else ""


def _version(asked: Asked, target: str) -> str:
    reads = normal_version(target)
    version = asked.schema or (reads if reads in SENT_IN else SENT_IN[-1])
    if not asked.schema and not compatibility(version, reads).possible:
        version = SENT_IN[0]
    return version


def _hops(desk: Desk, received: Mapping[str, Any]) -> int:
    """Return which hop this is by our own records, whatever the chain says."""
    hops = int(received.get("hops", 0))
    for known in desk.handoffs.own_ones():
        if known.id == received.get("handoff"):
            hops = max(hops, known.hops)
    return hops + 1


def _request(wanted: Handoff) -> str:
    told = [
        wanted.session, wanted.revision, wanted.target, wanted.schema, wanted.form, wanted.reason,
        wanted.health, wanted.facts,
    ]  # fmt: skip
    return sha256(integrity.canonical(told)).hexdigest()[:16]


def judge_chain(wanted: Handoff) -> None:
    """Refuse what the chain does not allow, before anything is written."""
    verdict = guards.judged(wanted)
    if not verdict.allowed:
        raise ValidationFailedError(
            verdict.message,
            hint=verdict.hint,
            recoverable=verdict.mendable,
            rule=verdict.code,
            chain=[*wanted.chain, wanted.target],
            hops=wanted.hops,
            target_skill=wanted.target,
            validation_errors=[verdict.message],
        )


def tried_again(handoff: Handoff, asked: Asked, chosen: Chosen) -> Handoff:
    """Return a handoff that failed as it is to be tried again, its target looked at anew."""
    candidate = chosen.candidate
    fresh = handoff._replace(
        target_path=candidate.path,
        target_digest=chosen.digest,
        target_schema=candidate.schema_version,
        trigger=invocation.template(candidate.trigger, candidate.skill),
        ours=chosen.ours,
        root=named_root(candidate),
        checks=(),
        problem={},
    )
    return fresh._replace(
        reason=asked.reason.strip() or handoff.reason,
        yes=asked.yes or handoff.yes,
        approved=asked.approved or handoff.approved,
        facts={**handoff.facts, **asked.facts},
    )
