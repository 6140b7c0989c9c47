"""Receive a payload: validate it again, claim it for one receiver, start the target's session, acknowledge.

The claim is a record in the sender's journal, made under its lock before the session starts. If a receiver dies after
its claim, the next receiver finishes the work. What can be refused is refused before the claim.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from flowrail.command import Hint
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.errors import DocumentError, FlowError
from flowrail.handoff.arrival import ReceiveRequest, arrived, find_handoff, validation_problems
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    EXPIRED,
    WARNING,
    HandoffRefusedError,
    InvalidPayloadError,
    PayloadProblem,
    TargetNotFoundError,
    ValidationFailedError,
    errors,
    payload_refusal,
)
from flowrail.handoff.handoff import ENDED, FAILED, INVOCATION, TRANSFER, Handoff, HandoffClaim
from flowrail.handoff.handoff import EXPIRED as EXPIRED_PHASE
from flowrail.handoff.payload import convert, integrity
from flowrail.handoff.payload.build import PROMPTS, received_work
from flowrail.handoff.payload.convert import ConvertedPayload
from flowrail.handoff.payload.document import DEFAULT_FORM, Payload, get, read, render
from flowrail.handoff.payload.validate import shape_problems
from flowrail.handoff.sending import advance
from flowrail.handoff.store import HandoffChange, payload_path
from flowrail.machines.definition.values import Arg
from flowrail.machines.guidance.guide import COPY
from flowrail.machines.sessions.session import ReceivedWork
from flowrail.machines.sessions.store import UnknownSessionError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import limits
from flowrail.text.safe_text import in_quotes

_ENDINGS = frozenset({".json", ".yaml", ".yml"})
"""The endings that the copy of a payload keeps."""
RELEASED = "released"
"""The kind of the record of a claim whose session could not be started."""


@dataclass(frozen=True)
class TargetWorkflow:
    """A target that has a workflow."""

    check: Callable[[Payload], object]
    """Refuses a payload with which the session cannot start."""
    start: Callable[[str, Payload, ReceivedWork], object]
    """Starts the session with this id."""
    new_id: Callable[[], str]


@dataclass(frozen=True)
class ConvertedFile:
    """A payload in the version that its target reads, and the file that holds it."""

    payload: ConvertedPayload
    path: str
    data: bytes


@dataclass(frozen=True)
class Receipt:
    """A received payload."""

    handoff: Handoff
    payload: Payload
    session: str
    """The session that was started for it, if the target has a workflow."""
    warnings: tuple[PayloadProblem, ...] = ()
    converted: ConvertedFile | None = None
    """The payload in the version that the target reads, if that is another one."""


def receive(
    context: HandoffContext,
    request: ReceiveRequest,
    find_workflow: Callable[[str], TargetWorkflow | None],
) -> Receipt:
    """Validate and claim the payload, start the target's session if it has a workflow, and acknowledge.

    *find_workflow* returns the workflow of the skill with a given name.
    """
    payload, data = _read(os.path.abspath(request.path), request)
    with _held(context, payload, request) as change:
        handoff = change.handoff
        _refuse_unless_open(context, change, request)
        warnings = _validate(context, change, payload, request)
        workflow = find_workflow(handoff.target)
        if workflow is None and handoff.has_workflow:
            raise _workflow_not_found(context, change)
        if workflow is None and handoff.foreign:
            warnings = (*warnings, *_unknown_target(context, handoff))
        if workflow is not None and not (handoff.claim and _exists(context, handoff.claim.session)):
            workflow.check(payload)
        claim = _claim(context, change, workflow)
        handoff = replace(change.handoff, claim=claim)
        folder = context.store.folder(claim.session) if claim.session else change.folder
        converted = _for_target(handoff, payload, folder, context.current_time())
        if workflow is not None:
            _start_session(context, change, payload, data, workflow, converted)
        if converted is not None:
            files.make_private_dir(folder)
            files.write_atomic(converted.path, converted.data)
        answers = {"payload_unchanged": True, "claimed": True, "expiry_accepted": request.force}
        handoff = advance(context, change, handoff, ("acknowledge",), answers)
        return Receipt(handoff, payload, claim.session, warnings, converted)


def parameters_from(declared: Mapping[str, Arg], payload: Payload) -> dict[str, object]:
    """Return the parameters of a workflow that a payload can fill with valid values."""
    fields = convert.content(payload.version, payload.handoff)
    values: dict[str, object] = {}
    for name, arg in declared.items():
        is_prompt = name in PROMPTS
        candidates = (
            get(fields, "context.original_prompt" if is_prompt else f"context.{name}"),
            get(fields, f"payload.working.{name}"),
            get(fields, "context.summary") if is_prompt else None,
        )
        valid = [value for value in candidates if value not in (None, "") and arg.problem(value) is None]
        if valid:
            values[name] = valid[0]
    return values


@contextmanager
def _held(context: HandoffContext, payload: Payload, request: ReceiveRequest) -> Iterator[HandoffChange]:
    """Yield the handoff of a payload under its lock. One from elsewhere is new, and recorded with its claim."""
    known = find_handoff(context, payload)
    if known is not None:
        handoffs, handoff = known
        with handoffs.change(handoff.id, wait=context.wait) as change:
            yield change
        return
    handoff = arrived(context, payload, request)
    with context.handoffs.locked(handoff.identity, wait=context.wait):
        known = find_handoff(context, payload)
        if known is None:
            yield HandoffChange(context.handoffs, handoff)
            return
    with known[0].change(known[1].id, wait=context.wait) as change:
        yield change


def _for_target(handoff: Handoff, payload: Payload, folder: str, now: datetime) -> ConvertedFile | None:
    """Return the payload in the version that the target declares.

    `None` if it has this version, if there is no conversion, or if the result would not be valid, for example because
    it is too large for the version.
    """
    version = normal_version(handoff.target_schema or payload.version)
    if version == payload.version or not compatibility(payload.version, version).possible:
        return None
    converted = convert.convert(payload.version, payload.handoff, version, now=now)
    form = DEFAULT_FORM[version]
    if shape_problems(version, converted.handoff):
        return None
    path = os.path.join(folder, f"{COPY}-{version}.{form}")
    return ConvertedFile(converted, path, render(converted.handoff, form))


def _read(path: str, request: ReceiveRequest) -> tuple[Payload, bytes]:
    """Return the payload and its bytes; refused if the digest differs or the bytes are not a document."""
    data = files.read_bounded(path, limit=limits.PAYLOAD_BYTES, what="the payload")
    digest = sha256_hex(data)
    if request.digest and request.digest.removeprefix("sha256:") != digest:
        raise ValidationFailedError(
            f"{path} does not have the given digest: it has {digest}, the given one is {request.digest[:80]}",
            hint="compare it with the line that the sender printed; if they agree, ask for a new payload",
            preserved=path,
            validation_errors=["the digest of the file differs"],
        )
    try:
        return read(data, source=path), data
    except DocumentError as error:
        raise InvalidPayloadError(
            f"the payload cannot be read: {error.message}",
            hint="ask for a new one",
            preserved=path,
            missing_fields=[],
            validation_errors=[error.message],
        ) from None


def _refuse_unless_open(context: HandoffContext, change: HandoffChange, request: ReceiveRequest) -> None:
    handoff, sender = change.handoff, _sender_context(context, change)
    if handoff.phase == INVOCATION or (handoff.phase == EXPIRED_PHASE and request.force):
        return
    status = sender.command("handoff status", handoff.id)
    if handoff.claim is not None and handoff.phase != EXPIRED_PHASE:
        claim = handoff.claim
        is_here = claim.session in context.store.stamps()
        raise HandoffRefusedError(
            f"handoff `{handoff.id}` was received by {claim.by} at {claim.at}",
            code="ALREADY_RECEIVED",
            hint=Hint("look at it: ", context.command("resume", claim.session) if is_here else status),
            handoff=handoff.id,
            claim={"by": claim.by, "at": claim.at, "session": claim.session},
            target_skill=handoff.target,
        )
    if handoff.phase in {TRANSFER, FAILED}:
        problem, hint = (
            f"has not been sent yet: {handoff.status}",
            Hint("the sender sends it again: ", status),
        )
    elif handoff.phase == EXPIRED_PHASE:
        problem = f"is over: its payload has expired: {handoff.expires_at}"
        receive = context.command("handoff receive", request.path, sha256=request.digest or None, force=True)
        hint = Hint("ask for a new one, or accept it: ", receive)
    else:
        problem = f"was cancelled: {handoff.cancelled}" if handoff.cancelled else f"is {handoff.status}"
        hint = Hint("see its state: ", status)
    raise HandoffRefusedError(
        f"handoff `{handoff.id}` {problem}",
        code="HANDOFF_CLOSED",
        hint=hint,
        recoverable=handoff.phase not in ENDED or handoff.phase == EXPIRED_PHASE,
        preserved=request.path,
        handoff=handoff.id,
        phase=handoff.phase,
    )


def _sender_context(context: HandoffContext, change: HandoffChange) -> HandoffContext:
    """Return the context whose commands set the store of the handoff."""
    store = os.path.dirname(os.path.dirname(change.folder))
    same = os.path.realpath(store) == os.path.realpath(context.store.path)
    return context if same else replace(context, shown_store=store)


def _validate(
    context: HandoffContext, change: HandoffChange, payload: Payload, request: ReceiveRequest
) -> tuple[PayloadProblem, ...]:
    """Return the warnings about the payload; refuse an invalid payload, and one that differs from the one sent."""
    handoff = change.handoff
    if integrity.canonical(payload.handoff) != integrity.canonical(handoff.content):
        fields = integrity.differing_fields(payload.handoff, handoff.content)
        differences = ", ".join(f"`{in_quotes(field)}`" for field in fields)
        raise ValidationFailedError(
            f"{request.path} is not the payload that was sent: {differences} differ{'s' * (len(fields) == 1)}",
            hint="ask for a new one",
            preserved=request.path,
            validation_errors=[f"{differences} changed"],
        )
    problems = validation_problems(context, payload, request)
    serious = errors(problems)
    if not serious:
        return problems
    if all(problem.kind == EXPIRED for problem in serious) and handoff.phase == INVOCATION:
        advance(context, change, handoff, ("expire",), {"expired": True})
    status = _sender_context(context, change).command("handoff status", handoff.id)
    raise payload_refusal(
        f"the payload of handoff `{handoff.id}` is refused",
        serious,
        hint=Hint("ask for a new one: ", status),
        preserved=payload.source,
    )


def _claim(context: HandoffContext, change: HandoffChange, workflow: TargetWorkflow | None) -> HandoffClaim:
    """Return the claim. It is recorded before the session that it names is started; without one, when it ends."""
    handoff = change.handoff
    if workflow is None:
        return handoff.claim or HandoffClaim(context.by, context.now())
    if handoff.claim is not None and _exists(context, handoff.claim.session):
        return handoff.claim
    claim = HandoffClaim(context.by, context.now(), workflow.new_id())
    change.commit(replace(handoff, claim=claim), at=claim.at, by=claim.by)
    return claim


def _start_session(
    context: HandoffContext,
    change: HandoffChange,
    payload: Payload,
    data: bytes,
    workflow: TargetWorkflow,
    converted: ConvertedFile | None,
) -> None:
    """Start the target's session unless an earlier receiver did, and copy the payload to its folder.

    The session gets the converted payload, if there is one. If it cannot start, the claim is released.
    """
    handoff = change.handoff
    session = handoff.claim.session if handoff.claim else ""
    ending = os.path.splitext(payload.source)[1]
    name = f"{COPY}{ending if ending in _ENDINGS else '.yaml'}"
    copy = os.path.join(context.store.folder(session), name)
    if not _exists(context, session):
        work = received_work(handoff, payload, copy)
        if converted is not None:
            digest = sha256_hex(converted.data)
            work = replace(work, payload=converted.path, sha256=digest, version=converted.payload.version)
        try:
            workflow.start(session, payload, work)
        except FlowError:
            if not _exists(context, session):
                released = replace(handoff, claim=None)
                change.commit(released, kind=RELEASED, at=context.now(), by=context.by)
            raise
    if not os.path.lexists(copy):
        files.write_atomic(copy, data)


def _exists(context: HandoffContext, session: str) -> bool:
    try:
        context.store.read(session)
    except UnknownSessionError:
        return False
    return True


def _workflow_not_found(context: HandoffContext, change: HandoffChange) -> TargetNotFoundError:
    """Refuse if the target had a workflow when the payload was sent, and has none here."""
    handoff = change.handoff
    root = os.path.dirname(os.path.dirname(handoff.target_path))
    path = payload_path(context.store, handoff)
    return TargetNotFoundError(
        f"the workflow of target `{in_quotes(handoff.target)}` is not found from here; "
        f"it was {handoff.target_path}",
        hint=Hint(
            "name its folder: ",
            context.command("handoff receive", path, sha256=handoff.sha256, root=root),
        ),
        recoverable=True,
        preserved=path,
        target_skill=handoff.target,
    )


def _unknown_target(context: HandoffContext, handoff: Handoff) -> tuple[PayloadProblem, ...]:
    """Return a warning if no skill here has the name of the target."""
    if handoff.target in context.skills():
        return ()
    message = f"is `{in_quotes(handoff.target[:80])}`, which is not found here: no session was started"
    return (PayloadProblem("handoff.target.skill", message, severity=WARNING),)
