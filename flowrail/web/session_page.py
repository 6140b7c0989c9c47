"""A session for a person to look at: its path on the drawing, its records, and the guidance at each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flowrail.diagrams.model import Picture
from flowrail.diagrams.session_trace import session_picture
from flowrail.errors import FlowError, UsageError
from flowrail.formatters.reports.history import HistoryEntry, entries
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.gate_verdict import GateVerdict, gates, judge
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import Store
from flowrail.machines.workflow import Workflow
from flowrail.operations.steps.dispatched_work import children_of
from flowrail.outcome import GOVERNED
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import shortened

COMPUTED = "This workflow computes its texts when it runs, so this text cannot be shown again."


@dataclass(frozen=True)
class Loop:
    """A move back to a step that the session had left before, and why."""

    step: str
    outcome: str
    to: str
    findings: Sequence[RecordedFinding]
    """The findings that blocked a gate."""
    reasons: Sequence[str]
    """The facts, the user's answers and the note of the report."""


@dataclass(frozen=True)
class SessionPage:
    """A session at one of its records."""

    workflow: Workflow
    now: Session
    """The session after its newest record."""
    then: Session
    """The session after the shown record."""
    seq: int
    records: Sequence[HistoryEntry]
    picture: Picture
    checks: Sequence[tuple[str, EvidenceResult]]
    """The results of evidence so far, each with its step."""
    loops: Sequence[Loop]
    """Why steps were repeated, the newest first."""
    guidance: Guidance | None
    """What the agent read after the shown record."""
    why_no_text: str = ""
    """Why that is unknown, if it is."""

    @property
    def newest(self) -> int:
        """The sequence number of the newest record."""
        return self.records[-1].seq

    @property
    def is_newest(self) -> bool:
        """Whether the newest record is shown."""
        return self.seq == self.newest

    @property
    def record(self) -> HistoryEntry:
        """The shown record."""
        return self.records[self.seq]

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the steps, with the values of the session."""
        return {node.id: node.heading for node in self.picture.nodes}


def view(store: Store, session_id: str, seq: int | None = None) -> SessionPage:
    """Return a session at record *seq*, or at its newest one. No code of the skill is run."""
    workflow = store.workflow(store.read(session_id).session)
    records = list(store.records(session_id))
    shown = len(records) - 1 if seq is None else seq
    if not 0 <= shown < len(records):
        raise UsageError(
            f"session `{session_id}` has no record {shown}",
            hint=f"its records are 0 to {len(records) - 1}",
            session=session_id,
        )
    history = tuple(entries(records))
    guidance, why = _guidance(store, workflow, records[shown])
    return SessionPage(
        workflow=workflow,
        now=records[-1].session,
        then=records[shown].session,
        seq=shown,
        records=history,
        picture=session_picture(workflow, records[: shown + 1]),
        checks=list(_checks(records[: shown + 1])),
        loops=list(_loops(workflow, records[: shown + 1]))[::-1],
        guidance=guidance,
        why_no_text=why,
    )


def _checks(records: Sequence[Record]) -> Iterator[tuple[str, EvidenceResult]]:
    """Yield the results that came with each move, and those of the last refusal in the current step."""
    for record in records:
        move = record.session.last if record.kind == "move" else None
        if move is not None:
            yield from ((move.step, result) for result in move.evidence)
    session = records[-1].session
    if session.evidence is not None:
        yield from ((str(session.step), result) for result in session.evidence.results)


def _loops(workflow: Workflow, records: Sequence[Record]) -> Iterator[Loop]:
    """Yield each move back to a step that the session was at before."""
    passed: set[str | None] = set()
    for record in records:
        session, move = record.session, record.session.last
        if record.kind != "move" or move is None:
            continue
        passed.add(move.step)
        if move.outcome not in GOVERNED or move.to not in passed:
            continue
        gate = gates(workflow).get(move.step)
        verdict = judge(move.step, gate, session) if gate is not None else GateVerdict(())
        facts = ", ".join(f"{name}={in_words(value)}" for name, value in move.facts.items())
        answers = (f"{answer.question} {', '.join(answer.answer)}" for answer in move.answers)
        unreviewed = "the review failed and recorded no finding" if verdict.unreviewed else ""
        reasons = [shortened(reason, 300) for reason in (facts, *answers, unreviewed, move.note) if reason]
        yield Loop(move.step, move.outcome, str(move.to), verdict.blocking, reasons)


def _guidance(store: Store, workflow: Workflow, record: Record) -> tuple[Guidance | None, str]:
    """Return the guidance that the agent read after *record*, or the reason why it is unknown."""
    if store.definition(record.session).functions:
        return None, COMPUTED
    try:
        return guide(
            workflow,
            record.session,
            store=store.named,
            place=store.address,
            folder=store.folder(record.session.id),
            children=children_of(store, record.session.dispatches),
        ), ""
    except (FlowError, KeyError, ValueError) as error:
        message = error.message if isinstance(error, FlowError) else "its step has changed since"
        return None, f"The text of this record cannot be shown: {message}."
