"""Read a session's journal as a script: its parameters, and every report with where it led.

Reports that were rewound are left out. A fork begins with the reports of its source. Steps that a migration
renamed have their newest name.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import DONE, Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow, from_plain
from flowrail.machines.engine import agents as engine_agents
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import BY_AGENT, CANCELLED, FINISHED, Dispatched, Session
from flowrail.machines.sessions.store import Store
from flowrail.storage.file_store import JOURNAL
from flowrail.storage.journal import DamagedError

MOST_FORKS = 50
NOT_FINISHED = ""
"""The result of an agent that had not finished when its step was reported."""


class Turn(NamedTuple):
    """One report, what happened at its step before it, and where the session was afterwards.

    ``agents`` has a result for each dispatch. ``findings`` are pairs of severity and text, ``resolved`` the ids
    of resolved findings. ``moved`` is false if a limit asked the user instead.
    """

    revision: int
    step: str
    report: str
    facts: Mapping[str, object] = Frozen()
    agents: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    resolved: tuple[str, ...] = ()
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    to: str | None = None
    status: str = ""
    moved: bool = True


class Script(NamedTuple):
    """A session from its start to its newest record."""

    session: str
    skill: str
    params: Mapping[str, object]
    entry: str | None
    turns: tuple[Turn, ...]
    started_at: str = ""


def script(store: Store, session_id: str) -> Script:
    """Return what a session did; `StorageError` if its journal cannot be read."""
    history = _History(_definition(store, session_id), _renames(store.records(session_id)))
    records = _records(store, session_id)
    first = last = next(records)
    started_at, entry = _begin(store, first, history, MOST_FORKS)
    for before, last in pairwise(chain([first], records)):
        history.read(before, last)
    return Script(
        session_id,
        first.session.skill,
        _given(history.definition, last.session),
        history.newest_name(entry),
        history.turns(history.newest),
        started_at,
    )


class _LinkedTurn(NamedTuple):
    """A turn, the turn before it, and how many findings and renamings there are up to it."""

    turn: Turn
    before: _LinkedTurn | None
    findings: int
    earlier: _LinkedTurn | None
    """The nearest turn before this one in which findings were resolved."""
    renamings: int

    @property
    def resolved(self) -> _LinkedTurn | None:
        """The nearest turn, from this one back, in which findings were resolved."""
        return self if self.turn.resolved else self.earlier


class _History:
    """The turns of a session, as a linked list per revision, because a rewind continues from an earlier one.

    ``renamings`` are those of the whole journal, oldest first.
    """

    def __init__(self, definition: Workflow, renamings: Sequence[Mapping[str, str]]) -> None:
        self.definition = definition
        self.newest: _LinkedTurn | None = None
        self.at: dict[int, _LinkedTurn | None] = {}
        self._to_come = deque(renamings)
        self._done: list[Mapping[str, str]] = []

    def turns(self, last: _LinkedTurn | None) -> tuple[Turn, ...]:
        """Return the turns up to *last* in order, with the newest names of their steps."""
        found: list[Turn] = []
        names: dict[str, str] = {}
        renamings = len(self._done)
        while last is not None:
            while renamings > last.renamings:
                renamings -= 1
                names.update(_before(names, self._done[renamings]))
            found.append(_renamed(last.turn, names) if names else last.turn)
            last = last.before
        return tuple(reversed(found))

    def read(self, before: Record, after: Record) -> None:
        """Add what the record *after* did."""
        if after.kind in {"move", "limit"}:
            step = self.definition.get(_after(before.session.step, self._to_come))
            self.add(_turn(step, before, after, self.newest))
        elif after.kind == "rewind":
            self.newest = self.at.get(int(after.note["to"]))
        self.rename(after)
        if after.session.revision != before.session.revision:
            self.at[after.session.revision] = self.newest

    def add(self, turn: Turn) -> None:
        """Append one turn."""
        last = self.newest
        findings = len(turn.findings) + (last.findings if last is not None else 0)
        resolved = last.resolved if last is not None else None
        self.newest = _LinkedTurn(turn, last, findings, resolved, len(self._done))

    def rename(self, record: Record) -> None:
        """Apply the new names of a migration, if the record is one."""
        names = _names_in(record)
        if names:
            self._done.append(names)
            if self._to_come:
                self._to_come.popleft()

    def newest_name(self, step: str | None) -> str | None:
        """Return the newest name of a step."""
        return _after(step, self._done)


def _after(step: str | None, renamings: Iterable[Mapping[str, str]]) -> str | None:
    for names in renamings:
        step = names.get(step, step) if step is not None else None
    return step


def _before(later: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each step in *names* after the *later* renamings."""
    return {old: later.get(new, new) for old, new in names.items()}


def _begin(store: Store, first: Record, history: _History, depth: int) -> tuple[str, str | None]:
    """Add the turns of its source to the *history* of a fork; return when the session began, and at which step."""
    session = first.session
    history.at[session.revision] = history.newest
    if first.kind != "fork":
        return session.started_at, session.step
    origin = first.note["from"]
    assert isinstance(origin, dict)  # noqa: S101 - so a fork is recorded
    source, revision = origin["session"], origin["revision"]
    if not depth:
        raise StorageError(
            f"session `{session.id}` is a fork of a fork, more than {MOST_FORKS} times",
            hint="record its source instead",
        )
    source_history = _History(_definition(store, source), _renames(store.records(source)))
    records = _records(store, source)
    start = next(records)
    started_at, entry = _begin(store, start, source_history, depth - 1)
    reached = start.session.revision == revision
    for before, after in pairwise(chain([start], records)):
        if after.kind == "fork" and after.note.get("into") == session.id:
            break
        if reached:
            source_history.rename(after)
        else:
            source_history.read(before, after)
            reached = after.session.revision == revision
    for turn in source_history.turns(source_history.at.get(revision, source_history.newest)):
        history.add(turn)
    history.at[session.revision] = history.newest
    return started_at, source_history.newest_name(entry)


def _given(definition: Workflow, session: Session) -> Mapping[str, object]:
    """Return the parameters of a session that differ from their defaults."""
    declared = definition.params
    return {
        name: value
        for name, value in session.params.items()
        if name not in declared or not declared[name].has_default or declared[name].default != value
    }


def _records(store: Store, session_id: str) -> Iterator[Record]:
    """Yield the records of a session; there is at least one."""
    record: Record | None = None
    for stored in store.records(session_id):
        record = stored.shown
        yield record
    if record is None:
        raise DamagedError(os.path.join(store.folder(session_id), JOURNAL), 1, "there is no record")


def _renames(records: Iterable[Record]) -> list[Mapping[str, str]]:
    return [names for names in map(_names_in, records) if names]


def _names_in(record: Record) -> Mapping[str, str]:
    """Return the names that a migration gave to steps."""
    return (record.note.get("renamed") or {}) if record.kind == "migrate" else {}


def _definition(store: Store, session_id: str) -> Workflow:
    try:
        return from_plain(store.definition(session_id)["workflow"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StorageError(
            f"the stored workflow of session `{session_id}` is damaged",
            hint=Hint("write it again: ", Command("session migrate", session_id)),
            session=session_id,
        ) from None


def _turn(step: StepDef | None, before: Record, after: Record, earlier: _LinkedTurn | None) -> Turn:
    old, new = before.session, after.session
    move = new.last if after.kind == "move" else None
    asked = DONE if step is None or step.decides else str(Outcome.FAIL)
    return Turn(
        revision=new.revision,
        step=str(old.step),
        report=move.reported if move is not None else asked,
        facts=move.facts if move is not None else _facts_since(step, old, new),
        agents=tuple(
            _agent_results(engine_agents.recorded_dispatches(old if move is not None else new, after.note))
        ),
        findings=tuple(_found(old, earlier)),
        resolved=tuple(_resolved(old, earlier)),
        answers=tuple(_answered(old)),
        to=new.step,
        status=new.status,
        moved=move is not None,
    )


def _facts_since(step: StepDef | None, old: Session, new: Session) -> Mapping[str, object]:
    """Return the facts of a report after which a limit asked the user: no move records them."""
    changed = {name for name, value in new.state.items() if name not in old.state or old.state[name] != value}
    declared = set(step.reports) if step is not None else set()
    known = declared | changed if step is None or callable(step.handler) else declared
    return {name: value for name, value in new.state.items() if name in known}


def _agent_results(dispatches: Sequence[Dispatched]) -> Iterator[str]:
    for dispatch in dispatches:
        if dispatch.status == CANCELLED:
            yield CANCELLED
        else:
            yield str(dispatch.outcome) if dispatch.status == FINISHED else NOT_FINISHED


def _found(session: Session, earlier: _LinkedTurn | None) -> Iterator[tuple[str, str]]:
    known = earlier.findings if earlier is not None else 0
    yield from ((finding.severity, finding.text) for finding in session.findings[known:])


def _resolved(session: Session, earlier: _LinkedTurn | None) -> Iterator[str]:
    closed = [finding.id for finding in session.findings if not finding.is_open]
    known: set[str] = set()
    linked = earlier.resolved if closed and earlier is not None else None
    while linked is not None:
        known.update(linked.turn.resolved)
        linked = linked.earlier
    yield from (finding for finding in closed if finding not in known)


def _answered(session: Session) -> Iterator[tuple[str, tuple[str, ...]]]:
    for question in session.questions:
        if question.source == BY_AGENT:
            continue
        if question.answer is not None:
            yield question.id, question.answer
        elif question.default is not None:  # its deadline had passed when the step was reported
            yield question.id, (question.default,)


def _renamed(turn: Turn, names: Mapping[str, str]) -> Turn:
    to = names.get(turn.to, turn.to) if turn.to is not None else None
    return turn._replace(step=names.get(turn.step, turn.step), to=to)
