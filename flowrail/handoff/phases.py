"""The phases that a sender passes through, each committed before the next; what was interrupted goes on.

The payload is made once, when validation is entered, and stands in the record from then on: whoever
goes on after a kill writes the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError
from flowrail.handoff import invocation
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import InvalidPayloadError, Refusal, ValidationFailedError
from flowrail.handoff.handoff import (
    DISCOVERY,
    ON_ITS_WAY,
    SELECTION,
    TRANSFER,
    VALIDATION,
    Handoff,
)
from flowrail.handoff.lifecycle import guards, machine
from flowrail.handoff.payload import file, integrity
from flowrail.handoff.payload.build import build
from flowrail.handoff.payload.document import put, render, text_at
from flowrail.handoff.selection import choose
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.stored_session import Change as SessionChange
from flowrail.storage import files
from flowrail.text import yaml as yaml_text


def go_on(desk: Desk, change: HandoffChange, held: SessionChange) -> Handoff:
    """Take a handoff from where it stands to its invocation, one committed phase after the other."""
    while (handoff := change.kept.handoff).phase in ON_ITS_WAY:
        _PHASES[handoff.phase](desk, change, held)
    return handoff


def _select(desk: Desk, change: HandoffChange, held: SessionChange) -> None:
    del held
    handoff = change.kept.handoff
    try:
        chosen = choose(desk.discover(), handoff.target)
    except Refusal as error:
        _fail(desk, change, handoff, error)
        raise
    phase = machine.after(handoff.phase, "select", lambda _: bool(chosen))
    commit(desk, change, handoff._replace(phase=phase), note={"target": chosen.candidate.path})


def _examine(desk: Desk, change: HandoffChange, held: SessionChange) -> None:
    handoff = change.kept.handoff
    phase = machine.after(handoff.phase, "examine", lambda _: True)
    try:
        ready = drafted(desk, handoff._replace(phase=phase), held.kept.session)
    except InvalidPayloadError as error:
        _fail(desk, change, handoff, error)
        raise
    commit(desk, change, ready)


def _validate(desk: Desk, change: HandoffChange, held: SessionChange) -> None:
    handoff = change.kept.handoff
    now = desk.now()
    try:
        checks = guards.ask(guards.Case(desk, handoff, desk.discover(), now))
    except DocumentError as error:  # what was reported cannot be written as a payload at all
        refusal: Refusal = InvalidPayloadError(error.message, hint=error.hint, recoverable=True)
        _fail(desk, change, handoff, refusal)
        raise refusal from None
    answers = {each.name: each.holds for each in checks}
    answers["beyond_mending"] = any(not each.holds and not each.mendable for each in checks)
    handoff = handoff._replace(checks=tuple(each.data() for each in checks))
    if not all(each.holds for each in checks):
        again = desk.command("handoff retry", handoff.id, root=handoff.root)
        refusal = guards.refusal(handoff, checks, _preserve(change, handoff), again)
        _fail(desk, change, handoff, refusal, answers)
        raise refusal
    phase = machine.after(handoff.phase, "hand_on", answers.__getitem__)
    data = render(handoff.draft, handoff.form)
    digest = sha256(data).hexdigest()
    name = file.file_name(
        handoff.schema,
        handoff.form,
        digest,
        source=handoff.source,
        target=handoff.target,
        timestamp=text_at(handoff.draft, "timestamp"),
    )
    path = os.path.join(held.kept.folder, file.FOLDER, name)
    after = handoff._replace(phase=phase, payload=path, digest=digest, size=len(data))
    commit(desk, change, after, note={"payload": path, "sha256": digest})


def _transfer(desk: Desk, change: HandoffChange, held: SessionChange) -> None:
    handoff = change.kept.handoff
    if integrity.has_expired(integrity.moment(handoff.expires_at), desk.moment()):
        late = ValidationFailedError(
            f"the payload for `{handoff.target}` expired before it was written: {handoff.expires_at}",
            hint=Hint("make it again: ", desk.command("handoff retry", handoff.id, root=handoff.root)),
            recoverable=True,
            preserved=_preserve(change, handoff),
            validation_errors=["the payload has expired"],
            target_skill=handoff.target,
        )
        _fail(desk, change, handoff, late)
        raise late
    data = render(handoff.draft, handoff.form)
    try:
        file.write(handoff.payload, data)
        if handoff.schema == "2.0":
            file.keep_newest(held.kept.folder, handoff.form, data)
        _note_in_session(desk, held, handoff)
    except StorageError as error:
        told = ValidationFailedError(error.message, hint=error.hint, recoverable=True)
        with suppress(StorageError):
            _fail(desk, change, handoff, told)
        raise
    phase = machine.after(handoff.phase, "invoke", lambda _: guards.written(handoff))
    line = invocation_of(desk, handoff)
    commit(desk, change, handoff._replace(phase=phase, invocation=line), note={"line": line})


_PHASES = {DISCOVERY: _select, SELECTION: _examine, VALIDATION: _validate, TRANSFER: _transfer}


def invocation_of(desk: Desk, handoff: Handoff) -> str:
    """Return the line that invokes the target with the payload."""
    if handoff.ours:
        return str(receive_command(desk, handoff))
    return invocation.line(handoff.trigger, handoff.target, handoff.payload)


def receive_command(desk: Desk, handoff: Handoff) -> Command:
    """Return the command that receives a payload, its digest beside it."""
    return desk.command("handoff receive", handoff.payload, sha256=handoff.digest, root=handoff.root)


def drafted(desk: Desk, handoff: Handoff, session: Session) -> Handoff:
    """Return *handoff* with its payload made from the session as it is now."""
    folder = desk.store.folder(handoff.session)
    now = desk.now()
    try:
        draft = build(session, handoff, now=now, folder=folder, project=desk.project)
    except DocumentError as error:
        raise InvalidPayloadError(error.message, hint=error.hint, recoverable=True) from None
    categories = [each.categories for each in desk.discover().candidates if each.skill == handoff.target]
    if categories and categories[0]:
        draft = integrity.sealed(handoff.schema, put(draft, "target.category", categories[0][0]))
    ends = integrity.expiry(handoff.schema, draft)
    return handoff._replace(
        draft=draft,
        payload_hash=text_at(draft, "meta.payload_hash"),
        expires_at=integrity.stamp(ends) if ends else "",
    )


def _note_in_session(desk: Desk, held: SessionChange, handoff: Handoff) -> None:
    """Record in the session's own journal what was handed over, once."""
    session = held.kept.session
    for entry in desk.store.newest_first(session.id):
        if entry.kind == "handoff" and entry.note.get("handoff") == handoff.id:
            return
    note = {
        "handoff": handoff.id,
        "target": handoff.target,
        "payload": handoff.payload,
        "sha256": handoff.digest,
    }
    held.commit(session, kind="handoff", at=desk.now(), by=desk.by, note=note)


def _fail(
    desk: Desk,
    change: HandoffChange,
    handoff: Handoff,
    error: Refusal,
    answers: Mapping[str, bool] | None = None,
) -> None:
    known = answers or {}
    phase = machine.after(handoff.phase, "refuse", lambda name: bool(known.get(name)))
    document = error.document()["error"]
    after = handoff._replace(
        phase=phase, problem=_plain({**document, "hint": str(error.hint)}), attempts=handoff.attempts + 1
    )
    commit(desk, change, after, note={"code": error.code})
    with suppress(StorageError):
        text = yaml_text.dump({"error": _plain(document)})
        files.write_atomic(os.path.join(change.kept.folder, "error.yaml"), text.encode())


def _preserve(change: HandoffChange, handoff: Handoff) -> str:
    """Keep the payload of an attempt that fails, for another one."""
    path = os.path.join(change.kept.folder, f"preserved.{handoff.form}")
    files.write_atomic(path, render(handoff.draft, handoff.form))
    return path


def commit(
    desk: Desk,
    change: HandoffChange,
    handoff: Handoff,
    *,
    kind: str = "",
    note: Mapping[str, Any] | None = None,
) -> Handoff:
    """Add a record to the journal, by its phase where no other kind is said."""
    return change.commit(handoff, kind=kind or handoff.phase, at=desk.now(), by=desk.by, note=note)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
