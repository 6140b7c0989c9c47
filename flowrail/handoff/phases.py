"""The phases that a sender passes through. Each is recorded before the next begins, so any can be resumed.

The payload is built once, on entering validation, and stored in the record. After an interruption the same
bytes are written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError
from flowrail.handoff import checks
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import HandoffRefusedError, InvalidPayloadError, ValidationFailedError
from flowrail.handoff.handoff import (
    DISCOVERY,
    SELECTION,
    TRANSFER,
    UNSENT,
    VALIDATION,
    Handoff,
    HandoffFailure,
)
from flowrail.handoff.lifecycle import next_phase
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import build
from flowrail.handoff.payload.document import (
    PAYLOAD_FOLDER,
    payload_file_name,
    put,
    render,
    text_at,
    write_newest_payload,
    write_payload,
)
from flowrail.handoff.request import choose_target, trigger_line
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import SessionChange
from flowrail.storage import files
from flowrail.storage.records import to_plain
from flowrail.text import yaml as yaml_text


def run_phases(context: HandoffContext, change: HandoffChange, session_change: SessionChange) -> Handoff:
    """Take a handoff from its current phase to its invocation, with one record per phase."""
    while (handoff := change.kept.handoff).phase in UNSENT:
        _PHASES[handoff.phase](context, change, session_change)
    return handoff


def _select(context: HandoffContext, change: HandoffChange, session_change: SessionChange) -> None:
    del session_change
    handoff = change.kept.handoff
    try:
        target = choose_target(context.discover(), handoff.target)
    except HandoffRefusedError as error:
        _fail(context, change, handoff, error)
        raise
    phase = next_phase(handoff.phase, "select", {"target_found": True})
    append(context, change, handoff._replace(phase=phase), note={"target": target.candidate.path})


def _examine(context: HandoffContext, change: HandoffChange, session_change: SessionChange) -> None:
    handoff = change.kept.handoff
    phase = next_phase(handoff.phase, "examine")
    try:
        drafted = build_draft(context, handoff._replace(phase=phase), session_change.kept.session)
    except InvalidPayloadError as error:
        _fail(context, change, handoff, error)
        raise
    append(context, change, drafted)


def _validate(context: HandoffContext, change: HandoffChange, session_change: SessionChange) -> None:
    handoff = change.kept.handoff
    try:
        answers = checks.check_all(checks.GuardInput(context, handoff, context.discover()))
    except DocumentError as error:  # the reported facts cannot be written as a payload
        refusal: HandoffRefusedError = InvalidPayloadError(error.message, hint=error.hint, recoverable=True)
        _fail(context, change, handoff, refusal)
        raise refusal from None
    held = {answer.name: answer.holds for answer in answers}
    handoff = handoff._replace(checks=tuple(answer.result() for answer in answers))
    if not all(held.values()):
        retry = context.command("handoff retry", handoff.id, root=handoff.root)
        refusal = checks.refusal(handoff, answers, _preserve_draft(change, handoff), retry)
        not_fixable = any(not answer.holds and not answer.fixable for answer in answers)
        _fail(context, change, handoff, refusal, not_fixable=not_fixable)
        raise refusal
    phase = next_phase(handoff.phase, "hand_on", held)
    data = render(handoff.draft, handoff.form)
    digest = sha256(data).hexdigest()
    name = payload_file_name(
        handoff.schema,
        handoff.form,
        digest,
        source=handoff.source,
        target=handoff.target,
        timestamp=text_at(handoff.draft, "timestamp"),
    )
    path = os.path.join(session_change.kept.folder, PAYLOAD_FOLDER, name)
    handoff = handoff._replace(phase=phase, payload=path, digest=digest, size=len(data))
    append(context, change, handoff, note={"payload": path, "sha256": digest})


def _transfer(context: HandoffContext, change: HandoffChange, session_change: SessionChange) -> None:
    handoff = change.kept.handoff
    if integrity.has_expired(integrity.moment(handoff.expires_at), context.current_time()):
        expired = ValidationFailedError(
            f"the payload for `{handoff.target}` expired before it was written: {handoff.expires_at}",
            hint=Hint("build it again: ", context.command("handoff retry", handoff.id, root=handoff.root)),
            recoverable=True,
            preserved=_preserve_draft(change, handoff),
            validation_errors=["the payload has expired"],
            target_skill=handoff.target,
        )
        _fail(context, change, handoff, expired)
        raise expired
    data = render(handoff.draft, handoff.form)
    try:
        write_payload(handoff.payload, data)
        if handoff.schema == "2.0":
            write_newest_payload(session_change.kept.folder, handoff.form, data)
        _note_in_session(context, session_change, handoff)
    except StorageError as error:
        refusal = ValidationFailedError(error.message, hint=error.hint, recoverable=True)
        with suppress(StorageError):
            _fail(context, change, handoff, refusal)
        raise
    phase = next_phase(handoff.phase, "invoke", {"payload_written": checks.is_written(handoff)})
    line = invocation_line(context, handoff)
    append(context, change, handoff._replace(phase=phase, invocation=line), note={"line": line})


_PHASES = {DISCOVERY: _select, SELECTION: _examine, VALIDATION: _validate, TRANSFER: _transfer}


def invocation_line(context: HandoffContext, handoff: Handoff) -> str:
    """Return the line that invokes the target with the payload."""
    if handoff.has_workflow:
        return str(receive_command(context, handoff))
    return trigger_line(handoff.trigger, handoff.target, handoff.payload)


def receive_command(context: HandoffContext, handoff: Handoff) -> Command:
    """Return the command that receives a payload, with its digest."""
    return context.command("handoff receive", handoff.payload, sha256=handoff.digest, root=handoff.root)


def build_draft(context: HandoffContext, handoff: Handoff, session: Session) -> Handoff:
    """Return *handoff* with a payload built from the session."""
    folder = context.store.folder(handoff.session)
    try:
        draft = build(session, handoff, now=context.now(), folder=folder, project=context.project)
    except DocumentError as error:
        raise InvalidPayloadError(error.message, hint=error.hint, recoverable=True) from None
    candidates = context.discover().candidates
    category = next((c.categories[0] for c in candidates if c.skill == handoff.target and c.categories), "")
    if category:
        draft = integrity.sealed(handoff.schema, put(draft, "target.category", category))
    expires_at = integrity.expiry(handoff.schema, draft)
    return handoff._replace(
        draft=draft,
        payload_hash=text_at(draft, "meta.payload_hash"),
        expires_at=integrity.stamp(expires_at) if expires_at else "",
    )


def append(
    context: HandoffContext,
    change: HandoffChange,
    handoff: Handoff,
    *,
    kind: str = "",
    note: Mapping[str, object] | None = None,
) -> Handoff:
    """Append a record to the handoff's journal. Its kind is the phase unless another one is given."""
    return change.commit(handoff, kind=kind or handoff.phase, at=context.now(), by=context.by, note=note)


def _note_in_session(context: HandoffContext, session_change: SessionChange, handoff: Handoff) -> None:
    """Record the handoff in the session's own journal, once."""
    session = session_change.kept.session
    for record in context.store.newest_first(session.id):
        if record.kind == "handoff" and record.note.get("handoff") == handoff.id:
            return
    note = {
        "handoff": handoff.id,
        "target": handoff.target,
        "payload": handoff.payload,
        "sha256": handoff.digest,
    }
    session_change.commit(session, kind="handoff", at=context.now(), by=context.by, note=note)


def _fail(
    context: HandoffContext,
    change: HandoffChange,
    handoff: Handoff,
    error: HandoffRefusedError,
    *,
    not_fixable: bool = False,
) -> None:
    """Record a failure, and write its error document beside the journal."""
    phase = next_phase(handoff.phase, "refuse", {"not_fixable": not_fixable})
    failure = HandoffFailure(
        error.code, error.message, error.details, error.recoverable, error.preserved, str(error.hint)
    )
    failed = handoff._replace(phase=phase, failure=failure, attempts=handoff.attempts + 1)
    append(context, change, failed, note={"code": error.code})
    with suppress(StorageError):
        text = yaml_text.dump(to_plain(error.document()))
        files.write_atomic(os.path.join(change.kept.folder, "error.yaml"), text.encode())


def _preserve_draft(change: HandoffChange, handoff: Handoff) -> str:
    """Keep the payload of a failed attempt, and return its path."""
    path = os.path.join(change.kept.folder, f"preserved.{handoff.form}")
    files.write_atomic(path, render(handoff.draft, handoff.form))
    return path
