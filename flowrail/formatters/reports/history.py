"""The history of a session, record by record, and its migration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.formatters.guidance.content import plain
from flowrail.hosts.conversation import short_id
from flowrail.machines.definition.diff import IDENTICAL
from flowrail.machines.engine.migration import MigrationPlan
from flowrail.machines.sessions.evidence import EvidenceResult, tally
from flowrail.machines.sessions.record import Record
from flowrail.text.phrases import duration, in_words, seconds_between
from flowrail.text.report import Moment, Part, Report, Span, Style, Table, columns
from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened


class HistoryEntry(NamedTuple):
    """One record: the report, the next step, and the time in the step. ``note`` belongs to a record without a move."""

    seq: int
    kind: str
    at: str
    by: str
    conversation: str | None
    revision: int
    status: str
    step: str | None
    reported: str | None
    outcome: str | None
    facts: Mapping[str, object]
    to: str | None
    capped: bool
    skipped: tuple[str, ...]
    relayed: bool
    found: str | None
    remember: str | None
    evidence: tuple[EvidenceResult, ...]
    seconds: float | None
    note: Mapping[str, Any]
    hash: str

    @property
    def evidence_summary(self) -> str:
        """How much of the evidence was checked."""
        return tally(self.evidence)

    @property
    def note_text(self) -> str:
        """The text about a record without a move; empty for a move."""
        reason = shortened(str(self.note.get("reason", "")))
        text = shortened(_note_of(self))
        return f"{text} ({reason})" if text and reason else text or reason

    @property
    def data(self) -> dict[str, object]:
        """The entry as plain data."""
        values: dict[str, object] = plain(self)
        return {**values, "evidence_summary": self.evidence_summary}


def entries(records: Iterable[Record]) -> Iterator[HistoryEntry]:
    """Yield an entry for each record."""
    step_started_at = ""
    for record in records:
        session, note = record.session, record.note
        move = session.last if record.kind == "move" else None
        yield HistoryEntry(
            record.seq,
            record.kind,
            record.at,
            record.by,
            record.conversation or None,
            session.revision,
            session.status,
            move.step if move else session.step,
            move.reported if move else None,
            move.outcome if move else None,
            move.facts if move else {},
            session.step,
            move.capped if move else False,
            move.skipped if move else (),
            move.relayed if move else False,
            (move.found if move else note.get("found")) or None,
            (move.remember if move else note.get("remember")) or None,
            _results(record),
            seconds_between(step_started_at, record.at) if move else None,
            note,
            record.hash,
        )
        step_started_at = (
            record.at if not record.seq or record.kind in {"move", "rewind"} else step_started_at
        )


def _results(record: Record) -> tuple[EvidenceResult, ...]:
    """Return the results of the checks behind a move, or behind a claim that was refused."""
    session = record.session
    if record.kind == "refused" and session.evidence is not None:
        return session.evidence.results
    return session.last.evidence if record.kind == "move" and session.last else ()


def report(records: Iterable[Record], *, hashes: bool = False) -> Iterator[Table]:
    """Yield the records as a table, with the beginning of their *hashes* if requested."""
    rows = (
        [
            str(entry.revision),
            Moment(entry.at),
            short_id(entry.conversation) if entry.conversation else entry.by,
            (entry.step or "") if entry.kind == "move" else entry.kind,
            _outcome_part(entry),
            entry.to or f"({entry.status})",
            duration(entry.seconds),
            *([entry.hash[:16]] if hashes else []),
        ]
        for entry in entries(records)
    )
    titles = ("rev", "at", "by", "step", "outcome", "to", "took", *(["hash"] if hashes else []))
    yield Table(columns(*titles, wraps=("step", "outcome", "to"), optional=("by", "took", "hash")), rows)


_STYLES = {"ok": Style.GOOD, "fail": Style.BAD, "iterate": Style.WARNING, "refused": Style.WARNING}


def _outcome_part(entry: HistoryEntry) -> Part:
    previous_owner = entry.note.get("taken_over_from")
    texts = [
        _move_text(entry) if entry.outcome is not None else entry.note_text,
        f"taken over from {short_id(str(previous_owner))}" if previous_owner else "",
        f"found: {entry.found}" if entry.found else "",
        f"remember: {entry.remember}" if entry.remember else "",
    ]
    text = shortened("; ".join(filter(None, texts)), LONGEST_LINE)
    style = _STYLES.get(entry.outcome or entry.kind)
    return Span(text, style) if style is not None else text


def _move_text(entry: HistoryEntry) -> str:
    facts = "".join(f" {name}={in_words(value)}" for name, value in entry.facts.items())
    decided_text = f" → {entry.outcome}" if entry.reported != entry.outcome else ""
    capped_text = " (at the limit)" if entry.capped else ""
    skipped_text = f" (skipping {', '.join(entry.skipped)})" if entry.skipped else ""
    evidence_text = f" ({entry.evidence_summary})" if entry.evidence_summary else ""
    relayed_text = " (relayed)" if entry.relayed else ""
    return f"{entry.reported}{facts}{relayed_text}{decided_text}{capped_text}{skipped_text}{evidence_text}"


def _note_of(entry: HistoryEntry) -> str:
    """Return the text about a record without a move."""
    note = entry.note
    match entry.kind:
        case "rewind":
            return f"from revision {note['from']} to {note['to']}"
        case "held":
            return f"kept from ending its turn, time {note.get('times')}"
        case "released":
            return "the conversation ended"
        case "fork" if "into" in note:
            return f"at revision {note['at']} into {note['into']}"
        case "fork":
            return f"of {note['from']['session']} at revision {note['from']['revision']}"
        case "migrate":
            names = ", ".join(f"{old} → {new}" for old, new in note["renamed"].items())
            return f"{note['verdict']}{f': {names}' if names else ''}"
        case "answer":
            answers = note.get("answers") or {}
            return " ".join(f"{name}={word}" for name, words in answers.items() for word in words)
        case "limit":
            return "fail at the limit; the user is asked"
        case "ask":
            return " ".join(note.get("questions") or ())
    return _work_note(entry)


def _work_note(entry: HistoryEntry) -> str:
    """Return the dispatch, the handoff, the check or the finding that a record names."""
    note, checked = entry.note, entry.evidence_summary
    match entry.kind:
        case "command":
            return f"{note.get('command')}: {note.get('verdict') or 'started'}"
        case "again":
            return f"{note['child']} replaces {note['replaced']}"
        case "refused":
            missing = ", ".join(note.get("missing") or ())
            return f"claimed {note.get('claim')}{f', {checked}' if checked else ''}: lacks {missing}"
        case "handoff":
            return f"to {note['target']}, {note['handoff']}"
    return " ".join(str(note[name]) for name in ("check", "level", "verdict", "finding") if note.get(name))


def plan_report(plan: MigrationPlan) -> Report:
    """Return a plan for people: the session's step, and what changed in each step."""
    position = f"at `{plan.at}`" if plan.at else "ended"
    if plan.at and plan.to != plan.at:
        position += f", now `{plan.to}`" if plan.to else ", which no longer exists"
    lines: list[str | Table] = [f"{plan.session} · revision {plan.revision} · {position}: {plan.verdict}"]
    rows = [
        [step.step, step.change, step.to or "", "; ".join(step.what)]
        for step in plan.steps
        if step.change != IDENTICAL
    ]
    if rows:
        lines.append(Table(columns("step", "change", "new id", "details", wraps=("details",)), rows))
    identical = len(plan.having(IDENTICAL))
    if identical:
        lines.append(f"{identical} step{'' if identical == 1 else 's'} identical")
    if plan.moves:
        fresh = "; its dispatches and questions start again" if plan.fresh else ""
        lines.append(f"its transitions change: the revision is increased{fresh}")
    return [*lines, *(f"parameters: {one_line(problem)}" for problem in plan.problems)]


def plan_data(plan: MigrationPlan) -> dict[str, object]:
    """Return a plan as plain data."""
    data: dict[str, object] = plain(plan)
    return data


def done_text(plan: MigrationPlan, *, changed: bool) -> str:
    """Return the result of a migration."""
    return f"{plan.session} migrated" if changed else f"{plan.session} is up to date"
