"""A kept session as a script: what was given, done and reported turn by turn, and where each led.

Read from the journal alone. What was gone back from is left out, a fork begins with what its source did,
and steps that were renamed since stand under the names that they were given.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from flowrail.errors import StorageError
from flowrail.machines.definition.frozen import Frozen
from flowrail.machines.definition.serialization import from_plain
from flowrail.machines.definition.step import DONE, Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import agents as engine_agents
from flowrail.machines.engine import questions, reviews
from flowrail.machines.engine.agents import Dispatched
from flowrail.machines.sessions.attachments import loader
from flowrail.machines.sessions.journal import JOURNAL
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.strangers import StrangeError, check_record
from flowrail.storage import journal
from flowrail.storage.journal import DamagedError, Record
from flowrail.testing.record.room import Room

MOST_FORKS = 50
NOT_BACK = ""
"""What stands for an agent that had not come back when its step was reported."""


class Turn(NamedTuple):
    """One report with all that went before it at its step, and where the session stood afterwards.

    ``agents`` has a word for each piece of work; ``findings`` are severity and text, ``resolved`` the ids of
    those taken back; ``answers`` have the words of each answer. ``moved`` is false where a limit asked.
    """

    revision: int
    step: str
    report: str
    facts: Mapping[str, Any] = Frozen()
    agents: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    resolved: tuple[str, ...] = ()
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    to: str | None = None
    status: str = ""
    moved: bool = True


class Script(NamedTuple):
    """A session from its start to where it stands now."""

    session: str
    skill: str
    params: Mapping[str, Any]
    entry: str | None
    turns: tuple[Turn, ...]
    started_at: str = ""


def script(store: Store, session_id: str) -> Script:
    """Return what a session did; refused where its journal cannot be read."""
    line = _Line(_definition(store, session_id), _renames(store.records(session_id)), Room(session_id))
    records = _records(store, session_id)
    first = last = next(records)
    began, entry = _begin(store, first, line, MOST_FORKS)
    for before, last in pairwise(chain([first], records)):
        line.take(before, last)
    given = _given(line.definition, last.session)
    return Script(session_id, first.session.skill, given, line.today(entry), line.turns(line.newest), began)


class _Done(NamedTuple):
    """One turn, the one before it, and what is known of all up to it; ``named`` counts the renamings before it."""

    turn: Turn
    before: _Done | None
    findings: int
    earlier: _Done | None
    """The nearest turn before this one in which findings were resolved."""
    named: int

    @property
    def resolved(self) -> _Done | None:
        """The nearest turn, from this one back, in which findings were resolved."""
        return self if self.turn.resolved else self.earlier


class _Line:
    """The turns that led to where a session stands, and those that led to each of its revisions.

    Each turn knows the one before it, so that a revision costs no more than a place in that line.
    ``names`` are the renamings that are still to come.
    """

    def __init__(self, definition: Workflow, names: Sequence[Mapping[str, str]], room: Room) -> None:
        self.definition = definition
        self.room = room
        self.newest: _Done | None = None
        self.at: dict[int, _Done | None] = {}
        self._to_come = deque(names)
        self._done: list[Mapping[str, str]] = []

    def turns(self, place: _Done | None) -> tuple[Turn, ...]:
        """Return the turns up to *place* in order, their steps under the names that they were given since."""
        found: list[Turn] = []
        names: dict[str, str] = {}
        named = len(self._done)
        while place is not None:
            while named > place.named:
                named -= 1
                names.update(_before(names, self._done[named]))
            found.append(_renamed(place.turn, names) if names else place.turn)
            place = place.before
        return tuple(reversed(found))

    def take(self, before: Record, after: Record) -> None:
        """Take note of one record."""
        if after.kind in {"move", "limit"}:
            step = self.definition.get(self._at_last(before.session.step))
            turn = _turn(step, before, after, self.newest)
            self.room.take([turn.facts, turn.agents, turn.findings, turn.resolved, turn.answers])
            self.add(turn)
        elif after.kind == "rewind":
            self.newest = self.at.get(int(after.note["to"]))
        self.rename(after)
        if after.session.revision != before.session.revision:
            self.at[after.session.revision] = self.newest

    def add(self, turn: Turn) -> None:
        """Go on by one turn."""
        last = self.newest
        found = len(turn.findings) + (last.findings if last is not None else 0)
        self.newest = _Done(turn, last, found, last.resolved if last is not None else None, len(self._done))

    def rename(self, record: Record) -> None:
        """Give the steps so far the names of a migration, if the record is one."""
        names = _names_in(record)
        if names:
            self._done.append(names)
            if self._to_come:
                self._to_come.popleft()

    def today(self, step: str | None) -> str | None:
        """Return the name that the first step has now."""
        return _after(step, self._done)

    def _at_last(self, step: str | None) -> str | None:
        return _after(step, self._to_come)


def _after(step: str | None, renamings: Iterable[Mapping[str, str]]) -> str | None:
    for names in renamings:
        step = names.get(step, step) if step is not None else None
    return step


def _before(later: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return what *names*, and then all that came *later*, make of each name in *names*."""
    return {old: later.get(new, new) for old, new in names.items()}


def _begin(store: Store, first: Record, line: _Line, depth: int) -> tuple[str, str | None]:
    """Put into *line* what was before a session's first record: for a fork, the turns of its source.

    Return when it all began, and at which step.
    """
    session = first.session
    line.at[session.revision] = line.newest
    if first.kind != "fork":
        return session.started_at, session.step
    source, revision = str(first.note["from"]["session"]), int(first.note["from"]["revision"])
    if not depth:
        raise StorageError(f"`{session.id}` is a fork of forks without end", hint="record its source instead")
    above = _Line(_definition(store, source), _renames(store.records(source)), line.room)
    records = _records(store, source)
    start = next(records)
    began, entry = _begin(store, start, above, depth - 1)
    there = start.session.revision == revision
    for before, after in pairwise(chain([start], records)):
        if after.kind == "fork" and after.note.get("into") == session.id:
            break
        if there:
            above.rename(after)
        else:
            above.take(before, after)
            there = after.session.revision == revision
    for turn in above.turns(above.at.get(revision, above.newest)):
        line.add(turn)
    line.at[session.revision] = line.newest
    return began, above.today(entry)


def _given(definition: Workflow, session: Session) -> Mapping[str, Any]:
    """Return the parameters of a session that are not what they would have been without being given."""
    declared = definition.params
    return {
        name: value
        for name, value in session.params.items()
        if name not in declared or not declared[name].has_default or declared[name].default != value
    }


def _records(store: Store, session_id: str) -> Iterator[Record]:
    """Yield the records of a session with their long texts, each text read once; there is at least one."""
    path = os.path.join(store.folder(session_id), JOURNAL)
    load = loader(store.folder(session_id))
    number = 0
    for number, short in enumerate(store.records(session_id), start=1):
        record = journal.whole(short, load, path)
        try:
            check_record(record)
        except StrangeError as error:
            raise DamagedError(path, number, f"the record is of another form: {error}") from None
        yield record
    if not number:
        raise DamagedError(path, 1, "there is no record")


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
            f"what session `{session_id}` keeps of its workflow is damaged",
            hint=f"`flow migrate {session_id}` writes it anew",
            session=session_id,
        ) from None


def _turn(step: StepDef | None, before: Record, after: Record, earlier: _Done | None) -> Turn:
    was, now = before.session, after.session
    move = now.last if after.kind == "move" else None
    asked = DONE if step is None or step.decides else str(Outcome.FAIL)
    return Turn(
        revision=now.revision,
        step=str(was.step),
        report=move.reported if move is not None else asked,
        facts=move.facts if move is not None else _facts_since(step, was, now),
        agents=tuple(_came_back(_dispatched(was if move is not None else now, after.note))),
        findings=tuple(_found(was, earlier)),
        resolved=tuple(_taken_back(was, earlier)),
        answers=tuple(_answered(was)),
        to=now.step,
        status=now.status,
        moved=move is not None,
    )


def _facts_since(step: StepDef | None, was: Session, now: Session) -> Mapping[str, Any]:
    """Return the facts of a report that raised a question: those of its step, as they are since then."""
    changed = {name for name, value in now.state.items() if name not in was.state or was.state[name] != value}
    declared = set(step.reports) if step is not None else set()
    known = declared | changed if step is None or callable(step.handler) else declared
    return {name: value for name, value in now.state.items() if name in known}


def _dispatched(session: Session, note: Mapping[str, Any]) -> tuple[Dispatched, ...]:
    told = note.get("dispatches")
    return engine_agents.states(session._replace(dispatches=tuple(told)) if told else session)


def _came_back(dispatches: Sequence[Dispatched]) -> Iterator[str]:
    for each in dispatches:
        if each.status == engine_agents.CANCELLED:
            yield engine_agents.CANCELLED
        else:
            yield str(each.outcome) if each.status == engine_agents.DONE else NOT_BACK


def _found(was: Session, earlier: _Done | None) -> Iterator[tuple[str, str]]:
    known = earlier.findings if earlier is not None else 0
    yield from ((each.severity, each.text) for each in reviews.findings(was)[known:])


def _taken_back(was: Session, earlier: _Done | None) -> Iterator[str]:
    closed = [each.id for each in reviews.findings(was) if not each.is_open]
    known: set[str] = set()
    place = earlier.resolved if closed and earlier is not None else None
    while place is not None:
        known.update(place.turn.resolved)
        place = place.earlier
    yield from (each for each in closed if each not in known)


def _answered(was: Session) -> Iterator[tuple[str, tuple[str, ...]]]:
    for each in questions.asked(was):
        if each.source == questions.BY_AGENT:
            continue
        if each.answer is not None:
            yield each.id, each.answer
        elif each.default is not None:  # its deadline had passed when the step was reported
            yield each.id, (each.default,)


def _renamed(turn: Turn, names: Mapping[str, str]) -> Turn:
    to = names.get(turn.to, turn.to) if turn.to is not None else None
    return turn._replace(step=names.get(turn.step, turn.step), to=to)
