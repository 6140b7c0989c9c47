"""Show a session on the picture of its workflow, from the records of its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flowrail.diagrams.extract import START, end_id
from flowrail.diagrams.model import Node, NodeKind, Picture, ShownSession
from flowrail.machines.evidence_results import tally
from flowrail.machines.graph import reach
from flowrail.machines.session import FAILED, Move, Session
from flowrail.machines.session_record import Record
from flowrail.text.phrases import duration, seconds_between, times
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened


def with_trace(picture: Picture, records: Iterable[Record]) -> Picture:
    """Return *picture* with the session of *records*, whose values are filled into the titles."""
    visits: Counter[str] = Counter()
    seconds: dict[str, float] = {}
    taken: Counter[tuple[str, str]] = Counter()
    claims: dict[str, str] = {}
    session: Session | None = None
    entered_at = ""
    for stored in records:
        record = stored
        before, session = session, record.session
        move = session.last if record.kind == "move" else None
        if before is None or record.kind == "migrate":
            visits = Counter(session.visits)
        elif move is not None:
            path = list(_path(move, session.status))
            taken.update(path)
            visits[path[-1][1]] += 1
            spent = seconds_between(entered_at, record.at) or 0.0
            seconds[move.step] = round(seconds.get(move.step, 0.0) + spent, 3)
            if checked := tally(move.evidence):
                claims[move.step] = f"claimed {move.outcome}, {checked}"
        elif session.step is not None and session.step != before.step:
            visits[session.step] += 1
        if not record.seq or record.kind in {"move", "rewind"}:
            entered_at = record.at
    if session is None:
        return picture
    current = session.step if session.is_open else None
    left = _reachable(picture, current) if current is not None else frozenset[str]()
    nodes = tuple(
        _shown(
            replace(
                node,
                title=_filled(node, session),
                entered=visits.get(node.id, 0),
                seconds=seconds.get(node.id),
            ),
            current,
            left,
            claims.get(node.id),
        )
        for node in picture.nodes
    )
    arrows = (
        replace(arrow, taken=1 if arrow.source == START else taken.get((arrow.source, arrow.target)))
        for arrow in picture.arrows
    )
    shown = ShownSession(session.id, session.status, current)
    return replace(picture, nodes=nodes, arrows=tuple(arrows), session=shown)


def _shown(node: Node, current: str | None, left: frozenset[str], claim: str | None) -> Node:
    """Return *node* with its state and, if it was entered, with notes about that and about its last claim."""
    if node.id == current:
        state = "here"
    elif node.entered or node.kind is NodeKind.START:
        state = "done"
    else:
        state = "left" if node.id in left else "off"
    if not node.entered or not node.is_step:
        return replace(node, state=state)
    spent = "" if node.seconds is None else f", {duration(node.seconds)}"
    note = f"{'here now, ' if state == 'here' else ''}entered {times(node.entered)}{spent}"
    return replace(node, state=state, notes=(*node.notes, note, *([claim] if claim else ())))


def _filled(node: Node, session: Session) -> str:
    """Return the title of *node* with the values of the session."""
    if "$" not in node.title:
        return node.title
    attempt = {"visit": max(1, session.visits.get(node.id, 0)), "limit": node.limit}
    return shortened(fill(node.title, {**session.params, **session.state, **attempt}))


def _path(move: Move, status: str) -> Iterator[tuple[str, str]]:
    """Yield the arrows of a move, through the steps that it skipped."""
    source = move.step
    for skipped in move.skipped:
        yield source, skipped
        source = skipped
    if move.to is not None:
        yield source, move.to
    else:
        yield source, end_id(source, NodeKind.FAILED if status == FAILED else NodeKind.COMPLETED)


def _reachable(picture: Picture, current: str) -> frozenset[str]:
    """Return the nodes that can be reached from the current step, without the step itself."""
    targets: dict[str, list[str]] = {}
    for arrow in picture.arrows:
        targets.setdefault(arrow.source, []).append(arrow.target)
    return frozenset(reach([current], targets) - {current})
