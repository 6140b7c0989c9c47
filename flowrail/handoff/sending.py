"""Send a session's work to a skill, send it again, or cancel it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.handoff.chain import format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import HandoffClosedError
from flowrail.handoff.handoff import DISCOVERY, ENDED, FAILED, INVOCATION, UNSENT, Handoff
from flowrail.handoff.lifecycle import next_phase
from flowrail.handoff.payload import integrity
from flowrail.handoff.phases import append, build_draft, run_phases
from flowrail.handoff.request import (
    HandoffRequest,
    HandoffTarget,
    choose_target,
    new_handoff,
    retried_handoff,
)
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.store import SessionChange

MAX_SHOWN_FACT = 80
"""Longer facts are left out of a suggested command."""

SAME_REQUEST = HandoffRequest("", "")
"""A retry that changes nothing."""


class SentHandoff(NamedTuple):
    """A handoff after `send` or `retry`, whether this is an earlier answer repeated, and notes for the caller."""

    handoff: Handoff
    replayed: bool = False
    notes: tuple[str, ...] = ()


def send(context: HandoffContext, request: HandoffRequest) -> SentHandoff:
    """Hand a session's work to a target: every phase up to the line that invokes it.

    The same request again returns the earlier answer, or continues a handoff that was interrupted or failed.
    """
    with context.store.change(request.session, wait=context.wait) as session_change:
        target = choose_target(context.discover(), request.target)
        handoff = new_handoff(context, request, session_change.kept.session, target)
        earlier = _find_earlier(context, handoff)
        if earlier is not None and earlier.phase == INVOCATION:
            return SentHandoff(earlier, replayed=True)
        if earlier is None:
            note = _target_note(target)
            context.handoffs.create(handoff, kind=DISCOVERY, at=context.now(), by=context.by, note=note)
        handoff_id = handoff.id if earlier is None else earlier.id
        with context.handoffs.change(handoff_id, wait=context.wait) as change:
            return _continue(context, change, session_change, request)


def retry(context: HandoffContext, handoff_id: str, request: HandoffRequest = SAME_REQUEST) -> SentHandoff:
    """Finish a handoff that failed or was interrupted; *request* adds facts, a reason or consent."""
    handoff = context.handoffs.read(handoff_id).handoff
    if handoff.phase == INVOCATION:
        if not _has_expired(context, handoff):
            return SentHandoff(handoff, replayed=True)
        handoff = _record_expiry(context, handoff_id)
    if handoff.phase in ENDED:
        raise _closed(handoff, Hint("send it again: ", _send_command(context, handoff)))
    with (
        context.store.change(handoff.session, wait=context.wait) as session_change,
        context.handoffs.change(handoff_id, wait=context.wait) as change,
    ):
        return _continue(context, change, session_change, request)


def cancel(context: HandoffContext, handoff_id: str, reason: str = "") -> Handoff:
    """Cancel a handoff. A written payload stays, but nobody can receive it any more."""
    with context.handoffs.change(handoff_id, wait=context.wait) as change:
        handoff = change.kept.handoff
        if handoff.phase in ENDED:
            raise _closed(handoff, context.command("handoff status", handoff_id))
        phase = next_phase(handoff.phase, "cancel")
        note = {"reason": reason} if reason else {}
        return append(context, change, handoff._replace(phase=phase), kind="cancel", note=note)


def _continue(
    context: HandoffContext, change: HandoffChange, session_change: SessionChange, request: HandoffRequest
) -> SentHandoff:
    """Take a handoff to its invocation. A failed one gets a new payload first."""
    handoff = change.kept.handoff
    if handoff.phase == FAILED:
        handoff = retried_handoff(handoff, request, choose_target(context.discover(), handoff.target))
        handoff = handoff._replace(phase=next_phase(FAILED, "retry"))
        handoff = build_draft(context, handoff, session_change.kept.session)
        append(context, change, handoff, kind="retry", note={"attempt": handoff.attempts + 1})
    handoff = run_phases(context, change, session_change)
    return SentHandoff(handoff, notes=_notes(handoff))


def _closed(handoff: Handoff, hint: Hint | Command) -> HandoffClosedError:
    return HandoffClosedError(
        f"handoff `{handoff.id}` is over: {handoff.phase}", hint=hint, handoff=handoff.id, phase=handoff.phase
    )


def _send_command(context: HandoffContext, handoff: Handoff) -> Command:
    facts = {
        name: value
        for name, value in handoff.facts.items()
        if isinstance(value, str) and len(value) <= MAX_SHOWN_FACT and value.isprintable()
    }
    return context.command(
        "handoff send", handoff.target, session=handoff.session, facts=facts, root=handoff.root
    )


def _has_expired(context: HandoffContext, handoff: Handoff) -> bool:
    return integrity.has_expired(integrity.moment(handoff.expires_at), context.current_time())


def _record_expiry(context: HandoffContext, handoff_id: str) -> Handoff:
    """Record that nobody received the payload in time, unless a receiver did in the meantime."""
    with context.handoffs.change(handoff_id, wait=context.wait) as change:
        handoff = change.kept.handoff
        if handoff.phase != INVOCATION:
            return handoff
        phase = next_phase(handoff.phase, "expire", {"expired": _has_expired(context, handoff)})
        return append(context, change, handoff._replace(phase=phase))


def _find_earlier(context: HandoffContext, handoff: Handoff) -> Handoff | None:
    """Return the handoff that the same request began before: a sent one first, then an unsent, then a failed one."""
    same = [earlier for earlier in context.handoffs.own_ones() if earlier.request == handoff.request]
    sent = [earlier for earlier in same if earlier.phase == INVOCATION and not _has_expired(context, earlier)]
    unsent = [earlier for earlier in same if earlier.phase in UNSENT]
    failed = [earlier for earlier in same if earlier.phase == FAILED]
    return next(iter((*sent, *unsent, *failed)), None)


def _target_note(target: HandoffTarget) -> Mapping[str, Any]:
    candidate = target.candidate
    return {"path": candidate.path, "scope": candidate.scope.value, "hides": list(candidate.hides)}


def _notes(handoff: Handoff) -> tuple[str, ...]:
    notes: list[str] = []
    if handoff.target in handoff.chain:
        notes.append(f"this is a loop: {format_chain(handoff.chain, handoff.target)} ({handoff.reason})")
    if handoff.schema != normal_version(handoff.target_schema):
        fit = compatibility(handoff.schema, handoff.target_schema)
        notes.append(f"{handoff.schema} to {handoff.target_schema}: {fit.verdict.value}, {fit.reason}")
    return tuple(notes)
