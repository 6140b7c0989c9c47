"""Find the handoff that a payload belongs to, or record a payload that came from elsewhere.

We have no journal of a payload from elsewhere. Therefore this module checks the target's rules, and counts the hops
from our records of the payload's trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.handoff import checks
from flowrail.handoff.chain import MAX_HOPS, format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import PayloadProblem, ValidationFailedError, errors, payload_refusal
from flowrail.handoff.handoff import INVOCATION, CheckResult, Handoff
from flowrail.handoff.payload import convert, integrity, validate
from flowrail.handoff.payload.document import PAYLOAD_FOLDER, Payload, text_at, texts_at
from flowrail.handoff.store import Handoffs
from flowrail.machines.guidance.guide import now_at
from flowrail.machines.sessions.store import Store
from flowrail.storage import files
from flowrail.storage.files import locked


class ReceiveRequest(NamedTuple):
    """The file to receive, the digest it must have, and whether an expired payload is accepted."""

    path: str
    digest: str = ""
    force: bool = False


def find_handoff(context: HandoffContext, payload: Payload) -> tuple[Handoffs, str | None]:
    """Return the store that has the handoff of *payload*, and the handoff's id if there is one.

    A payload can be copied, so the store of the sender's session is searched too. A handoff with the payload's digest
    comes first, then one that is over or claimed.
    """
    matches: list[tuple[Handoffs, Handoff]] = []
    for store in dict.fromkeys(map(os.path.realpath, _stores(context, payload))):
        is_ours = store == os.path.realpath(context.store.path)
        handoffs = context.handoffs if is_ours else Handoffs(Store(store, context.store.owner))
        for handoff in handoffs.own_ones():
            is_changed = handoff.is_open and not handoff.foreign and _is_file(store, handoff, payload.source)
            if handoff.digest == payload.digest or is_changed:  # a changed file is refused later
                matches.append((handoffs, handoff))
    if not matches:
        return context.handoffs, None
    handoffs, handoff = max(
        matches,
        key=lambda match: (
            match[1].digest == payload.digest,
            not match[1].is_open,
            match[1].claim is not None,
        ),
    )
    return handoffs, handoff.id


def record_arrival(
    context: HandoffContext, handoffs: Handoffs, payload: Payload, request: ReceiveRequest
) -> str:
    """Record a payload from elsewhere, once, and return the id of its handoff."""
    problems = validation_problems(context, payload, request)
    if errors(problems):
        raise payload_refusal(
            "the payload is refused", problems, hint="ask for a new one", preserved=payload.source
        )
    handoff = _arrived_handoff(context, handoffs, payload)
    handoff = handoff._replace(checks=_check_arrival(context, handoff, payload))
    files.make_private_dir(handoffs.store.path)
    files.make_private_dir(handoffs.path)
    with locked(os.path.join(handoffs.path, ".lock"), wait=context.wait, what="the handoffs"):
        for earlier in handoffs.own_ones():
            if earlier.digest == payload.digest:
                return earlier.id
        handoff = handoff._replace(id=handoffs.entries.new_id("handoff", context.random))
        note = {"payload": payload.source}
        handoffs.create(handoff, kind="arrival", at=context.now(), by=context.by, note=note)
        return handoff.id


def validation_problems(
    context: HandoffContext, payload: Payload, request: ReceiveRequest
) -> tuple[PayloadProblem, ...]:
    """Return the problems of a payload by a receiver's rules."""
    rules = validate.ValidationRules(context.current_time(), allow_expired=request.force)
    return validate.validate(payload, rules).problems


def _stores(context: HandoffContext, payload: Payload) -> Iterator[str]:
    """Yield the stores that may have the handoff: of the file, of the receiver, and of the sender's session."""
    yield os.path.abspath(
        os.path.join(payload.source, *[os.pardir] * 4)
    )  # of .flow/sessions/<id>/handoffs/<file>
    yield context.store.path
    session = text_at(payload.handoff, "source.session_path").rstrip("/")
    if os.path.isabs(session) and "\0" not in session:
        yield os.path.dirname(os.path.dirname(session))


def _is_file(store: str, handoff: Handoff, path: str) -> bool:
    """Whether the handoff's payload was written to *path*, even if the store was moved since."""
    recorded = now_at(handoff.payload, os.path.join(store, "sessions", handoff.session, PAYLOAD_FOLDER))
    return bool(recorded) and os.path.realpath(recorded) == os.path.realpath(path)


def _arrived_handoff(context: HandoffContext, handoffs: Handoffs, payload: Payload) -> Handoff:
    """Return a payload from elsewhere as a handoff in its invocation phase."""
    content = convert.content(payload.version, payload.handoff)
    chain = tuple(texts_at(content, "meta.handoff_chain"))
    expires_at = integrity.expiry(payload.version, payload.handoff)
    target = text_at(content, "target.skill")
    candidates = {candidate.skill: candidate for candidate in context.discover().candidates}
    candidate = candidates.get(target.partition("/")[0])
    return Handoff(
        id="",
        source=text_at(content, "source.skill"),
        target=target,
        target_schema=candidate.schema_version if candidate else "",
        phase=INVOCATION,
        schema=payload.version,
        trace_id=text_at(content, "trace_id"),
        parent_span=text_at(content, "tracing.parent_span_id"),
        span_id=context.random(8).hex(),
        chain=chain,
        hops=max(len(chain), _recorded_hops(context, handoffs, content) + 1),
        reason=text_at(content, "meta.handoff_reason"),
        started_at=context.now(),
        expires_at=integrity.stamp(expires_at) if expires_at else "",
        payload=payload.source,
        digest=payload.digest,
        payload_hash=text_at(payload.handoff, "meta.payload_hash"),
        size=payload.size,
        foreign=True,
    )


def _recorded_hops(context: HandoffContext, handoffs: Handoffs, content: Mapping[str, object]) -> int:
    """Return the hops that our own records have of the payload's trace and session."""
    trace = text_at(content, "trace_id")
    hops = [handoff.hops for handoff in handoffs.own_ones() if handoff.trace_id == trace]
    with suppress(FlowError):  # the session is unknown
        session_id = os.path.basename(text_at(content, "source.session_path").rstrip("/"))
        session = context.store.read(session_id).session
        hops += [session.received.hops] if session.received else []
    return max(hops, default=0)


def _check_arrival(context: HandoffContext, handoff: Handoff, payload: Payload) -> tuple[CheckResult, ...]:
    """Refuse a chain that is too long, and a payload that the target does not accept."""
    content = convert.content(payload.version, payload.handoff)
    chain, within_limit = format_chain(handoff.chain, handoff.target), handoff.hops <= MAX_HOPS
    too_far = f"the work came through {handoff.hops} handoffs, and at most {MAX_HOPS} are allowed: {chain}"
    results = (
        *checks.check_target(context, handoff._replace(draft=content), context.discover()),
        CheckResult("chain_allowed", within_limit, chain if within_limit else too_far),
        CheckResult("payload_valid", True, "complete, valid and not expired"),
    )
    failed = [result for result in results if not result.holds]
    if failed:
        messages = [result.message for result in failed]
        raise ValidationFailedError(
            f"the payload is refused: {'; '.join(messages)}",
            hint="finish the work here, choose another target, or ask the user to start a new session",
            preserved=payload.source,
            missing_fields=list(dict.fromkeys(field for result in failed for field in result.missing)),
            validation_errors=messages,
            target_skill=handoff.target,
        )
    return results
