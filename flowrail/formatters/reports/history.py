"""The history of a session, record by record, and the results of its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flowrail.hosts.conversation import short_id
from flowrail.machines.evidence_results import EvidenceResult, tally
from flowrail.machines.frozen import Frozen
from flowrail.machines.session import WAYS
from flowrail.machines.session_record import Record
from flowrail.outcome import STYLES
from flowrail.text.phrases import duration, in_words, seconds_between
from flowrail.text.report import Moment, Part, Span, Style, Table, columns
from flowrail.text.safe_text import LONGEST_LINE, shortened


@dataclass(frozen=True)
class HistoryEntry:
    """One record of a session."""

    seq: int
    kind: str
    at: str
    by: str
    conversation: str | None
    revision: int
    status: str
    step: str | None
    """The step that was reported, or the current one."""
    to: str | None
    """The step after the record."""
    note: Mapping[str, Any]
    """What a record without a move says; the keys depend on its kind."""
    hash: str
    reported: str | None = None
    outcome: str | None = None
    facts: Mapping[str, object] = Frozen()
    capped: bool = False
    skipped: tuple[str, ...] = ()
    relayed: bool = False
    evidence: tuple[EvidenceResult, ...] = ()
    """The results of the checks behind a move, or behind a report that was refused."""
    text: str = ""
    """The note that came with the report."""
    seconds: float | None = None
    """The time in the step."""

    @property
    def description(self) -> str:
        """What its note says, without what is shown elsewhere."""
        shown = {name: value for name, value in self.note.items() if name not in _ELSEWHERE}
        return shortened("; ".join(_said(name, value) for name, value in shown.items()))


_ELSEWHERE = frozenset({"text", "taken_over_from", "run", "output", "finder"})
"""The keys of notes that have a column of their own, or are only for programs."""


def _said(name: str, value: object) -> str:
    if name == "way":
        return WAYS.get(str(value), str(value))
    if isinstance(value, Mapping):
        value = [f"{key}={in_words(item)}" for key, item in value.items()]
    return f"{name} {in_words(value)}"


_OF_MOVE = ("step", "reported", "outcome", "facts", "capped", "skipped", "relayed")
"""The fields that an entry has from the move of its record."""


def entries(records: Iterable[Record]) -> Iterator[HistoryEntry]:
    """Yield an entry for each record."""
    step_started_at = ""
    for record in records:
        session, note = record.session, record.note
        entry = HistoryEntry(
            seq=record.seq,
            kind=record.kind,
            at=record.at,
            by=record.by,
            conversation=record.conversation or None,
            revision=session.revision,
            status=session.status,
            step=session.step,
            to=session.step,
            note=note,
            hash=record.hash,
            evidence=_results(record),
            text=note.get("text") or "",
        )
        move = session.last if record.kind == "move" else None
        if move is not None:
            spent = seconds_between(step_started_at, record.at)
            of_move = {name: getattr(move, name) for name in _OF_MOVE}
            entry = replace(entry, **of_move, text=move.note, seconds=spent)
        yield entry
        if not record.seq or record.kind in {"move", "rewind"}:
            step_started_at = record.at


def _results(record: Record) -> tuple[EvidenceResult, ...]:
    """Return the results of the checks behind a move, or behind a claim that was refused."""
    session = record.session
    if record.kind == "refused" and session.evidence is not None:
        return session.evidence.results
    return session.last.evidence if record.kind == "move" and session.last else ()


def report(history: Sequence[HistoryEntry]) -> Iterator[Table]:
    """Yield the records as a table."""
    rows = (
        [
            str(entry.revision),
            Moment(entry.at),
            short_id(entry.conversation) if entry.conversation else entry.by,
            (entry.step or "") if entry.kind == "move" else entry.kind,
            _outcome_part(entry),
            entry.to or f"({entry.status})",
            duration(entry.seconds),
        ]
        for entry in history
    )
    titles = ("rev", "at", "by", "step", "outcome", "to", "took")
    yield Table(columns(*titles, wraps=("step", "outcome", "to")), rows)


def checks_report(history: Sequence[HistoryEntry]) -> Iterator[Table]:
    """Yield the checks behind the reports as a table, if there were any."""
    rows = [
        [
            str(entry.revision),
            str(entry.step),
            result.check,
            result.verdict,
            shortened("; ".join(filter(None, [result.found, result.reason and f"reason: {result.reason}"]))),
        ]
        for entry in history
        for result in entry.evidence
    ]
    if rows:
        yield Table(columns("rev", "step", "check", "verdict", "found", wraps=("found",)), rows)


_STYLES = {**STYLES, "refused": Style.WARNING}


def _outcome_part(entry: HistoryEntry) -> Part:
    previous_owner = entry.note.get("taken_over_from")
    texts = [
        _move_text(entry) if entry.outcome is not None else entry.description,
        f"taken over from {short_id(str(previous_owner))}" if previous_owner else "",
        f"note: {entry.text}" if entry.text else "",
    ]
    text = shortened("; ".join(filter(None, texts)), LONGEST_LINE)
    style = _STYLES.get(entry.outcome or entry.kind)
    return Span(text, Style(style)) if style is not None else text


def _move_text(entry: HistoryEntry) -> str:
    facts = "".join(f" {name}={in_words(value)}" for name, value in entry.facts.items())
    decided_text = f" → {entry.outcome}" if entry.reported != entry.outcome else ""
    capped_text = " (at the limit)" if entry.capped else ""
    skipped_text = f" (skipping {', '.join(entry.skipped)})" if entry.skipped else ""
    checked = tally(entry.evidence)
    evidence_text = f" ({checked})" if checked else ""
    relayed_text = " (relayed)" if entry.relayed else ""
    return f"{entry.reported}{facts}{relayed_text}{decided_text}{capped_text}{skipped_text}{evidence_text}"
