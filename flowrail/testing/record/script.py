"""Read a session's journal as a script: its parameters, and every report with the step that it led to.

Reports that were rewound are left out. A fork begins with the reports of its source. Steps that a migration
renamed have their newest name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flowrail.machines.definition.step import DONE, Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.actions import Act
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import BY_AGENT, CANCELLED, FINISHED, Dispatched, Session
from flowrail.machines.sessions.store import Store
from flowrail.storage.records import from_plain as structured


class Turn(NamedTuple):
    """One report with the actions at its step before it, and the next step of the session.

    ``moved`` is false if a limit asked the user instead.
    """

    step: str
    act: Act
    to: str | None = None
    status: str = ""
    moved: bool = True
    revision: int = 0


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


def script(store: Store, session_id: str, *, into: str = "", revision: int | None = None) -> Script:
    """Return the script of a session, or up to the *revision* at which it was forked *into* another one.

    Raises `StorageError` if its journal cannot be read.
    """
    definition = store.workflow(session_id)
    records = [record.shown for record in store.records(session_id)]
    forks = (index for index, record in enumerate(records) if into and record.note.get("into") == into)
    names = _StepNames(records, next(forks, len(records)))
    step_start = last = records[0].session
    source = _source(store, records[0])
    line: _Line | None = None
    for turn in source.turns:
        line = _Line(names.renamed(turn, 0), line)
    line_at = {step_start.revision: line}
    for index, (before, after) in enumerate(pairwise(records[: names.end]), start=1):
        last = after.session
        if after.kind in {"move", "limit"}:
            step = definition.get(names.newest(before.session.step, index, len(records)))
            line = _Line(names.renamed(_turn(step, step_start, before, after), index), line)
        elif after.kind == "rewind":
            line = line_at.get(int(after.note["to"]))
        if after.kind in {"move", "limit", "rewind"}:
            step_start = last
        if last.revision != before.session.revision:
            line_at[last.revision] = line
    turns = _turns(line if revision is None else line_at.get(revision, line))
    entry, params = names.newest(source.entry, 0), _changed_params(definition, last)
    return Script(session_id, last.skill, params, entry, turns, source.started_at)


def _source(store: Store, first: Record) -> Script:
    """Return the script before the *first* record of a session: the moves of the session that it was forked from."""
    origin = first.note.get("from")
    if first.kind == "fork" and isinstance(origin, dict):
        return script(store, origin["session"], into=first.session.id, revision=origin["revision"])
    return Script("", "", {}, first.session.step, (), first.session.started_at)


class _StepNames:
    """The names that migrations gave to steps, up to the record *end*."""

    def __init__(self, records: Sequence[Record], end: int) -> None:
        self.end = end
        self._renames = [
            (index, record.note.get("renamed") or {})
            for index, record in enumerate(records)
            if record.kind == "migrate"
        ]

    def newest(self, step: str | None, index: int, end: int | None = None) -> str | None:
        """Return the name at the record *end* of a step of the record at *index*."""
        for number, names in self._renames:
            if step is not None and index <= number < (end or self.end):
                step = names.get(step, step)
        return step

    def renamed(self, turn: Turn, index: int) -> Turn:
        """Return a turn of the record at *index* with the newest names of its steps."""
        return turn._replace(step=str(self.newest(turn.step, index)), to=self.newest(turn.to, index))


def _turns(line: _Line | None) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    while line is not None:
        turns.append(line.turn)
        line = line.before
    return tuple(reversed(turns))


def _changed_params(definition: Workflow, session: Session) -> Mapping[str, object]:
    """Return the parameters of a session that differ from their defaults."""
    declared = definition.params
    return {
        name: value
        for name, value in session.params.items()
        if name not in declared or not declared[name].has_default or declared[name].default != value
    }


def _turn(step: StepDef | None, step_start: Session, before: Record, after: Record) -> Turn:
    """Return the report in the record *after*. *step_start* is the session after the report before it."""
    old, new = before.session, after.session
    move = new.last if after.kind == "move" else None
    asked = DONE if step is None or step.decides else str(Outcome.FAIL)
    recorded = after.note.get("dispatches")
    before_move = old.dispatches if move is not None else new.dispatches
    dispatches = structured(recorded, tuple[Dispatched, ...]) if recorded else before_move
    resolved_before = _resolved(step_start)
    act = Act(
        report=move.reported if move is not None else asked,
        facts=move.facts if move is not None else _facts_since(step, old, new),
        agents=tuple(_agent_results(dispatches)),
        findings=tuple(
            (finding.severity, finding.text) for finding in old.findings[len(step_start.findings) :]
        ),
        resolved=tuple(finding for finding in _resolved(old) if finding not in resolved_before),
        answers=tuple(_answered(old)),
    )
    return Turn(str(old.step), act, new.step, new.status, move is not None, new.revision)


def _facts_since(step: StepDef | None, old: Session, new: Session) -> Mapping[str, object]:
    """Return the facts of a report after which a limit asked the user: no move records them."""
    changed = {name for name, value in new.state.items() if name not in old.state or old.state[name] != value}
    declared = set(step.reports) if step is not None else set()
    reported = declared | changed if step is None or callable(step.handler) else declared
    return {name: value for name, value in new.state.items() if name in reported}


def _agent_results(dispatches: Sequence[Dispatched]) -> Iterator[str]:
    for dispatch in dispatches:
        if dispatch.status == CANCELLED:
            yield CANCELLED
        else:
            yield str(dispatch.outcome) if dispatch.status == FINISHED else ""


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
