"""Receive a payload: check it again, record its one receiver, start the target's session, acknowledge.

A payload is known by its identity, so another document with the same content is the same payload. The receipt is a record in
the sender's journal, made under its lock before the session starts. If a receiver dies after that, or its session
cannot start, the next receiver takes it and finishes the work. What can be refused is refused before the receipt.

We have no journal of a payload from elsewhere. Therefore its chain and the target's rules are checked here, and its hops are
counted from our records of its trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

from flowrail.command import Command, Hint
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.errors import DocumentError, FlowError
from flowrail.formatters.block import Show
from flowrail.formatters.reports.handoff import HandoffAnswer, conversion_notes, receive_command
from flowrail.handoff.checks import check_arrival, find_target
from flowrail.handoff.errors import (
    EXPIRED,
    HandoffRefusedError,
    InvalidPayloadError,
    PayloadProblem,
    TargetNotFoundError,
    ValidationFailedError,
    payload_refusal,
)
from flowrail.handoff.handoff import EXPIRED as EXPIRED_PHASE
from flowrail.handoff.handoff import (
    INVOCATION,
    Handoff,
    HandoffReceipt,
    HandoffRequest,
)
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import PROMPTS, received_work
from flowrail.handoff.payload.check import CheckRules, check_payload
from flowrail.handoff.payload.convert import ConvertedPayload, content, convert
from flowrail.handoff.payload.document import FORMS, Payload, get, read_file, render, text_at, texts_at
from flowrail.handoff.payload.models import shape_of
from flowrail.handoff.store import HandoffChange, Handoffs, payload_path
from flowrail.machines.guidance.received_work import COPY
from flowrail.machines.reported_values import ValuesError, check_params, read_values
from flowrail.machines.session_store import check_size
from flowrail.machines.values import Arg
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.handoffs.send import (
    answer_of,
    find_targets,
    skill_names,
)
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import NO_VALUES, Params
from flowrail.operations.steps.current_step import look
from flowrail.operations.steps.new_session import start_session
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.skills.catalog import UnknownSkillError
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.storage import files
from flowrail.storage.files import MissingFileError
from flowrail.text.report import Report, plain_text
from flowrail.text.safe_text import in_quotes

_ENDINGS = frozenset({".json", ".yaml", ".yml"})
"""The endings that the copy of a payload keeps."""


@dataclass(frozen=True)
class ReceivedHandoff:
    """A received payload, and the first step of the target's session if it has a workflow."""

    handoff: HandoffAnswer
    payload: Mapping[str, Any]
    """The payload in the version that the target reads."""
    converted_file: str
    """The file of the converted payload, if the target reads another version."""
    step: ShownStep | None
    """The current step of the target's session."""
    notes: tuple[str, ...]
    """Warnings about the payload, and what a conversion added and lost."""

    def report(self) -> Report:
        """Return the first step of the session, or the state of the handoff."""
        return self.step.report() if self.step else self.handoff.report()

    def xml(self, show: Show = str) -> str:
        """Return the first step of the session for the agent, or the state of the handoff as text."""
        return self.step.xml(show) if self.step else plain_text(self.report())


@operation("handoff receive", "flow handoff receive handoff-payload.yaml")
def receive_handoff(
    environment: Environment,
    file: Annotated[str, Help("The payload.", metavar="FILE")],
    *,
    sha256: Annotated[str, Help("The digest that came with the path.", metavar="HEX")] = "",
    force: Annotated[bool, Help("Accept an expired payload.")] = False,
    param: Params = NO_VALUES,
) -> ReceivedHandoff:
    """Check a payload, record its receipt and take over the work

    It can be received only once. If the target has a workflow, its session starts with parameters from
    the payload, and its first step is printed; -p adds parameters that the payload lacks.
    """
    receipt = _Receipt(environment, _read(os.path.abspath(file), sha256), file, sha256, force, param)
    with receipt.held() as change:
        received = receipt.take(change)
    for note in received.notes:
        environment.tell(note)
    return received


def parameters_from(declared: Mapping[str, Arg], payload: Payload) -> dict[str, object]:
    """Return the parameters of a workflow that a payload can fill with valid values."""
    fields = content(payload.version, payload.handoff)
    values: dict[str, object] = {}
    for name, arg in declared.items():
        is_prompt = name in PROMPTS
        places = [
            "context.original_prompt" if is_prompt else f"context.{name}",
            f"payload.working.{name}",
            *(["context.summary"] if is_prompt else []),
        ]
        candidates = [value for place in places if (value := get(fields, place)) not in (None, "")]
        valid = [value for value in candidates if arg.problem(value) is None]
        values |= {name: valid[0]} if valid else {}
    return values


def _read(path: str, digest: str) -> Payload:
    """Return the payload in a file; refused if its digest differs or it is not a document."""
    try:
        payload = read_file(path)
    except MissingFileError:
        raise
    except DocumentError as error:
        raise InvalidPayloadError(
            f"the payload cannot be read: {error.message}",
            hint="ask for a new one",
            preserved=path,
            missing_fields=[],
            validation_errors=[error.message],
        ) from None
    if digest and digest.removeprefix("sha256:") != payload.digest:
        raise ValidationFailedError(
            f"{path} does not have the given digest: it has {payload.digest}, the given one is {digest[:80]}",
            hint="compare it with the line that the sender printed; if they agree, ask for a new payload",
            preserved=path,
            validation_errors=["the digest of the file differs"],
        )
    return payload


@dataclass(frozen=True)
class _Receipt:
    """A payload on its way to its receiver."""

    environment: Environment
    payload: Payload
    file: str
    """The file as it was named."""
    digest: str
    force: bool
    params: Mapping[str, object]

    @contextmanager
    def held(self) -> Iterator[HandoffChange]:
        """Yield the handoff of the payload under its lock. One from elsewhere is new, and recorded with its receipt."""
        handoffs = handoffs_of(self.environment)
        known = self._known(handoffs)
        if known is None:
            handoff = self._arrived(handoffs)
            with handoffs.locked(handoff.identity):
                known = self._known(handoffs)
                if known is None:
                    yield HandoffChange(handoffs, handoff)
                    return
        with handoffs.change(known.id) as change:
            yield change

    def take(self, change: HandoffChange) -> ReceivedHandoff:
        """Record the receipt, start the target's session if it has a workflow, and acknowledge."""
        environment, store, payload = self.environment, self.environment.store, self.payload
        self._refuse_unless_open(change)
        notes = [f"warning: {problem}" for problem in self._problems(change)]
        opened = self._workflow(change)
        is_begun = (
            change.handoff.receipt is not None and store.find(change.handoff.receipt.session) is not None
        )
        if opened is None and change.handoff.foreign:
            notes += self._unknown_target(change.handoff)
        if opened is not None and not is_begun:
            self._check_parameters(opened)
        if change.handoff.receipt is None or not (is_begun or opened is None):
            session = store.new_id(change.handoff.target) if opened else ""
            receipt = HandoffReceipt(environment.by, environment.now, session)
            if opened is None:  # recorded when the handoff ends
                change.handoff = replace(change.handoff, receipt=receipt)
            else:
                change.commit(replace(change.handoff, receipt=receipt))
        handoff = change.handoff
        session_id = handoff.receipt.session if handoff.receipt else ""
        folder = store.folder(session_id) if session_id else change.folder
        converted = _convert_for_target(handoff, payload, environment)
        kept, ending = payload, os.path.splitext(payload.source)[1]
        if converted is not None:
            data, ending = render(converted.version, converted.handoff), f".{FORMS[converted.version]}"
            kept = Payload(converted.version, converted.handoff, payload.source, data)
        copy = os.path.join(folder, f"{COPY}{ending if ending in _ENDINGS else '.yaml'}")
        step = self._session(change, opened, kept, copy) if opened else None
        if (opened or converted) and not os.path.lexists(copy):
            files.make_private_dir(folder)
            files.write_atomic(copy, kept.data)
        if converted is not None:
            notes += [f"converted from {payload.version} to {converted.version}: {copy}"]
            notes += conversion_notes(converted)
        answers = {"payload_unchanged": True, "received": True, "expiry_accepted": self.force}
        handoff = change.advance(change.handoff, ("acknowledge",), answers)
        return ReceivedHandoff(
            answer_of(environment, handoff),
            kept.handoff,
            copy if converted else "",
            step,
            tuple(notes) + (step.notes if step else ()),
        )

    def _known(self, handoffs: Handoffs) -> Handoff | None:
        """Return the handoff of the payload, or `None` if the payload comes from elsewhere.

        The payload of an open handoff is also known by its file, which may have another payload now.
        """
        payload = self.payload
        if not payload.version:
            return None
        identity = integrity.identity(payload.version, payload.handoff)
        for handoff in handoffs.own_ones():
            written = payload_path(handoffs.store, handoff) if handoff.is_open else ""
            is_its_file = written and os.path.realpath(written) == os.path.realpath(payload.source)
            if handoff.identity == identity or (is_its_file and not handoff.foreign):
                return handoff
        return None

    def _arrived(self, handoffs: Handoffs) -> Handoff:
        """Return a payload from elsewhere as a handoff in its invocation phase, or refuse it. Nothing is recorded."""
        environment, payload, path = self.environment, self.payload, self.payload.source
        if errors := check_payload(payload, self._rules()).errors:
            raise payload_refusal("the payload is refused", errors, hint="ask for a new one", preserved=path)
        fields, expires = (
            content(payload.version, payload.handoff),
            integrity.expiry(payload.version, payload.handoff),
        )
        discovery = find_targets(environment)
        chain, trace_id = tuple(texts_at(fields, "meta.handoff_chain")), text_at(fields, "trace_id")
        hops = [known.hops for known in handoffs.own_ones() if known.trace_id == trace_id]
        with suppress(FlowError):  # the session is unknown
            name = os.path.basename(text_at(fields, "source.session_path").rstrip("/"))
            sender = environment.store.read(name).session
            hops += [sender.received.hops] if sender.received else []
        target = text_at(fields, "target.skill")
        handoff = Handoff(
            id=handoffs.new_id(),
            source=text_at(fields, "source.skill"),
            target=target,
            request=HandoffRequest(target, reason=text_at(fields, "meta.handoff_reason")),
            phase=INVOCATION,
            schema=payload.version,
            trace_id=trace_id,
            parent_span=text_at(fields, "tracing.parent_span_id"),
            span_id=os.urandom(8).hex(),
            chain=chain,
            hops=max(len(chain), max(hops, default=0) + 1),
            started_at=environment.now,
            expires_at=integrity.stamp(expires) if expires else "",
            content=payload.handoff,
            identity=integrity.identity(payload.version, payload.handoff),
            payload=path,
            sha256=payload.digest,
            size=len(payload.data),
            foreign=True,
        )
        candidate = find_target(handoff, discovery)
        checks = check_arrival(handoff, fields, discovery)
        if failed := [check for check in checks if not check.holds]:
            messages = [check.message for check in failed]
            raise ValidationFailedError(
                f"the payload is refused: {'; '.join(messages)}",
                hint="finish the work here, choose another target, or ask the user to start a new session",
                preserved=path,
                missing_fields=list(dict.fromkeys(field for check in failed for field in check.missing)),
                validation_errors=messages,
                target_skill=handoff.target,
            )
        return replace(handoff, checks=checks, target_schema=candidate.schema_version if candidate else "")

    def _rules(self) -> CheckRules:
        return CheckRules(self.environment.moment, allow_expired=self.force)

    def _status_command(self, handoff: Handoff) -> Command:
        return self.environment.command("handoff status", handoff.id)

    def again(self, **options: Any) -> Command:
        """Return the same command with other options."""
        environment = self.environment
        root = next(iter(environment.extra), None)
        command = environment.command("handoff receive", self.file, sha256=self.digest or None)
        return command.with_options(force=self.force, root=root, **options)

    def _refuse_unless_open(self, change: HandoffChange) -> None:
        handoff = change.handoff
        expired = handoff.phase == EXPIRED_PHASE
        if handoff.phase == INVOCATION or (expired and self.force):
            return
        hint = Hint("see its state: ", self._status_command(handoff))
        receipt = None if expired else handoff.receipt
        if expired:
            hint = Hint("ask for a new one, or accept it: ", replace(self, force=True).again())
        elif receipt is not None and receipt.session in self.environment.store.stamps():
            hint = Hint("look at it: ", self.environment.command("resume", receipt.session))
        problem = f"was received by {receipt.by} at {receipt.at}" if receipt else f"is {handoff.status}"
        if handoff.cancelled:
            problem = f"was cancelled: {handoff.cancelled}"
        raise HandoffRefusedError(
            f"handoff `{handoff.id}` {problem}",
            code="ALREADY_RECEIVED" if receipt else "HANDOFF_CLOSED",
            hint=hint,
            recoverable=handoff.is_open or expired,
            preserved=self.file,
            handoff=handoff.id,
            phase=handoff.phase,
            target_skill=handoff.target,
        )

    def _problems(self, change: HandoffChange) -> tuple[PayloadProblem, ...]:
        """Return the warnings about the payload; refuse an invalid one, and one that differs from the one sent."""
        handoff, payload = change.handoff, self.payload
        if fields := integrity.differing_fields(payload.handoff, handoff.content):
            differences = ", ".join(f"`{in_quotes(name)}`" for name in fields)
            raise ValidationFailedError(
                f"{self.file} is not the payload that was sent: {differences} differ{'s' * (len(fields) == 1)}",
                hint="ask for a new one",
                preserved=self.file,
                validation_errors=[f"{differences} changed"],
            )
        checked = check_payload(payload, self._rules())
        if not checked.errors:
            return checked.findings
        if all(problem.kind == EXPIRED for problem in checked.errors) and handoff.phase == INVOCATION:
            change.advance(handoff, ("expire",), {"expired": True})
        raise payload_refusal(
            f"the payload of handoff `{handoff.id}` is refused",
            checked.errors,
            hint=Hint("ask for a new one: ", self._status_command(handoff)),
            preserved=payload.source,
        )

    def _workflow(self, change: HandoffChange) -> OpenedWorkflow | None:
        """Return the target's workflow, if it has one. Refuse if it had one when the payload was sent, and has none here."""
        handoff, environment = change.handoff, self.environment
        try:
            return environment.loader.open_skill(handoff.target)
        except UnknownSkillError:
            if not handoff.has_workflow:
                return None
        path = payload_path(environment.store, handoff)
        root = os.path.dirname(os.path.dirname(handoff.target_path))
        again = receive_command(replace(handoff, payload=path, root=root), environment.shown_store)
        raise TargetNotFoundError(
            f"the workflow of target `{in_quotes(handoff.target)}` is not found from here; "
            f"it was {handoff.target_path}",
            hint=Hint("name its folder: ", again),
            recoverable=True,
            preserved=path,
            target_skill=handoff.target,
        )

    def _unknown_target(self, handoff: Handoff) -> Iterator[str]:
        """Yield a warning if no skill here has the name of the target."""
        if handoff.target not in skill_names(find_targets(self.environment)):
            name = in_quotes(handoff.target[:80])
            yield f"warning: `handoff.target.skill` is `{name}`, which is not found here: no session was started"

    def _values(self, opened: OpenedWorkflow) -> dict[str, object]:
        """Return the parameters of the session. Given ones take precedence over the payload's."""
        declared = opened.workflow.params
        return {**parameters_from(declared, self.payload), **read_values(self.params, declared)}

    def _check_parameters(self, opened: OpenedWorkflow) -> None:
        """Refuse a payload with which the session cannot start, and show how to add what it lacks."""
        check_size(opened.definition)  # refuses a workflow that is too large
        values, declared = self._values(opened), opened.workflow.params
        try:
            check_params(opened.workflow, values)
        except ValuesError as error:
            lacking = [name for name, arg in declared.items() if arg.required and name not in values]
            if lacking:
                params = {**self.params, **dict.fromkeys(lacking, "…")}
                error.hint = Hint("receive it with: ", self.again(params=params))
            raise

    def _session(self, change: HandoffChange, opened: OpenedWorkflow, kept: Payload, copy: str) -> ShownStep:
        """Start the target's session, unless an earlier receiver did. It keeps the payload as *kept*, in the file *copy*."""
        environment, handoff = self.environment, change.handoff
        session = handoff.receipt.session if handoff.receipt else ""
        if (
            environment.store.find(session) is not None
        ):  # an earlier receiver was interrupted after it started it
            return look(environment, session)
        work = received_work(handoff, self.payload, copy)
        work = replace(work, sha256=kept.digest, version=kept.version)
        values, note = self._values(opened), {"handoff": work.handoff, "sha256": work.sha256}
        return start_session(environment, opened, session, values, received=work, note=note)


def _convert_for_target(
    handoff: Handoff, payload: Payload, environment: Environment
) -> ConvertedPayload | None:
    """Return the payload in the version that the target declares.

    `None` if it has this version, if there is no conversion, or if the result would not be valid, for example because
    it is too large for the version.
    """
    version = normal_version(handoff.target_schema or payload.version)
    if version == payload.version or not compatibility(payload.version, version).possible:
        return None
    converted = convert(payload.version, payload.handoff, version, now=environment.moment)
    return None if shape_of(version, converted.handoff)[0] else converted
