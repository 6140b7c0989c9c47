"""Show a session on the picture of its workflow, from the records of its journal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from flowrail.diagrams.extract import end_id
from flowrail.diagrams.model import Node, NodeKind, Picture, Trace
from flowrail.machines.definition.evidence import tally
from flowrail.machines.definition.graph import reach
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import FAILED, Move, Session
from flowrail.text.phrases import seconds_between
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened


def with_trace(picture: Picture, records: Iterable[Record]) -> Picture:
    """Return *picture* with the session of *records*, whose values are filled into the titles."""
    visits: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    taken: Counter[tuple[str, str]] = Counter()
    claims: dict[str, str] = {}
    session: Session | None = None
    entered_at = ""
    for stored in records:
        record = stored.shown
        before, session = session, record.session
        move = session.last if record.kind == "move" else None
        if before is None or record.kind == "migrate":
            visits = Counter(session.visits)
        elif move is not None:
            path = list(_path(move, session.status))
            taken.update(path)
            visits[path[-1][1]] += 1
            seconds[move.step] += seconds_between(entered_at, record.at) or 0.0
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
    trace = Trace(
        session.id,
        session.status,
        current,
        visits,
        {step: round(spent, 3) for step, spent in seconds.items()},
        taken,
        left,
        claims=claims,
    )
    nodes = tuple(_titled(node, session) for node in picture.nodes)
    return picture._replace(nodes=nodes, trace=trace)


def _titled(node: Node, session: Session) -> Node:
    """Return *node* with the values of the session in its title."""
    if "$" not in node.title:
        return node
    attempt = {"visit": max(1, session.visits.get(node.id, 0)), "limit": node.limit}
    values = {**session.params, **session.state, **attempt}
    return node._replace(title=shortened(fill(node.title, values)))


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
