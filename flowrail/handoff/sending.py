"""Send the work of a session or of a skill to another skill, or cancel what was sent.

A send has two records: one with the payload and the results of all checks, before anything is written, and one after the
payload was written. The same `send` continues after an interruption: the payload of the first record is checked again and
written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.errors import DocumentError
from flowrail.handoff import checks
from flowrail.handoff.chain import format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    HandoffRefusedError,
    InvalidPayloadError,
    ValidationFailedError,
)
from flowrail.handoff.handoff import (
    ACKNOWLEDGMENT,
    DISCOVERY,
    ENDED,
    FAILED,
    INVOCATION,
    TRANSFER,
    Handoff,
    HandoffFailure,
)
from flowrail.handoff.lifecycle import CHECKS, NO_ANSWERS, next_phase
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import build
from flowrail.handoff.payload.document import (
    NEWEST_PAYLOAD,
    digest_of,
    payload_file_name,
    put,
    read,
    render,
    text_at,
    write_payload,
)
from flowrail.handoff.request import (
    HandoffRequest,
    HandoffSource,
    choose_target,
    requested,
    skill_source,
    source_of,
    trigger_line,
)
from flowrail.handoff.store import HandoffChange, missing_parts, payload_folder, payload_path, work_folder
from flowrail.machines.sessions.session import Session
from flowrail.storage import files
from flowrail.storage.file_store import LOCK
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import moment

SYNTHESIS = "synthesis_summary"
"""The fact that a workflow reports before its work can be handed off, if it declares it as required."""


@dataclass(frozen=True)
class SentHandoff:
    """A handoff after `send`."""

    handoff: Handoff
    replayed: bool = False
    """Whether this is an earlier answer repeated."""
    notes: tuple[str, ...] = ()
    """What the caller should know."""


def send(context: HandoffContext, request: HandoffRequest) -> SentHandoff:
    """Hand the work of a session or a skill to a target, up to the line that invokes the target.

    The same request again returns the earlier answer, or continues a handoff that was interrupted or failed.
    """
    with _source(context, request) as source:
        target = choose_target(context.discover(), request.target)
        new = requested(context, request, source, target)
        earlier = _find_earlier(context, new, again=request.again)
        if earlier is None:
            return _Sending(context, request, source, HandoffChange(context.handoffs, new), new).run()
        if earlier.phase == ACKNOWLEDGMENT:
            return SentHandoff(earlier, replayed=True, notes=(_received_note(earlier),))
        with context.handoffs.change(earlier.id, wait=context.wait) as change:
            new = replace(new, id=earlier.id, started_at=earlier.started_at)
            if earlier.phase == FAILED:
                new = replace(new, facts={**earlier.facts, **new.facts})
            return _Sending(context, request, source, change, new).run()


def foreseen_refusal(
    context: HandoffContext, request: HandoffRequest, source: HandoffSource, target: Candidate
) -> HandoffRefusedError | None:
    """Return why `send` would refuse a request now, or `None`. Nothing is written."""
    try:
        if source.session is not None:
            _refuse_without_synthesis(context, source.session, request.facts)
        new = requested(context, request, source, target)
        handoff = _Sending(context, request, source, HandoffChange(context.handoffs, new), new).drafted(new)
    except HandoffRefusedError as error:
        return error
    handoff = replace(handoff, checks=checks.check_all(context, handoff))
    if all(result.holds for result in handoff.checks):
        return None
    return checks.refusal(handoff, send_command(context, request, root=handoff.root), None)


def cancel(context: HandoffContext, handoff_id: str, reason: str = "") -> Handoff:
    """Cancel a handoff. A written payload stays, but it can no longer be received."""
    with context.handoffs.change(handoff_id, wait=context.wait) as change:
        handoff = change.handoff
        if handoff.phase in ENDED:
            state = f"cancelled: {handoff.cancelled}" if handoff.cancelled else handoff.status
            raise HandoffRefusedError(
                f"handoff `{handoff.id}` is over: {state}",
                code="HANDOFF_CLOSED",
                hint=context.command("handoff status", handoff_id),
                handoff=handoff.id,
                phase=handoff.phase,
            )
        return advance(context, change, replace(handoff, cancelled=reason or "no reason given"), ("cancel",))


def advance(
    context: HandoffContext,
    change: HandoffChange,
    handoff: Handoff,
    events: Sequence[str],
    answers: Mapping[str, bool] = NO_ANSWERS,
) -> Handoff:
    """Send *events* to the lifecycle, and record *handoff* in the phase that it enters."""
    phase = next_phase(change.handoff.phase, events, answers)
    return change.commit(replace(handoff, phase=phase), events=events, at=context.now(), by=context.by)


def invocation_line(context: HandoffContext, handoff: Handoff) -> str:
    """Return the line that invokes the target with the payload."""
    if handoff.has_workflow:
        return str(receive_command(context, handoff))
    return trigger_line(handoff.trigger, handoff.target, payload_path(context.store, handoff))


def receive_command(context: HandoffContext, handoff: Handoff) -> Command:
    """Return the command that receives a payload, with its digest."""
    path = payload_path(context.store, handoff)
    return context.command("handoff receive", path, sha256=handoff.sha256, root=handoff.root)


def send_command(context: HandoffContext, request: HandoffRequest, *, root: str = "") -> Command:
    """Return the command of a request, without its facts."""
    return context.command(
        "handoff send",
        request.target,
        session=request.session or None,
        payload=request.payload or None,
        new=request.new,
        again=request.again,
        reason=" ".join(request.reason.split()) or None,
        yes=request.yes,
        approved=request.approved,
        health_check=request.health,
        schema=request.schema or None,
        format=request.form or None,
        root=root,
        **{"from": request.skill or None},
    )


class _Sending:
    """One handoff on its way to its invocation, held under its lock."""

    def __init__(
        self,
        context: HandoffContext,
        request: HandoffRequest,
        source: HandoffSource,
        change: HandoffChange,
        new: Handoff,
    ) -> None:
        self._context = context
        self._request = request
        self._source = source
        self._change = change
        self._new = new

    def run(self) -> SentHandoff:
        """Move the handoff from its phase to its invocation."""
        context, handoff, notes = self._context, self._change.handoff, list[str]()
        if handoff.phase == INVOCATION:
            lost = missing_parts(context.store, handoff).get("payload")
            if lost is None:
                return SentHandoff(handoff, replayed=True, notes=self._source.notes)
            notes.append(f"{lost}; it was written again")
            return self._sent(self._checked(handoff, ("lose", "retry")), ("lose", "retry", "hand_on"), notes)
        if handoff.phase == TRANSFER and not _has_expired(context, handoff):
            return self._sent(self._checked(handoff, ("recheck",)), ("recheck", "hand_on"), notes)
        events = {DISCOVERY: ("select", "examine"), FAILED: ("retry",), TRANSFER: ("recheck",)}
        if handoff.phase not in events:  # it ended while its lock was awaited
            return SentHandoff(handoff, replayed=True)
        begun = events[handoff.phase]
        prepared = self._checked(self.drafted(self._new), begun)
        advance(context, self._change, prepared, (*begun, "hand_on"), _answers(prepared))
        return self._sent(prepared, (), notes)

    def drafted(self, handoff: Handoff) -> Handoff:
        """Return *handoff* with a payload built from the source's work."""
        context = self._context
        work = self._source.work(context, handoff, work_folder(context.store, handoff))
        try:
            built = build(work, handoff, project=context.project, now=context.now())
            draft = built.handoff
            candidates = context.discover().candidates
            for category in (
                c.categories[0] for c in candidates if c.skill == handoff.target and c.categories
            ):
                draft = integrity.sealed(handoff.schema, put(draft, "target.category", category))
            data = render(draft, handoff.form)
            read(data, source="the payload")
        except DocumentError as error:  # the reported facts cannot be written as a payload
            raise InvalidPayloadError(error.message, hint=error.hint, recoverable=True) from None
        expires_at, digest = integrity.expiry(handoff.schema, draft), sha256_hex(data)
        name = payload_file_name(
            handoff.schema,
            handoff.form,
            digest,
            source=handoff.source,
            target=handoff.target,
            timestamp=text_at(draft, "timestamp"),
        )
        return replace(
            handoff,
            content=draft,
            lost=built.lost,
            identity=integrity.identity(handoff.schema, draft),
            payload=os.path.join(payload_folder(context.store, handoff), name),
            sha256=digest,
            size=len(data),
            expires_at=integrity.stamp(expires_at) if expires_at else "",
        )

    def _checked(self, handoff: Handoff, events: Sequence[str]) -> Handoff:
        """Return *handoff* with its checks; if one fails, record it after *events*, and refuse."""
        context = self._context
        handoff = replace(handoff, checks=checks.check_all(context, handoff), failure=None)
        if all(result.holds for result in handoff.checks):
            return handoff
        preserved = os.path.join(self._change.folder, f"preserved.{handoff.form}")
        again = send_command(context, self._request, root=handoff.root)
        refusal = checks.refusal(handoff, again, preserved)
        self._fail(handoff, refusal, (*events, "refuse"))
        files.write_atomic(preserved, render(handoff.content, handoff.form), durable=False)
        raise refusal

    def _fail(self, handoff: Handoff, error: HandoffRefusedError, events: Sequence[str]) -> None:
        failure = HandoffFailure(
            error.code, error.message, error.details, error.recoverable, error.preserved, str(error.hint)
        )
        answers = {"target_found": True, "payload_lost": True, "not_fixable": not error.recoverable}
        advance(self._context, self._change, replace(handoff, failure=failure, payload=""), events, answers)

    def _sent(self, handoff: Handoff, events: Sequence[str], notes: list[str]) -> SentHandoff:
        """Write the payload, and record that it was sent after *events*."""
        context, store = self._context, self._context.store
        handoff = replace(handoff, payload=payload_path(store, handoff))
        newest = os.path.join(work_folder(store, handoff), f"{NEWEST_PAYLOAD}.{handoff.form}")
        if "lose" in events and os.path.lexists(handoff.payload):
            os.unlink(handoff.payload)  # it was changed
        data = render(handoff.content, handoff.form)
        write_payload(handoff.payload, data, newest=newest if handoff.schema == "2.0" else "")
        answers = {**_answers(handoff), "payload_written": digest_of(handoff.payload) == handoff.sha256}
        sent = advance(context, self._change, handoff, (*events, "invoke"), answers)
        return SentHandoff(sent, notes=(*notes, *self._source.notes, *_notes(sent)))


def _answers(handoff: Handoff) -> dict[str, bool]:
    """Return the answers of the guards to a handoff whose checks ran. A check that does not apply holds."""
    held = {result.name: result.holds for result in handoff.checks}
    return {**dict.fromkeys(CHECKS, True), **held, "target_found": True, "payload_lost": True}


@contextmanager
def _source(context: HandoffContext, request: HandoffRequest) -> Iterator[HandoffSource]:
    """Yield the source of a request under its lock, so that two equal requests make one handoff."""
    if request.skill:
        with context.handoffs.locked(request.skill, wait=context.wait):
            yield skill_source(context, request.skill, request.payload, new=request.new)
        return
    context.store.read(request.session)  # refuses an unknown session
    folder = context.store.folder(request.session)
    files.make_private_dir(folder)
    with files.locked(f"{folder}/{LOCK}", wait=context.wait, what=f"session `{request.session}`"):
        session = context.store.read(request.session).session
        _refuse_without_synthesis(context, session, request.facts)
        yield source_of(session)


def _refuse_without_synthesis(context: HandoffContext, session: Session, facts: Mapping[str, object]) -> None:
    """Refuse to hand off work before its workflow has reported its synthesis."""
    if facts.get(SYNTHESIS) or session.state.get(SYNTHESIS):
        return
    for step in context.store.definition(session).steps:
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


def _find_earlier(context: HandoffContext, new: Handoff, *, again: bool) -> Handoff | None:
    """Return an earlier handoff of the same request, or one of the same work that failed.

    Received ones are ignored if the work must be sent *again*.
    """
    sent, prepared, failed, received = [], [], [], []
    for earlier in context.handoffs.own_ones():
        is_same = earlier.request == new.request
        if is_same and earlier.phase == INVOCATION and not _has_expired(context, earlier):
            sent.append(earlier)
        elif is_same and earlier.phase == TRANSFER:
            prepared.append(earlier)
        elif earlier.phase == FAILED and _work_of(earlier) == _work_of(new):
            failed.append(earlier)
        elif is_same and earlier.phase == ACKNOWLEDGMENT and not again:
            received.append(earlier)
    return next(iter((*sent, *prepared, *failed, *received)), None)


def _work_of(handoff: Handoff) -> tuple[object, ...]:
    return handoff.source, handoff.session, handoff.revision, handoff.target, handoff.continues


def _has_expired(context: HandoffContext, handoff: Handoff) -> bool:
    return integrity.has_expired(moment(handoff.expires_at), context.current_time())


def _received_note(handoff: Handoff) -> str:
    receiver = f" by {handoff.claim.by} at {handoff.claim.at}" if handoff.claim else ""
    return f"this work was handed off before and received{receiver}; add --again to hand it off again"


def _notes(handoff: Handoff) -> tuple[str, ...]:
    notes: list[str] = []
    if handoff.target in handoff.chain:
        notes.append(f"this is a loop: {format_chain(handoff.chain, handoff.target)} ({handoff.reason})")
    if handoff.schema != normal_version(handoff.target_schema):
        fit = compatibility(handoff.schema, handoff.target_schema)
        notes.append(f"{handoff.schema} to {handoff.target_schema}: {fit.verdict.value}, {fit.reason}")
    if handoff.lost:
        notes.append(f"not in a {handoff.schema} payload: {', '.join(handoff.lost)}")
    return tuple(notes)
