"""A payload that came from elsewhere: checked as its sender's machine would have, and put on record once.

No journal of ours vouches for it, so the target is asked here whether it takes it, and hops are counted by
our own records of its trace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.handoff.chain import MOST_HOPS, drawn
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import (
    Problem,
    ValidationFailedError,
    errors,
    refuse,
)
from flowrail.handoff.handoff import INVOCATION, Handoff
from flowrail.handoff.lifecycle import guards
from flowrail.handoff.lifecycle.guards import Check
from flowrail.handoff.payload import convert, integrity, validate
from flowrail.handoff.payload.document import Payload, text_at, texts_at
from flowrail.handoff.store import Handoffs
from flowrail.storage import files
from flowrail.storage.locking import locked


class Asked(NamedTuple):
    """Which file to receive, and what is known of it beside the document."""

    path: str
    digest: str = ""
    force: bool = False


def on_record(desk: Desk, handoffs: Handoffs, path: str, payload: Payload, asked: Asked) -> str:
    """Put a payload that came from elsewhere on record, once, and return the id of that record."""
    wrong = errors(problems(desk, payload, asked))
    if wrong:
        raise refuse("the payload is refused", wrong, hint="have it sent again", preserved=path)
    seen = _arrival(desk, handoffs, path, payload)
    checks = _admit(desk, seen, payload)
    files.make_private_dir(handoffs.store)
    files.make_private_dir(handoffs.path)
    with locked(os.path.join(handoffs.path, ".lock"), wait=desk.wait, what="the handoffs"):
        known = [each for each in handoffs.own_ones() if each.digest == payload.digest]
        if known:
            return known[-1].id
        checked = tuple(each.data() for each in checks)
        seen = seen._replace(id=handoffs.new_id(desk.random), checks=checked)
        handoffs.create(seen, kind="arrival", at=desk.now(), by=desk.by, note={"payload": path})
        return seen.id


def problems(desk: Desk, payload: Payload, asked: Asked) -> list[Problem]:
    """Return everything that there is to say of a payload now, by a receiver's rules."""
    rules = validate.Asked(desk.moment(), expired_is_fine=asked.force)
    return list(validate.check(payload, rules).problems)


def _arrival(desk: Desk, handoffs: Handoffs, path: str, payload: Payload) -> Handoff:
    """Return a payload that came from elsewhere as a handoff that stands at its invocation."""
    three = convert.convert(payload.version, payload.handoff, "3.0").handoff
    chain = tuple(texts_at(three, "meta.handoff_chain"))
    ends = integrity.expiry(payload.version, payload.handoff)
    return Handoff(
        id="",
        source=text_at(three, "source.skill"),
        target=text_at(three, "target.skill"),
        phase=INVOCATION,
        schema=payload.version,
        trace_id=text_at(three, "trace_id"),
        parent_span=text_at(three, "tracing.parent_span_id"),
        span_id=desk.random(8).hex(),
        chain=chain,
        hops=max(len(chain), _hops_known(desk, handoffs, three)),
        reason=text_at(three, "meta.handoff_reason"),
        started_at=desk.now(),
        expires_at=integrity.stamp(ends) if ends else "",
        payload=path,
        digest=payload.digest,
        payload_hash=text_at(payload.handoff, "meta.payload_hash"),
        size=payload.size,
        foreign=True,
    )


def _hops_known(desk: Desk, handoffs: Handoffs, three: Mapping[str, Any]) -> int:
    """Return which hop this is by our own records of its trace and its session, whatever its chain says."""
    trace = text_at(three, "trace_id")
    known = [each.hops for each in handoffs.own_ones() if each.trace_id == trace]
    with suppress(FlowError):  # no session of ours, or none that can be read
        session = desk.store.read(text_at(three, "source.workflow_id")).session
        known.append(int(session.received.get("hops", 0)))
    return max(known, default=0) + 1


def _admit(desk: Desk, seen: Handoff, payload: Payload) -> tuple[Check, ...]:
    """Refuse what came too far, and what the target does not take: no sender of ours has asked it.

    Returns what was checked.
    """
    case = guards.Case(desk, seen._replace(draft=payload.handoff), desk.discover(), desk.now())
    shown, ends = drawn(seen.chain, seen.target), seen.hops <= MOST_HOPS
    far = f"the work came through {seen.hops} handoffs, {MOST_HOPS} are the most: {shown}"
    checks = (
        *guards.of_the_target(case),
        Check("chain_allowed", ends, shown if ends else far),
        Check("payload_fit", True, "whole and without mistakes"),
    )
    wrong = [each for each in checks if not each.holds]
    told = [each.told for each in wrong]
    if told:
        raise ValidationFailedError(
            f"the payload is refused: {'; '.join(told)}",
            hint="end the work here, hand it to another skill, or begin anew with the user",
            preserved=payload.source,
            missing_fields=[field for each in wrong for field in each.missing],
            validation_errors=told,
            target_skill=seen.target,
        )
    return checks
