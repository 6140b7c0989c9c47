"""Find the handoff that a payload belongs to, or record a payload that came from elsewhere.

A payload is known by its identity, so another document with the same content is the same payload. We have no journal of a
payload from elsewhere. Therefore this module checks the target's rules, and counts the hops from our records of its trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from flowrail.errors import FlowError
from flowrail.handoff import checks
from flowrail.handoff.chain import MAX_HOPS, format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import PayloadProblem, ValidationFailedError, errors, payload_refusal
from flowrail.handoff.handoff import INVOCATION, CheckResult, Handoff
from flowrail.handoff.payload import integrity, validate
from flowrail.handoff.payload.convert import content
from flowrail.handoff.payload.document import Payload, text_at, texts_at
from flowrail.handoff.store import Handoffs, payload_path
from flowrail.machines.sessions.store import Store


@dataclass(frozen=True)
class ReceiveRequest:
    """The file to receive."""

    path: str
    digest: str = ""
    """The digest that the file must have."""
    force: bool = False
    """Whether an expired payload is accepted."""


def find_handoff(context: HandoffContext, payload: Payload) -> tuple[Handoffs, Handoff] | None:
    """Return the handoff of *payload* and its store, or `None` if the payload comes from elsewhere.

    A payload can be copied, so the store of the sender's session is searched too. Only this user's records count there.
    """
    if not payload.version:
        return None
    identity = integrity.identity(payload.version, payload.handoff)
    for store in dict.fromkeys(map(os.path.realpath, _stores(context, payload))):
        is_ours = store == os.path.realpath(context.store.path)
        handoffs = context.handoffs if is_ours else Handoffs(Store(store, context.store.owner))
        for handoff in handoffs.own_ones():
            if handoff.identity == identity or _is_file_of(handoffs, handoff, payload.source):
                return handoffs, handoff
    return None


def arrived(context: HandoffContext, payload: Payload, request: ReceiveRequest) -> Handoff:
    """Return a payload from elsewhere as a handoff in its invocation phase, or refuse it. Nothing is recorded."""
    problems = validation_problems(context, payload, request)
    if errors(problems):
        raise payload_refusal(
            "the payload is refused", problems, hint="ask for a new one", preserved=payload.source
        )
    fields = content(payload.version, payload.handoff)
    chain = tuple(texts_at(fields, "meta.handoff_chain"))
    expires_at = integrity.expiry(payload.version, payload.handoff)
    target = text_at(fields, "target.skill")
    candidates = {candidate.skill: candidate for candidate in context.discover().candidates}
    candidate = candidates.get(target.partition("/")[0])
    handoff = Handoff(
        id=context.handoffs.new_id(context.random),
        source=text_at(fields, "source.skill"),
        target=target,
        target_schema=candidate.schema_version if candidate else "",
        phase=INVOCATION,
        schema=payload.version,
        trace_id=text_at(fields, "trace_id"),
        parent_span=text_at(fields, "tracing.parent_span_id"),
        span_id=context.random(8).hex(),
        chain=chain,
        hops=max(len(chain), _recorded_hops(context, fields) + 1),
        reason=text_at(fields, "meta.handoff_reason"),
        started_at=context.now(),
        expires_at=integrity.stamp(expires_at) if expires_at else "",
        content=payload.handoff,
        identity=integrity.identity(payload.version, payload.handoff),
        payload=payload.source,
        sha256=payload.digest,
        size=payload.size,
        foreign=True,
    )
    return _checked(context, handoff, fields, payload.source)


def validation_problems(
    context: HandoffContext, payload: Payload, request: ReceiveRequest
) -> tuple[PayloadProblem, ...]:
    """Return the problems of a payload by a receiver's rules."""
    rules = validate.ValidationRules(context.current_time(), allow_expired=request.force)
    return validate.validate(payload, rules).problems


def _stores(context: HandoffContext, payload: Payload) -> Iterator[str]:
    """Yield the stores that may have the handoff: the receiver's, that of the file, and that of the sender's session."""
    yield context.store.path
    yield os.path.abspath(os.path.join(payload.source, *[os.pardir] * 4))  # .flow/sessions/ID/handoffs/FILE
    session = text_at(payload.handoff, "source.session_path").rstrip("/")
    if os.path.isabs(session) and "\0" not in session:
        yield os.path.dirname(os.path.dirname(session))


def _is_file_of(handoffs: Handoffs, handoff: Handoff, path: str) -> bool:
    """Whether the payload of an open handoff was written to *path*, which now has another payload."""
    if not handoff.is_open or handoff.foreign or not handoff.payload:
        return False
    return os.path.realpath(payload_path(handoffs.store, handoff)) == os.path.realpath(path)


def _recorded_hops(context: HandoffContext, fields: Mapping[str, object]) -> int:
    """Return the hops that our own records have of the payload's trace and session."""
    trace = text_at(fields, "trace_id")
    hops = [handoff.hops for handoff in context.handoffs.own_ones() if handoff.trace_id == trace]
    with suppress(FlowError):  # the session is unknown
        session_id = os.path.basename(text_at(fields, "source.session_path").rstrip("/"))
        session = context.store.read(session_id).session
        hops += [session.received.hops] if session.received else []
    return max(hops, default=0)


def _checked(context: HandoffContext, handoff: Handoff, fields: Mapping[str, object], path: str) -> Handoff:
    """Return *handoff* with its checks. Refuse a chain that is too long, and a payload that the target does not accept."""
    chain, within_limit = format_chain(handoff.chain, handoff.target), handoff.hops <= MAX_HOPS
    too_far = f"the work came through {handoff.hops} handoffs, and at most {MAX_HOPS} are allowed: {chain}"
    results = (
        *checks.check_target(context, replace(handoff, content=fields)),
        CheckResult("chain_allowed", within_limit, chain if within_limit else too_far),
        CheckResult("payload_valid", True, "complete, valid and not expired"),
    )
    failed = [result for result in results if not result.holds]
    if failed:
        messages = [result.message for result in failed]
        raise ValidationFailedError(
            f"the payload is refused: {'; '.join(messages)}",
            hint="finish the work here, choose another target, or ask the user to start a new session",
            preserved=path,
            missing_fields=list(dict.fromkeys(field for result in failed for field in result.missing)),
            validation_errors=messages,
            target_skill=handoff.target,
        )
    return replace(handoff, checks=results)
