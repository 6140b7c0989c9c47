"""Send the work of a session or of a skill to another skill, send it again, or cancel it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.handoff.chain import format_chain
from flowrail.handoff.checks import missing_parts
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    HandoffClosedError,
    HandoffRefusedError,
    PayloadGoneError,
    SessionGoneError,
    TargetNotFoundError,
    ValidationFailedError,
)
from flowrail.handoff.handoff import ACKNOWLEDGMENT, DISCOVERY, ENDED, FAILED, INVOCATION, UNSENT, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.phases import OutgoingHandoff, advance, record_failure
from flowrail.handoff.request import (
    HandoffRequest,
    HandoffSource,
    choose_target,
    new_handoff,
    retried_handoff,
    skill_source,
    source_of,
)
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import SessionChange
from flowrail.text.phrases import moment

SYNTHESIS = "synthesis_summary"
"""The fact that a workflow reports before its work can be handed off, if it declares it as required."""

SAME_REQUEST = HandoffRequest("")
"""A retry that changes nothing."""


class SentHandoff(NamedTuple):
    """A handoff after `send` or `retry`, whether this is an earlier answer repeated, and notes for the caller."""

    handoff: Handoff
    replayed: bool = False
    notes: tuple[str, ...] = ()


def send(context: HandoffContext, request: HandoffRequest) -> SentHandoff:
    """Hand the work of a session or a skill to a target, up to the line that invokes the target.

    The same request again returns the earlier answer, or continues a handoff that was interrupted or failed.
    """
    with _source(context, request) as (source, session_change):
        target = choose_target(context.discover(), request.target)
        handoff = new_handoff(context, request, source, target)
        earlier = _find_earlier(context, handoff, again=request.again)
        if earlier is not None and earlier.phase == ACKNOWLEDGMENT:
            return SentHandoff(earlier, replayed=True, notes=(_received_note(earlier),))
        if earlier is None:
            note = {"path": target.path, "scope": target.scope.value}
            context.handoffs.create(handoff, kind=DISCOVERY, at=context.now(), by=context.by, note=note)
        handoff_id = handoff.id if earlier is None else earlier.id
        with context.handoffs.change(handoff_id, wait=context.wait) as change:
            return _continue(context, change, session_change, request)


def retry(context: HandoffContext, handoff_id: str, request: HandoffRequest = SAME_REQUEST) -> SentHandoff:
    """Finish a handoff that failed or was interrupted; *request* adds facts, a reason or consent."""
    handoff = context.handoffs.read(handoff_id)
    if handoff.phase == INVOCATION and _has_expired(context, handoff):
        handoff = _record_expiry(context, handoff_id)
    if handoff.phase in ENDED:
        raise _closed(handoff, Hint("send it again: ", _send_command(context, handoff)))
    needed = {"session", "target"} if handoff.phase == INVOCATION else {"session"}
    missing = missing_parts(context.store, handoff)
    if gone := {name: message for name, message in missing.items() if name in needed}:
        raise _gone(context, handoff, gone)
    session_lock = (
        context.store.change(handoff.session, wait=context.wait) if handoff.session else nullcontext()
    )
    with session_lock as session_change, context.handoffs.change(handoff_id, wait=context.wait) as change:
        return _continue(context, change, session_change, request)


def cancel(context: HandoffContext, handoff_id: str, reason: str = "") -> Handoff:
    """Cancel a handoff. A written payload stays, but it can no longer be received."""
    with context.handoffs.change(handoff_id, wait=context.wait) as change:
        handoff = change.handoff
        if handoff.phase in ENDED:
            raise _closed(handoff, context.command("handoff status", handoff_id))
        cancelled = handoff._replace(cancelled=reason or "no reason given")
        return advance(context, change, cancelled, "cancel", kind="cancel")


@contextmanager
def _source(
    context: HandoffContext, request: HandoffRequest
) -> Iterator[tuple[HandoffSource, SessionChange | None]]:
    """Yield the source of a request. If it is a session, its lock is held."""
    if request.skill:
        yield skill_source(context, request.skill, request.payload), None
        return
    with context.store.change(request.session, wait=context.wait) as session_change:
        session = session_change.kept.session
        _refuse_without_synthesis(context, session, request.facts)
        yield source_of(session), session_change


def _refuse_without_synthesis(context: HandoffContext, session: Session, facts: Mapping[str, object]) -> None:
    """Refuse to hand off work before its workflow has reported its synthesis."""
    if facts.get(SYNTHESIS) or session.state.get(SYNTHESIS):
        return
    for step in context.store.definition(session.id).steps:
        report = (step.get("reports") or {}).get(SYNTHESIS)
        if isinstance(report, Mapping) and report.get("required"):
            raise ValidationFailedError(
                f"session `{session.id}` has no synthesis yet: step `{step.get('id')}` reports it",
                hint=Hint("continue the work first: ", context.command("resume", session.id)),
                recoverable=True,
                missing_fields=[],
                validation_errors=["the work has no synthesis yet"],
                session=session.id,
            )


def _continue(
    context: HandoffContext,
    change: HandoffChange,
    session_change: SessionChange | None,
    request: HandoffRequest,
) -> SentHandoff:
    """Move a handoff to its invocation. If it failed or lost its payload, it gets a new payload first."""
    sending = OutgoingHandoff(context, change, session_change)
    handoff, notes = sending.handoff, list[str]()
    if handoff.phase == INVOCATION:
        lost = missing_parts(context.store, handoff).get("payload")
        if lost is None:
            return SentHandoff(handoff, replayed=True)
        notes.append(f"{lost}; it was written again")
        error = PayloadGoneError(lost, hint="write it again", recoverable=True, handoff=handoff.id)
        handoff = record_failure(context, change, handoff, error, "lose", {"payload_lost": True})
    if handoff.phase == FAILED:
        target = choose_target(context.discover(), handoff.target)
        sending.start_again(retried_handoff(handoff, request, target))
    handoff = sending.run()
    return SentHandoff(handoff, notes=(*notes, *_notes(handoff)))


def _closed(handoff: Handoff, hint: Hint | Command) -> HandoffClosedError:
    state = f"cancelled: {handoff.cancelled}" if handoff.cancelled else handoff.phase
    return HandoffClosedError(
        f"handoff `{handoff.id}` is over: {state}", hint=hint, handoff=handoff.id, phase=handoff.phase
    )


def _gone(context: HandoffContext, handoff: Handoff, missing: Mapping[str, str]) -> HandoffRefusedError:
    kind = SessionGoneError if "session" in missing else TargetNotFoundError
    return kind(
        f"handoff `{handoff.id}` cannot continue: {'; '.join(missing.values())}",
        hint=Hint("close it: ", context.command("handoff cancel", handoff.id)),
        handoff=handoff.id,
        target_skill=handoff.target,
    )


def _send_command(context: HandoffContext, handoff: Handoff) -> Command:
    source = {"session": handoff.session} if handoff.session else {"from": handoff.source}
    facts = {
        name: value for name, value in handoff.facts.items() if isinstance(value, str) and value.isprintable()
    }
    again = handoff.phase == ACKNOWLEDGMENT
    return context.command(
        "handoff send", handoff.target, **source, facts=facts, again=again, root=handoff.root
    )


def _received_note(handoff: Handoff) -> str:
    receiver = f" by {handoff.claim.by} at {handoff.claim.at}" if handoff.claim else ""
    return f"this work was handed off before and received{receiver}; add --again to hand it off again"


def _has_expired(context: HandoffContext, handoff: Handoff) -> bool:
    return integrity.has_expired(moment(handoff.expires_at), context.current_time())


def _record_expiry(context: HandoffContext, handoff_id: str) -> Handoff:
    """Record that the payload was not received in time, unless it was received in the meantime."""
    with context.handoffs.change(handoff_id, wait=context.wait) as change:
        handoff = change.handoff
        if handoff.phase != INVOCATION:
            return handoff
        return advance(context, change, handoff, "expire", {"expired": _has_expired(context, handoff)})


def _find_earlier(context: HandoffContext, handoff: Handoff, *, again: bool) -> Handoff | None:
    """Return an earlier handoff of the same request.

    The order is: sent, unsent, failed, received. Received ones are ignored if the work must be sent *again*.
    """
    same = [earlier for earlier in context.handoffs.own_ones() if earlier.request == handoff.request]
    sent = [earlier for earlier in same if earlier.phase == INVOCATION and not _has_expired(context, earlier)]
    unsent = [earlier for earlier in same if earlier.phase in UNSENT]
    failed = [earlier for earlier in same if earlier.phase == FAILED]
    received = [earlier for earlier in same if earlier.phase == ACKNOWLEDGMENT and not again]
    return next(iter((*sent, *unsent, *failed, *received)), None)


def _notes(handoff: Handoff) -> tuple[str, ...]:
    notes: list[str] = []
    if handoff.received is not None:
        notes.append(f"continues the work received in {handoff.received.handoff or handoff.received.payload}")
    if handoff.target in handoff.chain:
        notes.append(f"this is a loop: {format_chain(handoff.chain, handoff.target)} ({handoff.reason})")
    if handoff.schema != normal_version(handoff.target_schema):
        fit = compatibility(handoff.schema, handoff.target_schema)
        notes.append(f"{handoff.schema} to {handoff.target_schema}: {fit.verdict.value}, {fit.reason}")
    if handoff.lost:
        notes.append(f"not in a {handoff.schema} payload: {', '.join(handoff.lost)}")
    return tuple(notes)
