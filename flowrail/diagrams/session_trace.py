"""Show a session on the picture of its workflow, from the records of its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile

from flowrail.diagrams.extract import end_id
from flowrail.diagrams.model import NodeKind, Picture, Trace, TraceEntry
from flowrail.machines.definition.evidence import tally
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import FAILED, Move, Session
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import shortened

MOST_FACTS, LONGEST_VALUE = 200, 1_000
"""How many facts of a move are shown, and how many characters of each."""
_SHOWN = (
    "dispatch",
    "outcome",
    "questions",
    "answers",
    "finding",
    "claim",
    "missing",
    "check",
    "from",
    "to",
    "at",
    "reason",
)
"""The parts of a note that are shown; tokens and sessions of agents are not."""
_LABELS = {"claim": "claimed", "missing": "lacks evidence:"}
_WITHOUT_NAME = frozenset({"dispatch", "outcome", "finding", "reason"})


def with_trace(picture: Picture, records: Iterable[Record]) -> Picture:
    """Return *picture* with the session of *records*."""
    entries: list[TraceEntry] = []
    seconds: dict[str, float] = {}
    taken: Counter[tuple[str, str]] = Counter()
    claims: dict[str, str] = {}
    entered_at = ""
    last: Session | None = None
    visits: Counter[str] = Counter()
    for stored in records:
        record = stored.shown
        before, last = last.step if last is not None else None, record.session
        move = last.last if record.kind == "move" else None
        entry = _entry(record, move, _seconds(entered_at, record.at) if move else None)
        if not entries or record.kind == "migrate":
            visits = Counter(last.visits)
        elif entry.path:
            visits[entry.path[-1][1]] += 1
        elif last.step is not None and last.step != before:
            visits[last.step] += 1
        entries.append(entry)
        taken.update(entry.path)
        if move and entry.seconds is not None:
            seconds[move.step] = round(seconds.get(move.step, 0.0) + entry.seconds, 3)
        if move and entry.note:
            claims[move.step] = f"claimed {move.outcome}, {entry.note}"
        if not record.seq or record.kind in {"move", "rewind"}:
            entered_at = record.at
    if last is None:
        return picture
    left = _reachable(picture, last.step) if last.is_open and last.step is not None else frozenset[str]()
    current = last.step if last.is_open else None
    trace = Trace(last.id, last.status, current, visits, seconds, taken, left, tuple(entries), claims=claims)
    return picture._replace(trace=trace)


def _entry(record: Record, move: Move | None, seconds: float | None) -> TraceEntry:
    session = record.session
    return TraceEntry(
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
        tuple(_path(move, session.status)) if move else (),
        seconds,
        bool(move and move.capped),
        _facts(move.facts) if move else {},
        tally(move.evidence) if move else _note(record.note),
    )


def _facts(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the first facts, each shortened."""
    return {name: _beginning(value, [LONGEST_VALUE]) for name, value in islice(facts.items(), MOST_FACTS)}


def _beginning(value: object, left: list[int]) -> object:
    """Return the beginning of *value* with about *left* characters; the list counts down."""
    left[0] -= len(value) if isinstance(value, str) else 1
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if isinstance(value, Mapping):
        items = takewhile(lambda _: left[0] > 0, value.items())
        return {str(name): _beginning(item, left) for name, item in items}
    if isinstance(value, list | tuple):
        return [_beginning(item, left) for item in takewhile(lambda _: left[0] > 0, value)]
    return value


def _note(note: Mapping[str, object]) -> str:
    parts = []
    for name in _SHOWN:
        value = note.get(name)
        if value is None:
            continue
        label = _LABELS.get(name, name)
        if isinstance(value, Mapping):
            parts += [f"{key} = {in_words(item)}" for key, item in value.items()]
        elif isinstance(value, list | tuple) and name not in _LABELS:
            parts.append(in_words(value))
        else:
            parts.append(in_words(value) if name in _WITHOUT_NAME else f"{label} {in_words(value)}")
    return shortened("; ".join(parts), 200)


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
    targets: dict[str, list[str]] = {}
    for arrow in picture.arrows:
        targets.setdefault(arrow.source, []).append(arrow.target)
    seen, stack = {current}, [current]
    while stack:
        for target in targets.get(stack.pop(), ()):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return frozenset(seen - {current})


def _seconds(start: str, end: str) -> float | None:
    try:
        begun, ended = datetime.fromisoformat(start), datetime.fromisoformat(end)
        return round(max(0.0, (ended - begun).total_seconds()), 3)
    except (ValueError, TypeError):
        return None
