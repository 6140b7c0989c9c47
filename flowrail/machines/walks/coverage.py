"""Which transitions walks or stored sessions have taken, how often, and which never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise

from flowrail.machines.next_step import TransitionKey, declared_transitions, followed_transitions
from flowrail.machines.session_record import Record
from flowrail.machines.workflow import Workflow


@dataclass(frozen=True)
class Coverage:
    """How often each transition of a workflow was taken, in the order of the definition."""

    counts: Mapping[TransitionKey, int]

    @property
    def missing(self) -> tuple[TransitionKey, ...]:
        """The transitions that were never taken."""
        return tuple(key for key, count in self.counts.items() if not count)

    @property
    def taken(self) -> int:
        """How many transitions were taken."""
        return sum(bool(count) for count in self.counts.values())


@dataclass(frozen=True)
class SessionCoverage:
    """The sessions of a workflow: the transitions that they took, and where they stop."""

    coverage: Coverage
    statuses: Mapping[str, int]
    stops: Mapping[str, int]
    """How many open or abandoned sessions are at a step."""
    unread: int
    """Sessions that could not be read."""

    @property
    def sessions(self) -> int:
        """How many sessions could be read."""
        return sum(self.statuses.values())


def count(workflow: Workflow, taken: Iterable[TransitionKey]) -> Coverage:
    """Return how often each transition of *workflow* is among those that were *taken*."""
    counts = Counter(taken)
    return Coverage({key: counts[key] for key in dict.fromkeys(declared_transitions(workflow))})


def of_sessions(workflow: Workflow, histories: Iterable[Sequence[Record]]) -> SessionCoverage:
    """Return the coverage of sessions, each given as its records in order, or without any if it is unreadable."""
    listed = list(histories)
    last = [records[-1].session for records in listed if records]
    return SessionCoverage(
        count(workflow, chain.from_iterable(taken_in(workflow, records) for records in listed)),
        Counter(session.status for session in last),
        Counter(session.step for session in last if session.step is not None),
        unread=len(listed) - len(last),
    )


def taken_in(workflow: Workflow, records: Iterable[Record]) -> Iterator[TransitionKey]:
    """Yield the transitions that a session took."""
    for before, after in pairwise(records):
        move, has_moved = after.session.last, after.session.revision > before.session.revision
        if after.kind == "move" and move is not None and has_moved:
            with suppress(KeyError):  # a step was skipped that the workflow no longer has
                yield from followed_transitions(workflow, move)
