"""Which transitions walks or stored sessions have taken, how often, and which never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from flowrail.machines.frozen import Frozen
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.statechart import TransitionKey, declared_transitions
from flowrail.machines.walks.plan import Walk
from flowrail.machines.walks.search import transitions_between
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import seconds_between


class Coverage(NamedTuple):
    """How often each transition of a workflow was taken, in the order of the definition."""

    workflow: str
    counts: Mapping[TransitionKey, int]

    @property
    def missing(self) -> tuple[TransitionKey, ...]:
        """The transitions that were never taken."""
        return tuple(key for key, count in self.counts.items() if not count)

    @property
    def taken(self) -> int:
        """How many transitions were taken."""
        return sum(bool(count) for count in self.counts.values())


class SessionCoverage(NamedTuple):
    """Statistics of the sessions of a workflow: transitions taken, where they stop, how long steps take."""

    coverage: Coverage
    sessions: int
    statuses: Mapping[str, int]
    stops: Mapping[str, int]
    """How many open or abandoned sessions are at a step."""
    dwell: Mapping[str, float]
    """The median of seconds between entering and leaving a step."""
    unread: int
    """Sessions that could not be read."""
    repeated: Mapping[str, int] = Frozen()
    """How many sessions entered a step more than once."""
    refused: Mapping[str, int] = Frozen()
    """How many reports of a step were refused for lack of evidence."""


def of_walks(workflow: Workflow, walks: Iterable[Walk]) -> Coverage:
    """Return how often *walks* take each transition."""
    return _counted(workflow, (transition for walk in walks for transition in walk.transitions))


def of_sessions(workflow: Workflow, histories: Iterable[Sequence[Record]]) -> SessionCoverage:
    """Return the statistics of sessions of *workflow*, each given as its records in order, or without any if unreadable."""
    taken: list[TransitionKey] = []
    statuses, stops, repeated, refusals = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    spans: dict[str, list[float]] = {}
    unread = 0
    for records in histories:
        if not records:
            unread += 1
            continue
        last = records[-1].session
        statuses[last.status] += 1
        transitions = _taken(workflow, records)
        taken += transitions
        entered = Counter(step for step, _ in transitions)
        if last.step is not None:
            stops[last.step] += 1
            entered[last.step] += 1
        repeated.update(step for step, times in entered.items() if times > 1)
        refusals.update(str(record.session.step) for record in records if record.kind == "refused")
        for before, after in pairwise(records):
            seconds = seconds_between(before.session.moved_at, after.session.moved_at)
            if after.kind == "move" and seconds is not None and before.session.step is not None:
                spans.setdefault(before.session.step, []).append(seconds)
    covered = _counted(workflow, taken)
    return SessionCoverage(
        coverage=covered,
        sessions=sum(statuses.values()),
        statuses=dict(statuses),
        stops={step.id: stops[step.id] for step in workflow.steps if stops[step.id]},
        dwell={step.id: round(median(spans[step.id]), 3) for step in workflow.steps if step.id in spans},
        unread=unread,
        repeated=dict(repeated),
        refused=dict(refusals),
    )


def _counted(workflow: Workflow, taken: Iterable[TransitionKey]) -> Coverage:
    counts = Counter(taken)
    return Coverage(
        workflow.name,
        {transition: counts[transition] for transition in dict.fromkeys(declared_transitions(workflow))},
    )


def _taken(workflow: Workflow, records: Sequence[Record]) -> list[TransitionKey]:
    """Return the transitions that a session took."""
    taken: list[TransitionKey] = []
    for after, before in pairwise(reversed(records)):
        if after.kind == "move":
            transitions = _transitions(workflow, before.session, after.session)
            taken += reversed(transitions)
    taken.reverse()
    return taken


def _transitions(workflow: Workflow, before: Session, after: Session) -> tuple[TransitionKey, ...]:
    try:
        return transitions_between(before, after, workflow)
    except KeyError:  # a step that was skipped then is gone now
        move = after.last
        return ((move.step, move.outcome),) if move is not None else ()
