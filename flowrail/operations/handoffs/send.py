"""Hand the work of a session or of a skill to another skill, or cancel what was sent.

A send has two records: one with the payload and the results of all checks, before anything is written, and one after the
payload was written. The same `send` continues after an interruption: the payload of the first record is checked again and
written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from flowrail.command import Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.discovery.index import Discovery, discover, with_bundled
from flowrail.discovery.locations import bundled_folder
from flowrail.errors import DocumentError, TrustError, UsageError
from flowrail.formatters.reports.handoff import HandoffAnswer, receive_command, send_command
from flowrail.handoff import checks
from flowrail.handoff.errors import (
    HandoffRefusedError,
    InvalidPayloadError,
    ValidationFailedError,
)
from flowrail.handoff.handoff import (
    ACKNOWLEDGMENT,
    DISCOVERY,
    ENDED,
    EXPIRED,
    FAILED,
    INVOCATION,
    TRANSFER,
    Handoff,
    HandoffFailure,
    HandoffRequest,
)
from flowrail.handoff.health_check import check_health
from flowrail.handoff.hops import LOOP, chain_refusal, format_chain
from flowrail.handoff.lifecycle import CHECKS
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.build import HandoffSource, build
from flowrail.handoff.payload.digest import digest_of
from flowrail.handoff.payload.document import (
    FORMS,
    NEWEST_PAYLOAD,
    payload_file_name,
    read,
    render,
    write_payload,
)
from flowrail.handoff.source import choose_target, skill_source, source_of, trigger_line, with_target
from flowrail.handoff.store import HandoffChange, Handoffs, missing_parts, payload_path, work_folder
from flowrail.machines.reported_values import refuse_left_open
from flowrail.machines.session import Session
from flowrail.operations.environment import Confirmation, Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import NO_VALUES, Facts, Reason
from flowrail.operations.steps.session_choice import own_session
from flowrail.storage import files
from flowrail.storage.file_store import LOCK
from flowrail.storage.files import sha256_hex
from flowrail.storage.lock import locked
from flowrail.text.phrases import moment

SYNTHESIS = "synthesis_summary"
"""The fact that a workflow reports before its work can be handed off, if it declares it as required."""
_BEGINNINGS = {
    DISCOVERY: ("select", "examine"),
    TRANSFER: ("recheck",),
    INVOCATION: ("lose", "retry"),
    FAILED: ("retry",),
}
"""The events with which a send begins in each phase of its handoff."""
HandoffId = Annotated[str, Help("The id of a handoff.", metavar="ID")]


@operation(
    "handoff send",
    "flow handoff send planner --session perspective-swarm-k3x9q2",
    "flow handoff send planner --from lit-pm --payload handoff-payload.yaml",
)
def send_handoff(
    environment: Environment,
    target: Annotated[str, Help("The skill that takes over.")],
    *,
    session: Annotated[str | None, Help("The session whose work is handed off.", metavar="ID")] = None,
    from_: Annotated[str, Help("The skill that hands off, if it has no session.", metavar="SKILL")] = "",
    payload: Annotated[
        str, Help("With --from: the payload that the skill received, or one that it wrote.", metavar="FILE")
    ] = "",
    again: Annotated[bool, Help("Hand off again work that was already received.")] = False,
    new: Annotated[
        bool, Help("With --from: this is new work, not what the skill received; a new chain starts.")
    ] = False,
    reason: Annotated[str, Help("Why this target; part of the payload.", metavar="WHY")] = "",
    yes: Annotated[bool, Help("Allow a target that has already had this work.")] = False,
    approved: Annotated[bool, Help("The user approved a chain of more than five skills.")] = False,
    fact: Facts = NO_VALUES,
    health_check: Annotated[bool, Help("Run the target's own check first.")] = False,
    schema: Annotated[
        Literal["2.0", "3.0"] | None, Help("The payload version (default: the target's).")
    ] = None,
) -> HandoffAnswer:
    """Hand the work of a session or a skill to another skill

    Selects the target, checks everything, writes the payload once, and prints the line that the agent
    that takes over runs. The same command again prints the same answer, or continues an interrupted
    or failed handoff. A skill without a session uses --from; its chain continues from the payload that
    it received, unless --new starts a chain.
    """
    if (from_ and session) or ((payload or new) and not from_):
        raise UsageError(
            "--from excludes --session, and --payload and --new need it",
            hint="name the session, or the skill that hands off",
        )
    for name, value in fact.items():
        if isinstance(value, str):
            refuse_left_open(name, value)
    request = HandoffRequest(
        target, session or "", from_, payload, reason.strip(), yes, approved, health_check, schema or "", fact,
        again, new,
    )  # fmt: skip
    if not session and not from_:
        request = replace(request, session=own_session(environment).session.id)
    try:
        return send(environment, request)
    except ValidationFailedError as error:
        if error.details.get("rule") != LOOP or environment.conversation:
            raise
        question = Confirmation("Proceed anyway?", f"WARNING: {error.message}".split("\n"), error.hint)
        try:
            environment.confirm(question)
        except TrustError:
            raise error from None
    return send(environment, replace(request, yes=True, reason=request.reason or "confirmed at the terminal"))


@operation("handoff cancel", "flow handoff cancel handoff-k3x9q2 --reason 'sent to the wrong skill'")
def cancel_handoff(environment: Environment, handoff: HandoffId, *, reason: Reason = "") -> HandoffAnswer:
    """Cancel a handoff

    A written payload stays, but it can no longer be received.
    """
    with handoffs_of(environment).change(handoff) as change:
        known = change.handoff
        if known.phase in ENDED:
            state = f"cancelled: {known.cancelled}" if known.cancelled else known.status
            raise HandoffRefusedError(
                f"handoff `{known.id}` is over: {state}",
                code="HANDOFF_CLOSED",
                hint=environment.command("handoff status", handoff),
                handoff=known.id,
                phase=known.phase,
            )
        cancelled = replace(known, cancelled=reason or "no reason given")
        return answer_of(environment, change.advance(cancelled, ("cancel",)))


def answer_of(
    environment: Environment, handoff: Handoff, *, replayed: bool = False, notes: Sequence[str] = ()
) -> HandoffAnswer:
    """Return *handoff* as commands answer it."""
    store, shown_store = environment.store, environment.shown_store
    handoff = replace(handoff, payload=payload_path(store, handoff))
    missing = missing_parts(store, handoff)
    expired = handoff.is_open and _has_expired(handoff, environment.moment)
    receive = invocation = again = cancel = None
    if handoff.phase == INVOCATION and not missing and not expired:
        receive = receive_command(handoff, shown_store)
        line_of_target = trigger_line(handoff.trigger, handoff.target, handoff.payload)
        invocation = str(receive) if handoff.has_workflow else line_of_target
    is_lost = set(missing) == {"payload"} or (expired and not missing)
    is_ours = handoff.is_open and not handoff.foreign  # what came from elsewhere cannot be sent again here
    if is_ours and (handoff.phase != INVOCATION or is_lost):
        again = send_command(handoff.request, shown_store, root=handoff.root)
        again = again.with_options(facts=handoff.request.facts)
    if handoff.is_open:
        cancel = environment.command("handoff cancel", handoff.id)
    return HandoffAnswer(
        **vars(handoff),
        status=EXPIRED if expired else handoff.status,
        missing=tuple(missing.values()),
        invocation=invocation,
        receive_command=receive,
        send_command=again,
        cancel_command=cancel,
        replayed=replayed,
        notes=tuple(notes),
    )


def find_targets(environment: Environment) -> Discovery:
    """Return the skills that can take over work here, bundled ones included."""
    found = discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)
    return with_bundled(found)


def skill_names(discovery: Discovery) -> frozenset[str]:
    """Return the names of all skills that were found or are bundled, targets or not."""
    skipped = (skill.skill for skill in discovery.skipped if skill.is_skill)
    return frozenset(
        (*(each.skill for each in discovery.candidates), *skipped, *os.listdir(bundled_folder()))
    )


def source_for(
    environment: Environment, discovery: Discovery, skill: str, payload: str = "", *, new: bool = False
) -> HandoffSource:
    """Return a skill without a session as the source of a handoff."""
    return skill_source(
        skill,
        discovery,
        handoffs_of(environment),
        skills=skill_names(discovery),
        project=environment.cwd,
        now=environment.moment,
        payload=payload,
        new=new,
    )


def foreseen_refusal(
    environment: Environment, discovery: Discovery, request: HandoffRequest, source: HandoffSource
) -> HandoffRefusedError | None:
    """Return why `send` would refuse a request now, or `None`. Nothing is written."""
    try:
        if source.session is not None:
            _refuse_without_synthesis(environment, source.session, request.facts)
        target = choose_target(discovery, request.target)
        sending = _Sending.of(environment, discovery, request, source, target)
        handoff = sending.draft()
    except HandoffRefusedError as error:
        return error
    handoff = sending.check(handoff)
    return None if all(check.holds for check in handoff.checks) else sending.refusal(handoff, None)


def send(environment: Environment, request: HandoffRequest) -> HandoffAnswer:
    """Hand the work of a session or a skill to a target, up to the line that invokes the target.

    The same request again returns the earlier answer, or continues a handoff that was interrupted or failed.
    """
    discovery, handoffs = find_targets(environment), handoffs_of(environment)
    with _source(environment, discovery, request) as source:
        target = choose_target(discovery, request.target)
        sending = _Sending.of(environment, discovery, request, source, target)
        earlier = _find_earlier(handoffs, sending.new, environment.moment)
        if earlier is None:
            return sending.run(HandoffChange(handoffs, sending.new))
        if earlier.phase == ACKNOWLEDGMENT:
            receiver = f" by {earlier.receipt.by} at {earlier.receipt.at}" if earlier.receipt else ""
            note = f"this work was handed off before and received{receiver}; add --again to hand it off again"
            return answer_of(environment, earlier, replayed=True, notes=[note])
        with handoffs.change(earlier.id) as change:
            return sending.again_as(earlier).run(change)


@dataclass(frozen=True)
class _Sending:
    """A handoff on its way to its invocation."""

    environment: Environment
    discovery: Discovery
    source: HandoffSource
    new: Handoff
    """The handoff as it is requested, before its first phase."""

    @classmethod
    def of(
        cls,
        environment: Environment,
        discovery: Discovery,
        request: HandoffRequest,
        source: HandoffSource,
        target: Candidate,
    ) -> _Sending:
        """Return the sending of a request; refused if the chain may not grow by the target."""
        handoffs, received, session = handoffs_of(environment), source.received, source.session
        hops = [known.hops for known in handoffs.own_ones() if received and known.id == received.handoff]
        facts = {**({} if session else source.facts), **request.facts}
        schema = request.schema or normal_version(target.schema_version)
        trace_id = (received.trace_id if received else "") or str(UUID(bytes=os.urandom(16), version=4))
        continues = received.handoff if received and not session else ""
        digest = received.sha256 if received and not session else ""
        revision = session.revision if session else 0
        parts = (
            source.skill, request.session, revision, target.skill, schema, request.reason, request.health_check,
            facts, digest,
        )  # fmt: skip
        handoff = Handoff(
            id=handoffs.new_id(),
            source=source.skill,
            target=target.skill,
            request=request,
            session=request.session,
            revision=revision,
            schema=schema,
            trace_id=trace_id,
            span_id=os.urandom(8).hex(),
            parent_span=received.span_id if received else "",
            chain=source.chain,
            hops=max([received.hops, *hops]) + 1 if received else 1,
            continues=continues,
            facts=facts,
            key=sha256_hex(integrity.canonical(parts))[:16],
            started_at=environment.now,
        )
        handoff = with_target(handoff, target)
        if refused := chain_refusal(handoff):
            raise refused
        return cls(environment, discovery, source, handoff)

    def again_as(self, earlier: Handoff) -> _Sending:
        """Return the sending of the same work as an earlier handoff, with the facts that were given to it."""
        new = replace(self.new, id=earlier.id, started_at=earlier.started_at)
        if earlier.phase == FAILED:
            request = replace(new.request, facts={**earlier.request.facts, **new.request.facts})
            new = replace(new, facts={**earlier.facts, **new.facts}, request=request)
        return replace(self, new=new)

    def run(self, change: HandoffChange) -> HandoffAnswer:
        """Move the handoff from its phase to its invocation."""
        environment, handoff, notes = self.environment, change.handoff, [*self.source.notes]
        begun = _BEGINNINGS.get(handoff.phase)
        lost = missing_parts(environment.store, handoff).get("payload")
        if begun is None or (
            handoff.phase == INVOCATION and lost is None
        ):  # it ended, or another sender was faster
            return answer_of(environment, handoff, replayed=True, notes=notes)
        if handoff.phase == INVOCATION:
            notes.insert(0, f"{lost}; it was written again")
        was_prepared = handoff.phase in {INVOCATION, TRANSFER}
        is_prepared = was_prepared and not _has_expired(handoff, environment.moment)
        prepared = self.check(handoff if is_prepared else self.draft())
        if not all(check.holds for check in prepared.checks):
            raise self._fail(change, prepared, begun)
        begun = (*begun, "hand_on")
        if not is_prepared:
            change.advance(prepared, begun, _answers(prepared))
            begun = ()
        self._write(prepared, is_lost="lose" in begun)
        answers = {**_answers(prepared), "payload_written": digest_of(prepared.payload) == prepared.sha256}
        sent = change.advance(prepared, (*begun, "invoke"), answers)
        return answer_of(environment, sent, notes=[*notes, *_notes(sent)])

    def draft(self) -> Handoff:
        """Return the new handoff with a payload built from the source's work."""
        store, handoff, now = self.environment.store, self.new, self.environment.moment
        folder = work_folder(store, handoff)
        try:
            content, lost = build(self.source, handoff, folder=folder, project=self.environment.cwd, now=now)
            data = render(handoff.schema, content)
            read(data, source="the payload")
        except DocumentError as error:  # the reported facts cannot be written as a payload
            raise InvalidPayloadError(error.message, hint=error.hint, recoverable=True) from None
        digest, expires = sha256_hex(data), integrity.expiry(handoff.schema, content)
        handoff = replace(
            handoff,
            content=content,
            lost=lost,
            identity=integrity.identity(handoff.schema, content),
            payload=payload_file_name(handoff.schema, content, digest),
            sha256=digest,
            size=len(data),
            expires_at=integrity.stamp(expires) if expires else "",
        )
        return replace(handoff, payload=payload_path(store, handoff))

    def check(self, handoff: Handoff) -> Handoff:
        """Return *handoff* with the results of all checks."""
        environment = self.environment
        results = checks.check_send(handoff, self.discovery, environment.store, environment.moment)
        target = checks.find_target(handoff, self.discovery)
        if handoff.request.health_check and target is not None:
            places = {"project": environment.cwd, "state": environment.state}
            results = (*results, check_health(target, environment.environ, **places))
        payload = payload_path(environment.store, handoff)
        return replace(handoff, payload=payload, checks=results, failure=None)

    def refusal(self, handoff: Handoff, preserved: str | None) -> HandoffRefusedError:
        """Return one refusal that names every failed check, with the command that tries again."""
        again = send_command(self.new.request, self.environment.shown_store, root=handoff.root)
        return checks.refusal(handoff, again, preserved)

    def _fail(self, change: HandoffChange, handoff: Handoff, begun: Sequence[str]) -> HandoffRefusedError:
        """Record that checks failed, keep the payload, and return the refusal."""
        preserved = os.path.join(change.folder, f"preserved.{FORMS[handoff.schema]}")
        error = self.refusal(handoff, preserved)
        failure = HandoffFailure(
            error.code, error.message, error.details, error.recoverable, preserved, str(error.hint)
        )
        answers = {"target_found": True, "payload_lost": True, "not_fixable": not error.recoverable}
        failed = replace(handoff, failure=failure, payload="")
        change.advance(failed, (*begun, "refuse"), answers)
        files.write_atomic(preserved, render(handoff.schema, handoff.content), durable=False)
        return error

    def _write(self, handoff: Handoff, *, is_lost: bool) -> None:
        """Write the payload, and in 2.0 a copy of it as the newest one."""
        if is_lost and os.path.lexists(handoff.payload):
            os.unlink(handoff.payload)  # it was changed
        data = render(handoff.schema, handoff.content)
        write_payload(handoff.payload, data)
        if handoff.schema == "2.0":
            newest = os.path.join(work_folder(self.environment.store, handoff), NEWEST_PAYLOAD)
            files.write_atomic(newest, data, durable=False)


def _answers(handoff: Handoff) -> dict[str, bool]:
    """Return the answers of the guards to a handoff whose checks ran. A check that does not apply holds."""
    held = {result.name: result.holds for result in handoff.checks}
    return {**dict.fromkeys(CHECKS, True), **held, "target_found": True, "payload_lost": True}


@contextmanager
def _source(
    environment: Environment, discovery: Discovery, request: HandoffRequest
) -> Iterator[HandoffSource]:
    """Yield the source of a request under its lock, so that two equal requests make one handoff."""
    store = environment.store
    if request.skill:
        with handoffs_of(environment).locked(request.skill):
            yield source_for(environment, discovery, request.skill, request.payload, new=request.new)
        return
    store.read(request.session)  # refuses an unknown session
    folder = store.folder(request.session)
    files.make_private_dir(folder)
    with locked(f"{folder}/{LOCK}", wait=environment.wait, what=f"session `{request.session}`"):
        session = store.read(request.session).session
        _refuse_without_synthesis(environment, session, request.facts)
        yield source_of(session, discovery)


def _refuse_without_synthesis(
    environment: Environment, session: Session, facts: Mapping[str, object]
) -> None:
    """Refuse to hand off work before its workflow has reported its synthesis."""
    if facts.get(SYNTHESIS) or session.state.get(SYNTHESIS):
        return
    for step in environment.store.definition(session).steps:
        report = (step.get("reports") or {}).get(SYNTHESIS)
        if isinstance(report, Mapping) and report.get("required"):
            resume = environment.command("resume", session.id)
            raise ValidationFailedError(
                f"session `{session.id}` has no synthesis yet: step `{step.get('id')}` reports it",
                hint=Hint("continue the work first: ", resume),
                recoverable=True,
                missing_fields=[],
                validation_errors=["the work has no synthesis yet"],
                session=session.id,
            )


def _find_earlier(handoffs: Handoffs, new: Handoff, now: datetime) -> Handoff | None:
    """Return an earlier handoff of the same request, or one of the same work that failed.

    Received ones are ignored if the work must be sent again.
    """

    def rank(earlier: Handoff) -> int | None:
        is_same = earlier.key == new.key
        if is_same and earlier.phase == INVOCATION and not _has_expired(earlier, now):
            return 0
        if is_same and earlier.phase == TRANSFER:
            return 1
        if earlier.phase == FAILED and _work_of(earlier) == _work_of(new):
            return 2
        return 3 if is_same and earlier.phase == ACKNOWLEDGMENT and not new.request.again else None

    ranked = [(rank(earlier), earlier) for earlier in handoffs.own_ones()]
    found = [(number, earlier) for number, earlier in ranked if number is not None]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _work_of(handoff: Handoff) -> tuple[object, ...]:
    return handoff.source, handoff.session, handoff.revision, handoff.target, handoff.continues


def _has_expired(handoff: Handoff, now: datetime) -> bool:
    return integrity.has_expired(moment(handoff.expires_at), now)


def _notes(handoff: Handoff) -> Iterator[str]:
    if handoff.target in handoff.chain:
        loop = format_chain(handoff.chain, handoff.target)
        yield f"this is a loop: {loop} ({handoff.request.reason})"
    if handoff.schema != normal_version(handoff.target_schema):
        fit = compatibility(handoff.schema, handoff.target_schema)
        yield fit.in_words(handoff.schema, handoff.target_schema)
    if handoff.lost:
        yield f"not in a {handoff.schema} payload: {', '.join(handoff.lost)}"
