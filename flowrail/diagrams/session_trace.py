"""The picture of a session on its workflow, from the records of its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from flowrail.diagrams.extract import START, picture
from flowrail.diagrams.model import Node, Picture, ShownSession
from flowrail.machines.evidence_results import tally
from flowrail.machines.graph import reach
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.walks.coverage import taken_in
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import duration, seconds_between, times
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened


def session_picture(workflow: Workflow, records: Iterable[Record]) -> Picture:
    """Return the picture of *workflow* with the session of *records*, whose values are filled into the titles."""
    listed = list(records)
    plain = picture(workflow)
    if not listed:
        return plain
    session = listed[-1].session
    entered = Counter(listed[0].session.visits)
    seconds: dict[str, float] = {}
    claims: dict[str, str] = {}
    entered_at = listed[0].at
    for before, after in pairwise(listed):
        if after.session.revision == before.session.revision:
            continue
        entered.update([after.session.step] if after.session.step is not None else ())
        move = after.session.last
        if move is not None and after.kind == "move":
            spent = seconds_between(entered_at, after.at) or 0.0
            seconds[move.step] = round(seconds.get(move.step, 0.0) + spent, 3)
            if checked := tally(move.evidence):
                claims[move.step] = f"claimed {move.outcome}, {checked}"
        entered_at = after.at
    taken = Counter(taken_in(workflow, listed))
    arrows = tuple(
        replace(arrow, taken=sum(taken[arrow.source, outcome] for outcome in arrow.every) or None)
        if arrow.source != START
        else replace(arrow, taken=1)
        for arrow in plain.arrows
    )
    current = session.step if session.is_open else None
    after_each: dict[str, list[str]] = {}
    for arrow in arrows:
        after_each.setdefault(arrow.source, []).append(arrow.target)
    left = reach([current], after_each) if current is not None else set()
    done = {START, *entered, *(arrow.target for arrow in arrows if arrow.taken and ":" in arrow.target)}
    states: dict[str | None, str] = {
        **dict.fromkeys(left, "left"),
        **dict.fromkeys(done, "done"),
        current: "here",
    }
    nodes = tuple(
        _shown(
            replace(
                node,
                title=_filled(node, session),
                state=states.get(node.id, "off"),
                entered=entered[node.id],
                seconds=seconds.get(node.id),
            ),
            claims.get(node.id),
        )
        for node in plain.nodes
    )
    shown = ShownSession(session.id, session.status, current)
    return replace(plain, nodes=nodes, arrows=arrows, session=shown)


def _shown(node: Node, claim: str | None) -> Node:
    """Return a node with notes about how often it was entered, and about its last claim."""
    if not node.entered:
        return node
    spent = "" if node.seconds is None else f", {duration(node.seconds)}"
    note = f"{'here now, ' if node.state == 'here' else ''}entered {times(node.entered)}{spent}"
    return replace(node, notes=(*node.notes, note, *([claim] if claim else ())))


def _filled(node: Node, session: Session) -> str:
    """Return the title of *node* with the values of the session."""
    if "$" not in node.title:
        return node.title
    attempt = {"visit": max(1, session.visits.get(node.id, 0)), "limit": node.limit}
    return shortened(fill(node.title, {**session.params, **session.state, **attempt}))
