"""Which ways on were taken, how often, and which never: of walks, or of sessions that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.machines.definition import Definition, Outcome
from flowrail.machines.ledger import Record
from flowrail.machines.session import Session
from flowrail.machines.store import Store
from flowrail.machines.walks import Walk, Way, possible, ways_of


class Coverage(NamedTuple):
    """How often each way on of a workflow was taken; the ways in the order of the definition."""

    workflow: str
    counts: Mapping[Way, int]

    @property
    def missing(self) -> tuple[Way, ...]:
        """The ways that were never taken."""
        return tuple(way for way, count in self.counts.items() if not count)

    @property
    def taken(self) -> int:
        """How many ways were taken."""
        return sum(bool(count) for count in self.counts.values())


class Life(NamedTuple):
    """What the kept sessions of a workflow tell: ways taken, where they stop, how long steps take."""

    coverage: Coverage
    sessions: int
    statuses: Mapping[str, int]
    stops: Mapping[str, int]
    """How many open or abandoned sessions stand at a step."""
    dwell: Mapping[str, float]
    """The median of seconds between entering and leaving a step."""
    unfailed: tuple[str, ...]
    """Gates that were passed, and never failed."""
    elsewhere: int
    """Moves by ways that the workflow no longer has."""


def of_walks(workflow: Definition, walks: Iterable[Walk]) -> Coverage:
    """Return how often *walks* take each way on."""
    return _counted(workflow, (way for walk in walks for way in walk.ways))


def of_sessions(workflow: Definition, histories: Iterable[Sequence[Record]]) -> Life:
    """Return what sessions tell of *workflow*, each given as its records in order."""
    taken: list[Way] = []
    statuses: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    spans: dict[str, list[float]] = {}
    for records in histories:
        if not records:
            continue
        last = records[-1].session
        statuses[last.status] += 1
        if last.step is not None:
            stops[last.step] += 1
        for before, after in _moves(records):
            taken += _ways(workflow, before, after)
            seconds = _seconds(before.moved_at, after.moved_at)
            if seconds is not None and before.step is not None:
                spans.setdefault(before.step, []).append(seconds)
    covered = _counted(workflow, taken)
    gates = [step.id for step in workflow.steps if step.gate is not None]
    return Life(
        coverage=covered,
        sessions=sum(statuses.values()),
        statuses=dict(statuses),
        stops={step.id: stops[step.id] for step in workflow.steps if stops[step.id]},
        dwell={step.id: round(median(spans[step.id]), 3) for step in workflow.steps if step.id in spans},
        unfailed=tuple(each for each in gates if _passed(covered, each) and not _failed(covered, each)),
        elsewhere=sum(way not in covered.counts for way in taken),
    )


def histories(store: Store, address: str) -> Iterator[list[Record]]:
    """Yield the records of every session of *address* that can be read."""
    stem = address.replace("/", "-") + "-"
    for session_id in store.ids():
        if session_id.startswith(stem):
            try:
                records = list(store.records(session_id))
            except FlowError:
                continue
            if records and records[0].session.skill == address:
                yield records


def as_data(workflow: Definition, covered: Coverage) -> dict[str, Any]:
    """Return coverage as plain data."""
    return {
        "skill": covered.workflow,
        "ways": [
            {"step": step, "outcome": outcome, "to": target(workflow, (step, outcome)), "count": count}
            for (step, outcome), count in covered.counts.items()
        ],
        "taken": covered.taken,
        "total": len(covered.counts),
        "missing": [{"step": step, "outcome": outcome} for step, outcome in covered.missing],
    }


def target(workflow: Definition, way: Way) -> str | None:
    """Return where a way leads by its definition; `None` for the end."""
    step = workflow.get(way[0])
    try:
        return step.way(Outcome(way[1])) if step is not None else None
    except (KeyError, ValueError):
        return None


def _counted(workflow: Definition, taken: Iterable[Way]) -> Coverage:
    counts = Counter(taken)
    return Coverage(workflow.name, {way: counts[way] for way in dict.fromkeys(possible(workflow))})


def _moves(records: Sequence[Record]) -> Iterator[tuple[Session, Session]]:
    for before, after in pairwise(each.session for each in records):
        if after.revision == before.revision + 1:
            yield before, after


def _ways(workflow: Definition, before: Session, after: Session) -> tuple[Way, ...]:
    try:
        return ways_of(before, after, workflow)
    except KeyError:  # a step passed over then is gone now
        move = after.last
        return ((move.step, move.outcome),) if move is not None else ()


def _passed(covered: Coverage, step: str) -> bool:
    return bool(covered.counts.get((step, str(Outcome.OK))))


def _failed(covered: Coverage, step: str) -> bool:
    return bool(covered.counts.get((step, str(Outcome.FAIL))))


def _seconds(before: str, after: str) -> float | None:
    try:
        return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    except (ValueError, TypeError):
        return None
