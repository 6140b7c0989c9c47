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
from flowrail.machines.engine import dispatched_work as engine_work
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


class _Line(NamedTuple):
    """The turns that led to a revision, as a linked list: a rewind continues from an earlier one."""

    turn: Turn
    before: _Line | None


def script(store: Store, session_id: str) -> Script:
    """Return what a session did; `StorageError` if its journal cannot be read."""
    return _read(store, session_id, MOST_FORKS)


def _read(store: Store, session_id: str, depth: int, *, into: str = "", revision: int = -1) -> Script:
    """Return what a session did, or what it did up to the *revision* at which it was forked *into* another one."""
    definition = _definition(store, session_id)
    names, later = _renamings(store, session_id, into)
    records = _records(store, session_id, into)
    first = next(records, None)
    if first is None:
        raise DamagedError(os.path.join(store.folder(session_id), JOURNAL), 1, "the journal is empty")
    started_at, entry = first.session.started_at, _newest(first.session.step, names)
    line: _Line | None = None
    if first.kind == "fork":
        source = _source(store, first, depth)
        started_at, entry = source.started_at, _newest(source.entry, names)
        for turn in source.turns:
            line = _Line(_renamed(turn, names), line)
    at = {first.session.revision: line}
    begun = last = first.session
    for before, after in pairwise(chain([first], records)):
        last = after.session
        if after.kind in {"move", "limit"}:
            step = definition.get(_newest(before.session.step, [*names, *later]))
            line = _Line(_renamed(_turn(step, begun, before, after), names), line)
        elif after.kind == "rewind":
            line = at.get(int(after.note["to"]))
        if after.kind in {"move", "limit", "rewind"}:
            begun = last
        if _names_in(after):
            names.popleft()
        if last.revision != before.session.revision:
            at[last.revision] = line
    turns = _turns(at.get(revision, line))
    return Script(session_id, first.session.skill, _given(definition, last), entry, turns, started_at)


def _source(store: Store, fork: Record, depth: int) -> Script:
    origin = fork.note["from"]
    assert isinstance(origin, dict)  # noqa: S101 - so a fork is recorded
    if not depth:
        raise StorageError(
            f"session `{fork.session.id}` is a fork of a fork, more than {MOST_FORKS} times",
            hint="record its source instead",
        )
    return _read(store, origin["session"], depth - 1, into=fork.session.id, revision=origin["revision"])


def _turns(line: _Line | None) -> tuple[Turn, ...]:
    found: list[Turn] = []
    while line is not None:
        found.append(line.turn)
        line = line.before
    return tuple(reversed(found))


def _newest(step: str | None, renamings: Iterable[Mapping[str, str]]) -> str | None:
    for names in renamings:
        step = names.get(step, step) if step is not None else None
    return step


def _renamed(turn: Turn, renamings: Iterable[Mapping[str, str]]) -> Turn:
    return turn._replace(step=str(_newest(turn.step, renamings)), to=_newest(turn.to, renamings))


def _given(definition: Workflow, session: Session) -> Mapping[str, object]:
    """Return the parameters of a session that differ from their defaults."""
    declared = definition.params
    return {
        name: value
        for name, value in session.params.items()
        if name not in declared or not declared[name].has_default or declared[name].default != value
    }


def _records(store: Store, session_id: str, into: str) -> Iterator[Record]:
    """Yield the records of a session up to the one that forks it *into* another session."""
    for stored in store.records(session_id):
        if _is_fork(stored, into):
            return
        yield stored.shown


def _renamings(
    store: Store, session_id: str, into: str
) -> tuple[deque[Mapping[str, str]], list[Mapping[str, str]]]:
    """Return the new names of steps, oldest first: those up to that record, and those after it."""
    found, later = deque[Mapping[str, str]](), list[Mapping[str, str]]()
    is_later = False
    for record in store.records(session_id):
        is_later = is_later or _is_fork(record, into)
        if names := _names_in(record):
            (later if is_later else found).append(names)
    return found, later


def _is_fork(record: Record, into: str) -> bool:
    return record.kind == "fork" and bool(into) and record.note.get("into") == into


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


def _turn(step: StepDef | None, begun: Session, before: Record, after: Record) -> Turn:
    """Return the report that *after* records; the session had *begun* so after the report before it."""
    old, new = before.session, after.session
    move = new.last if after.kind == "move" else None
    asked = DONE if step is None or step.decides else str(Outcome.FAIL)
    dispatches = engine_work.recorded_dispatches(old if move is not None else new, after.note)
    known = _resolved(begun)
    return Turn(
        revision=new.revision,
        step=str(old.step),
        report=move.reported if move is not None else asked,
        facts=move.facts if move is not None else _facts_since(step, old, new),
        agents=tuple(_agent_results(dispatches)),
        findings=tuple((finding.severity, finding.text) for finding in old.findings[len(begun.findings) :]),
        resolved=tuple(finding for finding in _resolved(old) if finding not in known),
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


def _resolved(session: Session) -> list[str]:
    return [finding.id for finding in session.findings if not finding.is_open]


def _answered(session: Session) -> Iterator[tuple[str, tuple[str, ...]]]:
    for question in session.questions:
        if question.source == BY_AGENT:
            continue
        if question.answer is not None:
            yield question.id, question.answer
        elif question.default is not None:  # its deadline had passed when the step was reported
            yield question.id, (question.default,)
