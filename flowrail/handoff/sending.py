"""Handing over: begun, answered again, tried again, called off; judged before the first record."""

from __future__ import annotations

from typing import Any, NamedTuple

from flowrail.command import Hint
from flowrail.discovery.compatibility import compatibility, normal_version
from flowrail.handoff.chain import drawn
from flowrail.handoff.context import Desk
from flowrail.handoff.errors import ClosedError
from flowrail.handoff.handoff import (
    DISCOVERY,
    ENDED,
    FAILED,
    INVOCATION,
    ON_ITS_WAY,
    Handoff,
)
from flowrail.handoff.lifecycle import machine
from flowrail.handoff.payload import integrity
from flowrail.handoff.phases import commit, drafted, go_on
from flowrail.handoff.requesting import Asked, judge_chain, tried_again, wanted_by
from flowrail.handoff.selection import Chosen, choose
from flowrail.handoff.store import HandoffChange
from flowrail.machines.sessions.stored_session import Change as SessionChange

LONGEST_SHOWN = 80
"""Facts that are longer are not written into a command that is shown."""

NOTHING = Asked("", "")
"""A retry as it was, with nothing different."""


class Sent(NamedTuple):
    """A handoff as it stands after sending, whether it is the answer of before, and what to know beside."""

    handoff: Handoff
    replayed: bool = False
    notes: tuple[str, ...] = ()


def send(desk: Desk, asked: Asked) -> Sent:
    """Hand the work of a session to a target: all phases up to the line that invokes it."""
    with desk.store.change(asked.session, wait=desk.wait) as held:
        chosen = choose(desk.discover(), asked.target)
        wanted = wanted_by(desk, asked, held.kept.session, chosen)
        judge_chain(wanted)
        before = _before(desk, wanted)
        if before is None:
            desk.handoffs.create(wanted, kind=DISCOVERY, at=desk.now(), by=desk.by, note=_seen(chosen))
        elif before.phase == INVOCATION:
            return Sent(before, replayed=True)
        handoff_id = wanted.id if before is None else before.id
        with desk.handoffs.change(handoff_id, wait=desk.wait) as change:
            return _taken_on(desk, change, held, asked)


def retry(desk: Desk, handoff_id: str, asked: Asked = NOTHING) -> Sent:
    """Take a handoff that failed, or was interrupted, to its end; *asked* says what is different now."""
    handoff = desk.handoffs.read(handoff_id).handoff
    if handoff.phase == INVOCATION:
        if not _is_late(desk, handoff):
            return Sent(handoff, replayed=True)
        handoff = _expired(desk, handoff_id)
    if handoff.phase in ENDED:
        facts = {name: value for name, value in handoff.facts.items() if _is_short(value)}
        again = desk.command(
            "handoff send", handoff.target, session=handoff.session, facts=facts, root=handoff.root
        )
        raise ClosedError(
            f"handoff `{handoff_id}` is over: {handoff.phase}",
            hint=Hint("send it again: ", again),
            handoff=handoff_id,
            phase=handoff.phase,
        )
    with (
        desk.store.change(handoff.session, wait=desk.wait) as held,
        desk.handoffs.change(handoff_id, wait=desk.wait) as change,
    ):
        return _taken_on(desk, change, held, asked)


def _taken_on(desk: Desk, change: HandoffChange, held: SessionChange, asked: Asked) -> Sent:
    """Take a handoff to its invocation; one that failed is made anew, with what is different now."""
    handoff = change.kept.handoff
    if handoff.phase == FAILED:
        again = tried_again(handoff, asked, choose(desk.discover(), handoff.target))
        judge_chain(again)
        phase = machine.after(FAILED, "retry", lambda _: True)
        ready = drafted(desk, again._replace(phase=phase), held.kept.session)
        commit(desk, change, ready, kind="retry", note={"attempt": ready.attempts + 1})
    return Sent(go_on(desk, change, held), notes=_notes(change.kept.handoff))


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_SHOWN and value.isprintable()


def _is_late(desk: Desk, handoff: Handoff) -> bool:
    return integrity.has_expired(integrity.moment(handoff.expires_at), desk.moment())


def _expired(desk: Desk, handoff_id: str) -> Handoff:
    """Put on record that nobody received it in time, unless somebody did meanwhile."""
    with desk.handoffs.change(handoff_id, wait=desk.wait) as change:
        handoff = change.kept.handoff
        if handoff.phase != INVOCATION:
            return handoff
        phase = machine.after(handoff.phase, "expire", lambda _: _is_late(desk, handoff))
        return commit(desk, change, handoff._replace(phase=phase))


def cancel(desk: Desk, handoff_id: str, reason: str = "") -> Handoff:
    """Call a handoff off; a payload that was written stays, and nobody may receive it any more."""
    with desk.handoffs.change(handoff_id, wait=desk.wait) as change:
        handoff = change.kept.handoff
        if handoff.phase in ENDED:
            raise ClosedError(
                f"handoff `{handoff_id}` is over: {handoff.phase}",
                hint=desk.command("handoff status", handoff_id),
                handoff=handoff_id,
                phase=handoff.phase,
            )
        phase = machine.after(handoff.phase, "cancel", lambda _: True)
        note = {"reason": reason} if reason else {}
        return commit(desk, change, handoff._replace(phase=phase), kind="cancel", note=note)


def _before(desk: Desk, wanted: Handoff) -> Handoff | None:
    """Return the handoff that this very request began before: sent, on its way, or else failed."""
    same = [each for each in desk.handoffs.own_ones() if each.request == wanted.request]
    sent = (each for each in same if each.phase == INVOCATION and not _is_late(desk, each))
    on_its_way = (each for each in same if each.phase in ON_ITS_WAY)
    failed = (each for each in same if each.phase == FAILED)
    return next(iter((*sent, *on_its_way, *failed)), None)


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
