"""Handing over, phase by phase: what is committed has happened, and what was interrupted goes on.

The payload is made once, when validation is entered, and stands in the record from then on: whoever
goes on after a kill writes the same bytes. Chain and target are judged before anything is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from flowrail import _files, _yaml
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.errors import StorageError
from flowrail.handoff import guards, integrity, invocation, lifecycle, transfer
from flowrail.handoff.building import build
from flowrail.handoff.chain import drawn, grown
from flowrail.handoff.desk import Desk
from flowrail.handoff.journal import Change
from flowrail.handoff.payload import FORMS, put, render, text_at
from flowrail.handoff.problems import ClosedError, InvalidPayloadError, Refusal, ValidationFailedError
from flowrail.handoff.record import (
    DISCOVERY,
    ENDED,
    FAILED,
    INVOCATION,
    ON_ITS_WAY,
    SELECTION,
    TRANSFER,
    VALIDATION,
    Handoff,
)
from flowrail.handoff.selection import Chosen, choose
from flowrail.machines.kept import Change as SessionChange
from flowrail.machines.session import Session

SENT_IN = ("2.0", "3.0")
"""The versions that are written; older ones are only read."""


class Asked(NamedTuple):
    """What somebody wants handed over, and how; empty where it is left to the target."""

    target: str
    session: str
    reason: str = ""
    yes: bool = False
    approved: bool = False
    health: bool = False
    schema: str = ""
    form: str = ""
    facts: Mapping[str, Any] = {}


class Sent(NamedTuple):
    """A handoff as it stands after sending, whether it is the answer of before, and what to know beside."""

    handoff: Handoff
    replayed: bool = False
    notes: tuple[str, ...] = ()


def send(desk: Desk, asked: Asked) -> Sent:
    """Hand the work of a session to a target: all phases up to the line that invokes it."""
    with desk.store.change(asked.session, wait=desk.wait) as held:
        chosen = choose(desk.discover(), asked.target)
        wanted = _wanted(desk, asked, held.kept.session, chosen)
        _judge_chain(wanted)
        before = _before(desk, wanted)
        if before is None:
            desk.handoffs.create(wanted, kind=DISCOVERY, at=desk.now(), by=desk.by, note=_seen(chosen))
        elif before.phase == INVOCATION:
            return Sent(before, replayed=True)
        handoff_id = wanted.id if before is None else before.id
        with desk.handoffs.change(handoff_id, wait=desk.wait) as change:
            return Sent(_go_on(desk, change, held), notes=_notes(change.kept.handoff))


def retry(desk: Desk, handoff_id: str, asked: Asked | None = None) -> Sent:
    """Take a handoff that failed, or was interrupted, to its end; *asked* says what is different now."""
    handoff = desk.handoffs.read(handoff_id).handoff
    if handoff.phase == INVOCATION:
        return Sent(handoff, replayed=True)
    if handoff.phase in ENDED:
        raise ClosedError(
            f"handoff `{handoff_id}` is over: {handoff.phase}",
            hint=f"send it anew: {desk.command('handoff', 'send', handoff.target, '--session', handoff.session)}",
            handoff=handoff_id,
            phase=handoff.phase,
        )
    with (
        desk.store.change(handoff.session, wait=desk.wait) as held,
        desk.handoffs.change(handoff_id, wait=desk.wait) as change,
    ):
        handoff = change.kept.handoff
        if handoff.phase == FAILED:
            chosen = choose(desk.discover(), handoff.target)
            again = _again(desk, handoff, asked, chosen)
            _judge_chain(again)
            phase = lifecycle.after(FAILED, "retry", lambda _: True)
            drafted = _drafted(desk, again._replace(phase=phase), held.kept.session)
            _commit(desk, change, drafted, kind="retry", note={"attempt": drafted.attempts + 1})
        return Sent(_go_on(desk, change, held), notes=_notes(change.kept.handoff))


def cancel(desk: Desk, handoff_id: str, reason: str = "") -> Handoff:
    """Call a handoff off; a payload that was written stays, and nobody may receive it any more."""
    with desk.handoffs.change(handoff_id, wait=desk.wait) as change:
        handoff = change.kept.handoff
        if handoff.phase in ENDED:
            raise ClosedError(
                f"handoff `{handoff_id}` is over: {handoff.phase}",
                hint=desk.command("handoff", "status", handoff_id),
                handoff=handoff_id,
                phase=handoff.phase,
            )
        phase = lifecycle.after(handoff.phase, "cancel", lambda _: True)
        note = {"reason": reason} if reason else {}
        return _commit(desk, change, handoff._replace(phase=phase), kind="cancel", note=note)


# --- what is asked for ------------------------------------------------------------------------------


def _wanted(desk: Desk, asked: Asked, session: Session, chosen: Chosen) -> Handoff:
    candidate, before = chosen.candidate, session.received
    version = _version(asked, candidate.schema_version)
    form = asked.form or FORMS[version]
    chain = grown(tuple(str(each) for each in before.get("chain", ())), session.skill)
    random = desk.random(24)
    wanted = Handoff(
        id=desk.handoffs.new_id(desk.random),
        source=session.skill,
        target=candidate.skill,
        session=session.id,
        revision=session.revision,
        target_path=candidate.path,
        target_digest=chosen.digest,
        target_schema=candidate.schema_version,
        trigger=invocation.template(candidate.trigger, candidate.skill),
        ours=chosen.ours,
        schema=version,
        form=form,
        trace_id=str(before.get("trace_id") or UUID(bytes=random[:16], version=4)),
        span_id=random[16:].hex(),
        parent_span=str(before.get("span_id", "")),
        chain=chain,
        hops=_hops(desk, before),
        reason=asked.reason.strip(),
        yes=asked.yes,
        approved=asked.approved,
        health=asked.health,
        facts=dict(asked.facts),
        started_at=desk.now(),
    )
    return wanted._replace(request=_request(wanted))


def _version(asked: Asked, target: str) -> str:
    reads = normal_version(target)
    version = asked.schema or (reads if reads in SENT_IN else SENT_IN[-1])
    if not asked.schema and not compatibility(version, reads).possible:
        version = SENT_IN[0]
    return version


def _hops(desk: Desk, received: Mapping[str, Any]) -> int:
    """Return which hop this is by our own records, whatever the chain says."""
    hops = int(received.get("hops", 0))
    for kept in desk.handoffs.all():
        if kept.handoff.id == received.get("handoff"):
            hops = max(hops, kept.handoff.hops)
    return hops + 1


def _request(wanted: Handoff) -> str:
    told = [
        wanted.session, wanted.revision, wanted.target, wanted.schema, wanted.form, wanted.reason,
        wanted.health, wanted.facts,
    ]  # fmt: skip
    return sha256(integrity.canonical(told)).hexdigest()[:16]


def _before(desk: Desk, wanted: Handoff) -> Handoff | None:
    """Return the handoff that this very request began before, if it still stands and is not expired."""
    for kept in desk.handoffs.all():
        handoff = kept.handoff
        if handoff.request != wanted.request or kept.foreign:
            continue
        if handoff.phase in ON_ITS_WAY:
            return handoff
        ends = integrity.moment(handoff.expires_at)
        if handoff.phase == INVOCATION and not integrity.has_expired(ends, desk.moment()):
            return handoff
    return None


def _judge_chain(wanted: Handoff) -> None:
    """Refuse what the chain does not allow, before anything is written."""
    verdict = guards.judged(wanted)
    if not verdict.allowed:
        raise ValidationFailedError(
            verdict.message,
            hint=verdict.hint,
            recoverable=verdict.mendable,
            rule=verdict.code,
            chain=[*wanted.chain, wanted.target],
            hops=wanted.hops,
            target_skill=wanted.target,
            validation_errors=[verdict.message],
        )


def _again(desk: Desk, handoff: Handoff, asked: Asked | None, chosen: Chosen) -> Handoff:
    """Return a handoff that failed as it is to be tried again, its target looked at anew."""
    candidate = chosen.candidate
    fresh = handoff._replace(
        target_path=candidate.path,
        target_digest=chosen.digest,
        target_schema=candidate.schema_version,
        trigger=invocation.template(candidate.trigger, candidate.skill),
        ours=chosen.ours,
        checks=(),
        problem={},
    )
    if asked is None:
        return fresh
    del desk
    return fresh._replace(
        reason=asked.reason.strip() or handoff.reason,
        yes=asked.yes or handoff.yes,
        approved=asked.approved or handoff.approved,
        facts={**handoff.facts, **asked.facts},
    )


# --- the phases -------------------------------------------------------------------------------------


def _go_on(desk: Desk, change: Change, held: SessionChange) -> Handoff:
    """Take a handoff from where it stands to its invocation, one committed phase after the other."""
    while (handoff := change.kept.handoff).phase in ON_ITS_WAY:
        _PHASES[handoff.phase](desk, change, held)
    return handoff


def _select(desk: Desk, change: Change, held: SessionChange) -> None:
    del held
    handoff = change.kept.handoff
    try:
        chosen = choose(desk.discover(), handoff.target)
    except Refusal as error:
        _fail(desk, change, handoff, error)
        raise
    phase = lifecycle.after(handoff.phase, "select", lambda _: bool(chosen))
    _commit(desk, change, handoff._replace(phase=phase), note={"target": chosen.candidate.path})


def _examine(desk: Desk, change: Change, held: SessionChange) -> None:
    handoff = change.kept.handoff
    phase = lifecycle.after(handoff.phase, "examine", lambda _: True)
    _commit(desk, change, _drafted(desk, handoff._replace(phase=phase), held.kept.session))


def _validate(desk: Desk, change: Change, held: SessionChange) -> None:
    handoff = change.kept.handoff
    now = desk.now()
    try:
        checks = guards.ask(guards.Case(desk, handoff, desk.discover(), now))
    except _yaml.YamlError as error:  # what was reported cannot be written as a payload at all
        refusal: Refusal = InvalidPayloadError(error.message, hint=error.hint, recoverable=True)
        _fail(desk, change, handoff, refusal)
        raise refusal from None
    answers = {each.name: each.holds for each in checks}
    answers["beyond_mending"] = any(not each.holds and not each.mendable for each in checks)
    handoff = handoff._replace(checks=tuple(each.data() for each in checks))
    if not all(each.holds for each in checks):
        again = desk.command("handoff", "retry", handoff.id)
        refusal = guards.refusal(handoff, checks, _preserve(change, handoff), again)
        _fail(desk, change, handoff, refusal, answers)
        raise refusal
    phase = lifecycle.after(handoff.phase, "hand_on", answers.__getitem__)
    data = render(handoff.draft, handoff.form)
    digest = sha256(data).hexdigest()
    name = transfer.file_name(
        handoff.schema,
        handoff.form,
        digest,
        source=handoff.source,
        target=handoff.target,
        timestamp=text_at(handoff.draft, "timestamp"),
    )
    path = os.path.join(held.kept.folder, transfer.FOLDER, name)
    after = handoff._replace(phase=phase, payload=path, digest=digest, size=len(data))
    _commit(desk, change, after, note={"payload": path, "sha256": digest})


def _transfer(desk: Desk, change: Change, held: SessionChange) -> None:
    handoff = change.kept.handoff
    data = render(handoff.draft, handoff.form)
    try:
        transfer.write(handoff.payload, data)
        if handoff.schema == "2.0":
            transfer.keep_newest(held.kept.folder, handoff.form, data)
        _note_in_session(desk, held, handoff)
    except StorageError as error:
        told = ValidationFailedError(error.message, hint=error.hint, recoverable=True)
        with suppress(StorageError):
            _fail(desk, change, handoff, told)
        raise
    phase = lifecycle.after(handoff.phase, "invoke", lambda _: guards.written(handoff))
    line = invocation.line(handoff.trigger, handoff.target, handoff.payload)
    if handoff.ours:
        line = receive_command(desk, handoff)
    _commit(desk, change, handoff._replace(phase=phase, invocation=line), note={"line": line})


_PHASES = {DISCOVERY: _select, SELECTION: _examine, VALIDATION: _validate, TRANSFER: _transfer}


def receive_command(desk: Desk, handoff: Handoff) -> str:
    """Return the command that receives a payload, its digest beside it."""
    return desk.command("handoff", "receive", handoff.payload, "--sha256", handoff.digest)


def _drafted(desk: Desk, handoff: Handoff, session: Session) -> Handoff:
    folder = desk.store.folder(handoff.session)
    now = desk.now()
    draft = build(session, handoff, now=now, folder=folder, project=desk.project)
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
    change: Change,
    handoff: Handoff,
    error: Refusal,
    answers: Mapping[str, bool] | None = None,
) -> None:
    known = answers or {}
    phase = lifecycle.after(handoff.phase, "refuse", lambda name: bool(known.get(name)))
    document = error.document()["error"]
    after = handoff._replace(phase=phase, problem=_plain(document), attempts=handoff.attempts + 1)
    _commit(desk, change, after, note={"code": error.code})
    with suppress(StorageError):
        text = _yaml.dump({"error": _plain(document)})
        _files.write_atomic(os.path.join(change.kept.folder, "error.yaml"), text.encode())


def _preserve(change: Change, handoff: Handoff) -> str:
    """Keep the payload of an attempt that fails, for another one."""
    path = os.path.join(change.kept.folder, f"preserved.{handoff.form}")
    _files.write_atomic(path, render(handoff.draft, handoff.form))
    return path


def _commit(
    desk: Desk, change: Change, handoff: Handoff, *, kind: str = "", note: Mapping[str, Any] | None = None
) -> Handoff:
    return change.commit(handoff, kind=kind or handoff.phase, at=desk.now(), by=desk.by, note=note)


def _seen(chosen: Chosen) -> dict[str, Any]:
    candidate = chosen.candidate
    return {"path": candidate.path, "scope": candidate.scope.value, "hides": list(candidate.hides)}


def _notes(handoff: Handoff) -> tuple[str, ...]:
    found: list[str] = []
    if handoff.target in handoff.chain:
        found.append(f"the work goes round: {drawn(handoff.chain, handoff.target)} ({handoff.reason})")
    if handoff.schema != normal_version(handoff.target_schema):
        fit = compatibility(handoff.schema, handoff.target_schema)
        found.append(f"{handoff.schema} to {handoff.target_schema}: {fit.verdict.value}, {fit.reason}")
    return tuple(found)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
