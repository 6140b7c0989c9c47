"""Receiving: checked again, claimed by one receiver, acknowledged once, its work begun.

The sender's journal is where a claim is made, under its lock; a payload that came from elsewhere gets a
journal of its own in the receiver's store. A receiver that dies after its claim has not received: the
next one finishes what it began.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.command import Hint
from flowrail.errors import DocumentError
from flowrail.handoff.arriving import Asked, on_record, problems
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import (
    EXPIRED,
    WARNING,
    AlreadyTakenError,
    ClosedError,
    InvalidPayloadError,
    Problem,
    TargetNotFoundError,
    ValidationFailedError,
    errors,
    refuse,
)
from flowrail.handoff.handoff import (
    ENDED,
    INVOCATION,
    ON_ITS_WAY,
    Handoff,
)
from flowrail.handoff.handoff import EXPIRED as EXPIRED_PHASE
from flowrail.handoff.lifecycle import machine
from flowrail.handoff.payload import file
from flowrail.handoff.payload.document import LARGEST, Payload, read
from flowrail.handoff.receiving_context import carried
from flowrail.handoff.store import HandoffChange
from flowrail.handoff.whereabouts import alone, leave_word, record_of
from flowrail.machines.guidance.received_work import COPY
from flowrail.machines.sessions.store import UnknownSessionError
from flowrail.storage import files
from flowrail.text.safe_text import in_quotes

_ENDINGS = frozenset({".json", ".yaml", ".yml"})
"""Those that a copy keeps; the name of a stranger's file is told to nobody."""


class Ours(NamedTuple):
    """A target that is a workflow of ours: how its session is begun, and under which id.

    ``begin`` takes the id, and what the session is to know of the handoff.
    """

    begin: Callable[[str, Payload, Mapping[str, Any]], object]
    new_id: Callable[[], str]


class Received(NamedTuple):
    """A payload that is ours now: its handoff, what it says, the session begun for it (or nothing)."""

    handoff: Handoff
    payload: Payload
    session: str
    told: tuple[Problem, ...] = ()


def receive(desk: Desk, asked: Asked, ours: Callable[[Payload], Ours | None]) -> Received:
    """Check the payload, claim it, begin the target's session where it is ours, and acknowledge."""
    path = os.path.abspath(asked.path)
    payload = _read(path, asked)
    with alone(desk, payload.digest):
        handoffs, handoff_id = record_of(desk, path, payload)
        if handoff_id is None:
            handoff_id = on_record(desk, handoffs, path, payload, asked)
        leave_word(desk, payload.digest, handoffs.store)
    with handoffs.change(handoff_id, wait=desk.wait) as change:
        handoff = change.kept.handoff
        _still_open(desk, change)
        payload = _read(path, asked)  # under the lock: what is claimed is what was checked
        told = _check(desk, change, payload, asked)
        start = ours(_addressed(payload))
        if start is None and handoff.ours:
            raise _not_in_sight(desk, handoff)
        if start is None and handoff.foreign:
            told = (*told, *_unknown(desk, handoff))
        session = _claimed(desk, change, start)
        if start is not None:
            _begun(desk, change.kept.handoff, payload, session, start)
        handoff = change.kept.handoff
        answers = {
            "payload_unchanged": file.digest_of(path) == (handoff.digest or payload.digest),
            "claimed": bool(handoff.claim),
        }
        phase = machine.after(handoff.phase, "acknowledge", answers.__getitem__)
        done = change.commit(
            handoff._replace(phase=phase),
            kind=phase,
            at=desk.now(),
            by=desk.by,
            note={"receiver": handoff.target, "session": session},
        )
        return Received(done, payload, session, told)


def _read(path: str, asked: Asked) -> Payload:
    """Return the payload, refused where its bytes are not those that were asked for, or no document."""
    data = files.read_bounded(path, limit=LARGEST, what="the payload")
    digest = sha256(data).hexdigest()
    if asked.digest and asked.digest.removeprefix("sha256:") != digest:
        raise _changed(path, digest, asked.digest)
    try:
        return read(data, source=path)
    except DocumentError as error:
        raise InvalidPayloadError(
            f"the payload cannot be read: {error.message}",
            hint="have it sent again",
            preserved=path,
            missing_fields=[],
            validation_errors=[error.message],
        ) from None


def _addressed(payload: Payload) -> Payload:
    """Return *payload* with no other target than the one that was asked: 1.2 names its own and may have any keys."""
    if payload.version != "1.2":
        return payload
    return payload._replace(handoff={key: each for key, each in payload.handoff.items() if key != "target"})


def _still_open(desk: Desk, change: HandoffChange) -> None:
    handoff, keeper = change.kept.handoff, _keeper(desk, change)
    if handoff.phase == INVOCATION:
        return
    status = keeper.command("handoff status", handoff.id)
    if handoff.claim and handoff.phase != EXPIRED_PHASE:
        claim = handoff.claim
        session = str(claim.get("session", ""))
        near = session and os.path.isdir(desk.store.folder(session))
        raise AlreadyTakenError(
            f"handoff `{handoff.id}` was received by {claim.get('by')} at {claim.get('at')}",
            hint=f"look at it: {desk.command('resume', session) if near else status}",
            handoff=handoff.id,
            claim=dict(claim),
            target_skill=handoff.target,
        )
    if handoff.phase in ON_ITS_WAY:
        raise ClosedError(
            f"handoff `{handoff.id}` has not been sent yet, it stands at {handoff.phase}",
            hint=Hint("the sender goes on: ", keeper.command("handoff retry", handoff.id)),
            recoverable=True,
            handoff=handoff.id,
            phase=handoff.phase,
        )
    raise ClosedError(
        f"handoff `{handoff.id}` is {handoff.phase}",
        hint=f"see why: {status}",
        recoverable=handoff.phase not in ENDED,
        handoff=handoff.id,
        phase=handoff.phase,
    )


def _keeper(desk: Desk, change: HandoffChange) -> Desk:
    """Return the desk whose commands name the store that has the handoff on record."""
    store = os.path.dirname(os.path.dirname(change.kept.folder))
    same = os.path.realpath(store) == os.path.realpath(desk.store.path)
    return desk if same else desk._replace(shown_store=store)


def _check(desk: Desk, change: HandoffChange, payload: Payload, asked: Asked) -> tuple[Problem, ...]:
    """Return what is worth knowing of the payload; refuse where it is not the one that was sent, or unfit."""
    handoff = change.kept.handoff
    if handoff.digest != payload.digest:
        raise _changed(asked.path, payload.digest, handoff.digest)
    found = problems(desk, payload, asked)
    wrong = errors(found)
    if not wrong:
        return tuple(found)
    if all(each.kind == EXPIRED for each in wrong):
        phase = machine.after(handoff.phase, "expire", lambda _: True)
        change.commit(handoff._replace(phase=phase), kind=phase, at=desk.now(), by=desk.by)
    raise refuse(
        f"the payload of handoff `{handoff.id}` is refused",
        wrong,
        hint=Hint("have it sent again: ", _keeper(desk, change).command("handoff status", handoff.id)),
        preserved=payload.source,
    )


def _claimed(desk: Desk, change: HandoffChange, start: Ours | None) -> str:
    """Return the session that is to take over, on record before it is begun."""
    handoff = change.kept.handoff
    planned = str(handoff.claim.get("session", ""))
    if handoff.claim and (start is None or _is_there(desk, planned)):
        return planned
    planned = start.new_id() if start is not None else ""
    claim = {"by": desk.by, "at": desk.now(), "session": planned}
    change.commit(handoff._replace(claim=claim), kind="claim", at=desk.now(), by=desk.by, note=claim)
    return planned


def _begun(desk: Desk, handoff: Handoff, payload: Payload, session: str, start: Ours) -> None:
    """Begin the target's session, if nobody has, and lay the payload into its folder."""
    folder = desk.store.folder(session)
    ending = os.path.splitext(payload.source)[1]
    copy = os.path.join(folder, f"{COPY}{ending if ending in _ENDINGS else '.yaml'}")
    if not _is_there(desk, session):
        start.begin(session, payload, carried(handoff, payload, copy))
    if not os.path.lexists(copy):
        data = files.read_bounded(payload.source, limit=payload.size, what="the payload")
        files.write_atomic(copy, data)


def _is_there(desk: Desk, session: str) -> bool:
    try:
        desk.store.read(session)
    except UnknownSessionError:
        return False
    return True


def _not_in_sight(desk: Desk, handoff: Handoff) -> TargetNotFoundError:
    """Refuse where a workflow of ours was to take over and is none from here: nothing would be begun."""
    root = os.path.dirname(os.path.dirname(handoff.target_path))
    return TargetNotFoundError(
        f"the target `{in_quotes(handoff.target)}` is no workflow that can be found from here; "
        f"it was {handoff.target_path}",
        hint=Hint(
            "name its place: ",
            desk.command("handoff receive", handoff.payload, sha256=handoff.digest, root=root),
        ),
        recoverable=True,
        preserved=handoff.payload,
        target_skill=handoff.target,
    )


def _unknown(desk: Desk, handoff: Handoff) -> tuple[Problem, ...]:
    """Return that nobody here has the skill that a payload from elsewhere is for, if so."""
    found = desk.discover()
    if handoff.target in {each.skill for each in found.candidates} | {each.skill for each in found.skipped}:
        return ()
    told = f"is `{in_quotes(handoff.target[:80])}`, no skill that can be found from here: nothing was begun"
    return (Problem("handoff.target.skill", told, severity=WARNING),)


def _changed(path: str, now: str, then: str) -> ValidationFailedError:
    return ValidationFailedError(
        f"{path} is not the payload that was sent: its digest is {now}, that of what was sent {then[:80]}",
        hint="have it sent again",
        preserved=path,
        validation_errors=["the digest of the file differs"],
    )
