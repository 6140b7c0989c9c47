"""The phases that a sender passes through. Each is recorded before the next begins, so any can be resumed.

The payload is built once, on entering validation, and stored in the record. After an interruption it is validated
again, and the same bytes are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from flowrail.command import Command
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
from flowrail.handoff.lifecycle import NO_ANSWERS, next_phase
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import SourceWork, build, work_of
from flowrail.handoff.payload.document import (
    PAYLOAD_FOLDER,
    payload_file_name,
    put,
    read,
    render,
    text_at,
    write_newest_payload,
    write_payload,
)
from flowrail.handoff.request import choose_target, trigger_line
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.store import SessionChange
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.storage.records import to_plain
from flowrail.text import yaml as yaml_text


class OutgoingHandoff:
    """One handoff on its way to its invocation, held under its lock, with the source's session if there is one."""

    def __init__(
        self, context: HandoffContext, change: HandoffChange, session_change: SessionChange | None
    ) -> None:
        self._context = context
        self._change = change
        self._session_change = session_change

    @property
    def handoff(self) -> Handoff:
        """The handoff as it is recorded."""
        return self._change.handoff

    @property
    def folder(self) -> str:
        """The folder of the source's session; a skill without one uses the folder of the handoff."""
        return self._change.folder if self._session_change is None else self._session_change.folder

    def run(self) -> Handoff:
        """Move the handoff from its phase to its invocation, with one record per phase."""
        if self.handoff.phase == TRANSFER:  # interrupted: files may have changed since it was validated
            advance(self._context, self._change, self.handoff, "recheck")
        phases = {
            DISCOVERY: self._select,
            SELECTION: self._examine,
            VALIDATION: self._validate,
            TRANSFER: self._transfer,
        }
        while (phase := self.handoff.phase) in UNSENT:
            phases[phase]()
        return self.handoff

    def start_again(self, handoff: Handoff) -> None:
        """Replace a failed handoff by *handoff*, and move it back to validation with a new payload."""
        note = {"attempt": handoff.attempts + 1}
        advance(self._context, self._change, self._drafted(handoff), "retry", kind="retry", note=note)

    def _select(self) -> None:
        with self._failures_recorded():
            target = choose_target(self._context.discover(), self.handoff.target)
        note = {"target": target.path}
        advance(self._context, self._change, self.handoff, "select", {"target_found": True}, note=note)

    def _examine(self) -> None:
        with self._failures_recorded():
            drafted = self._drafted(self.handoff)
        advance(self._context, self._change, drafted, "examine")

    def _validate(self) -> None:
        handoff = self.handoff
        answers = checks.check_all(self._context, handoff, self._context.discover())
        held = {answer.name: answer.holds for answer in answers}
        handoff = handoff._replace(checks=answers)
        if not all(held.values()):
            retry = self._context.command("handoff retry", handoff.id, root=handoff.root)
            refusal = checks.refusal(handoff, answers, self._preserve_draft(), retry)
            not_fixable = any(not answer.holds and not answer.fixable for answer in answers)
            self._fail(refusal, handoff, not_fixable=not_fixable)
            raise refusal
        data = render(handoff.draft, handoff.form)
        digest = sha256_hex(data)
        name = payload_file_name(
            handoff.schema,
            handoff.form,
            digest,
            source=handoff.source,
            target=handoff.target,
            timestamp=text_at(handoff.draft, "timestamp"),
        )
        path = os.path.join(self.folder, PAYLOAD_FOLDER, name)
        handoff = handoff._replace(payload=path, digest=digest, size=len(data))
        note = {"payload": path, "sha256": digest}
        advance(self._context, self._change, handoff, "hand_on", held, note=note)

    def _transfer(self) -> None:
        handoff = self.handoff
        data = render(handoff.draft, handoff.form)
        try:
            write_payload(handoff.payload, data)
            if handoff.schema == "2.0":
                write_newest_payload(self.folder, handoff.form, data)
            self._note_in_session()
        except StorageError as error:
            refusal = ValidationFailedError(error.message, hint=error.hint, recoverable=True)
            with suppress(StorageError):
                self._fail(refusal)
            raise
        line = invocation_line(self._context, handoff)
        written = {"payload_written": checks.is_written(handoff)}
        invoked = handoff._replace(invocation=line)
        advance(self._context, self._change, invoked, "invoke", written, note={"line": line})

    def _drafted(self, handoff: Handoff) -> Handoff:
        """Return *handoff* with a payload built from the source's work."""
        context = self._context
        try:
            built = build(self._work(), handoff, now=context.now())
            read(render(built.handoff, handoff.form), source="the payload")
        except DocumentError as error:  # the reported facts cannot be written as a payload
            raise InvalidPayloadError(error.message, hint=error.hint, recoverable=True) from None
        draft = built.handoff
        candidates = context.discover().candidates
        for category in (c.categories[0] for c in candidates if c.skill == handoff.target and c.categories):
            draft = integrity.sealed(handoff.schema, put(draft, "target.category", category))
        expires_at = integrity.expiry(handoff.schema, draft)
        return handoff._replace(
            draft=draft,
            lost=built.lost,
            payload_hash=text_at(draft, "meta.payload_hash"),
            expires_at=integrity.stamp(expires_at) if expires_at else "",
        )

    def _work(self) -> SourceWork:
        project, handoff = self._context.project, self.handoff
        if self._session_change is not None:
            session = self._session_change.kept.session
            return work_of(session, folder=self.folder, project=project)
        return SourceWork(
            handoff.source, handoff.id, {}, self.folder, project, phase="handoff", received=handoff.received
        )

    def _note_in_session(self) -> None:
        """Record the handoff in the session's own journal, once."""
        if self._session_change is None:
            return
        context, handoff, session = self._context, self.handoff, self._session_change.kept.session
        for record in context.store.newest_first(session.id):
            if record.kind == "handoff" and record.note.get("sha256") == handoff.digest:
                return
        note: RecordNote = {
            "handoff": handoff.id,
            "target": handoff.target,
            "payload": handoff.payload,
            "sha256": handoff.digest,
        }
        self._session_change.commit(session, kind="handoff", at=context.now(), by=context.by, note=note)

    @contextmanager
    def _failures_recorded(self) -> Iterator[None]:
        try:
            yield
        except HandoffRefusedError as error:
            self._fail(error)
            raise

    def _fail(
        self, error: HandoffRefusedError, handoff: Handoff | None = None, *, not_fixable: bool = False
    ) -> None:
        """Record a failure, and write its error document beside the journal."""
        answers = {"not_fixable": not_fixable}
        record_failure(self._context, self._change, handoff or self.handoff, error, "refuse", answers)

    def _preserve_draft(self) -> str:
        """Keep the payload of a failed attempt, and return its path."""
        path = os.path.join(self._change.folder, f"preserved.{self.handoff.form}")
        files.write_atomic(path, render(self.handoff.draft, self.handoff.form))
        return path


def invocation_line(context: HandoffContext, handoff: Handoff) -> str:
    """Return the line that invokes the target with the payload."""
    if handoff.has_workflow:
        return str(receive_command(context, handoff))
    return trigger_line(handoff.trigger, handoff.target, handoff.payload)


def receive_command(context: HandoffContext, handoff: Handoff) -> Command:
    """Return the command that receives a payload, with its digest."""
    return context.command("handoff receive", handoff.payload, sha256=handoff.digest, root=handoff.root)


def advance(
    context: HandoffContext,
    change: HandoffChange,
    handoff: Handoff,
    event: str,
    answers: Mapping[str, bool] = NO_ANSWERS,
    *,
    kind: str = "",
    note: Mapping[str, object] | None = None,
) -> Handoff:
    """Send *event* to the lifecycle, and record *handoff* in the phase that it enters.

    The kind of the record is the phase unless another one is given.
    """
    phase = next_phase(change.handoff.phase, event, answers)
    return change.commit(
        handoff._replace(phase=phase),
        kind=kind or phase,
        event=event,
        at=context.now(),
        by=context.by,
        note=note,
    )


def record_failure(
    context: HandoffContext,
    change: HandoffChange,
    handoff: Handoff,
    error: HandoffRefusedError,
    event: str,
    answers: Mapping[str, bool],
) -> Handoff:
    """Record that *event* ends an attempt with *error*, and write the error document beside the journal."""
    failure = HandoffFailure(
        error.code, error.message, error.details, error.recoverable, error.preserved, str(error.hint)
    )
    failed = handoff._replace(failure=failure, attempts=handoff.attempts + 1)
    failed = advance(context, change, failed, event, answers, note={"code": error.code})
    with suppress(StorageError):
        text = yaml_text.dump(to_plain(error.document()))
        files.write_atomic(os.path.join(change.folder, "error.yaml"), text.encode())
    return failed
