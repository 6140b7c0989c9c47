"""A session laid over the picture of its workflow, from its journal alone: no clock is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any

from flowrail.diagrams.extract import end_id
from flowrail.diagrams.model import Kind, Picture, Stop, Trace, Work
from flowrail.diagrams.words import line
from flowrail.machines.sessions.session import FAILED, Move, Session
from flowrail.storage.journal import Record

MOST_FACTS, LONGEST_VALUE = 200, 1_000
"""So many facts of a move are kept, and so much of each; less than that of one is told."""
_PLAIN = frozenset({"dispatch", "outcome", "finding", "reason"})
_TOLD = ("dispatch", "outcome", "questions", "answers", "finding", "from", "to", "at", "reason")
"""What of a note is told."""


def with_trace(picture: Picture, records: Iterable[Record]) -> Picture:
    """Return *picture* with what the *records* of a session tell."""
    stops: list[Stop] = []
    seconds: dict[str, float] = {}
    taken: Counter[tuple[str, str]] = Counter()
    work: dict[str, tuple[Work, ...]] = {}
    since = ""
    nodes = {node.id for node in picture.nodes}
    last: Session | None = None
    visits: Counter[str] = Counter()
    for record in records:
        before, last = last.step if last is not None else None, record.session
        move = last.last if record.kind == "move" else None
        stop = _stop(record, move, _seconds(since, record.at) if move else None)
        if not stops or record.kind == "migrate":
            stop = stop._replace(begun={step: last.visits[step] for step in nodes & last.visits.keys()})
            visits = Counter(last.visits)
        elif stop.way:
            visits[stop.way[-1][1]] += 1
        elif last.step is not None and last.step != before:
            visits[last.step] += 1
        stops.append(stop)
        taken.update(stop.way)
        if record.session.step is not None and record.session.dispatches:
            work[record.session.step] = tuple(_work(each) for each in record.session.dispatches)
        if move and stop.seconds is not None:
            seconds[move.step] = round(seconds.get(move.step, 0.0) + stop.seconds, 3)
        since = record.at if not record.seq or record.kind in {"move", "rewind"} else since
    if last is None:
        return picture
    left = _ahead(picture, last.step) if last.is_open and last.step is not None else frozenset[str]()
    current = last.step if last.is_open else None
    trace = Trace(last.id, last.status, current, visits, seconds, taken, left, tuple(stops), work=work)
    return picture._replace(trace=trace)


def with_phases(picture: Picture, name: str, entries: Iterable[tuple[int, str, str, str, str]]) -> Picture:
    """Return the *picture* of a machine with the way that one thing took through it.

    Of each entry: its number, what happened, when, by whom, and the state after it.
    """
    visits: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    seconds: dict[str, float] = {}
    stops: list[Stop] = []
    before, since = "", ""
    for seq, event, at, by, now in entries:
        moved = bool(before) and now != before
        spent = _seconds(since, at) if moved else None
        if spent is not None:
            seconds[before] = round(seconds.get(before, 0.0) + spent, 3)
        if now != before:
            visits[now] += 1
            taken.update([(before, now)] if moved else [])
            since = at
        way = ((before, now),) if moved else ()
        stops.append(Stop(seq, event, at, by, seq, before or None, event, event, now, now, way, spent))
        before = now
    over = next((node.title for node in picture.nodes if node.id == before and not node.is_step), None)
    left = frozenset[str]() if over else _ahead(picture, before)
    trace = Trace(name, over or "open", None if over else before, visits, seconds, taken, left, tuple(stops))
    return picture._replace(trace=trace)


def _stop(record: Record, move: Move | None, seconds: float | None) -> Stop:
    session = record.session
    return Stop(
        record.seq,
        record.kind,
        record.at,
        record.by,
        session.revision,
        move.step if move else session.step,
        move.reported if move else None,
        move.outcome if move else None,
        session.step,
        session.status,
        tuple(_way(move, session.status)) if move else (),
        seconds,
        bool(move and move.capped),
        _shortly(move.facts) if move else {},
        _besides(record.note) if not move else "",
    )


def _shortly(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return *facts* as far as a picture can tell of them: the beginning of each."""
    return {name: _beginning(value, [LONGEST_VALUE]) for name, value in islice(facts.items(), MOST_FACTS)}


def _beginning(value: Any, left: list[int]) -> Any:
    """Return the part of *value* that is told in so many characters as there are *left*."""
    left[0] -= len(value) if isinstance(value, str) else 1
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if isinstance(value, Mapping):
        items = takewhile(lambda _: left[0] > 0, value.items())
        return {str(name): _beginning(each, left) for name, each in items}
    if isinstance(value, list | tuple):
        return [_beginning(each, left) for each in takewhile(lambda _: left[0] > 0, value)]
    return value


def _besides(note: Mapping[str, Any]) -> str:
    """Return what a note tells; tokens and sessions of agents stay in the journal."""
    told = []
    for name in _TOLD:
        value = note.get(name)
        if isinstance(value, Mapping):
            told += [f"{key} = {each}" for key, each in value.items()]
        elif isinstance(value, list | tuple):
            told.append(", ".join(map(str, value)))
        elif value is not None:
            told.append(str(value) if name in _PLAIN else f"{name} {value}")
    return line("; ".join(told), 200)


def _work(dispatch: Mapping[str, Any]) -> Work:
    item = dispatch.get("item")
    outcome, run = dispatch.get("outcome"), dispatch.get("workflow")
    return Work(
        line(str(dispatch.get("id")), 40),
        line(str(dispatch.get("agent")), 60),
        line(str(run), 80) if run else None,
        line(str(item), 80) if item is not None else "",
        line(str(dispatch.get("status")), 20),
        str(outcome) if outcome else None,
    )


def _way(move: Move, status: str) -> Iterator[tuple[str, str]]:
    """Yield the arrows that a move went along, by the steps that it passed over."""
    here = move.step
    for each in move.passed:
        yield here, each
        here = each
    if move.to is not None:
        yield here, move.to
    else:
        yield here, end_id(here, Kind.FAILED if status == FAILED else Kind.COMPLETED)


def _ahead(picture: Picture, current: str) -> frozenset[str]:
    after: dict[str, list[str]] = {}
    for arrow in picture.arrows:
        after.setdefault(arrow.source, []).append(arrow.target)
    seen, stack = {current}, [current]
    while stack:
        for target in after.get(stack.pop(), ()):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return frozenset(seen - {current})


def _seconds(start: str, end: str) -> float | None:
    from datetime import datetime

    try:
        begun, ended = datetime.fromisoformat(start), datetime.fromisoformat(end)
        return round(max(0.0, (ended - begun).total_seconds()), 3)
    except (ValueError, TypeError):
        return None
