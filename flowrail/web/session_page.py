"""A session for a person to look at: its path on the drawing, its records, and the guidance at each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.session_trace import with_trace
from flowrail.errors import FlowError, UsageError
from flowrail.formatters.reports.history import HistoryEntry, entries
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import Store
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.operations.steps.dispatched_work import children_of

COMPUTED = "This workflow computes its texts when it runs, so this text cannot be shown again."


class RepeatedStep(NamedTuple):
    """A step that a session entered more than once. ``attempts`` are the moves with which it was left.

    Each attempt has the number of reports that were refused before it. ``rules`` are those that decide the outcome, in words.
    """

    step: str
    limit: int | None
    attempts: Sequence[tuple[HistoryEntry, int]]
    entered: int
    rules: str


class SessionPage(NamedTuple):
    """A session at one of its records.

    ``now`` is the session after its newest record, ``then`` after the shown one. ``guidance`` is the text that the agent
    read after that record; if it is `None`, ``why_no_text`` is the reason. ``repeated`` are the steps that explain why the
    session loops. ``checks`` are the results of evidence so far, each with its step.
    """

    workflow: Workflow
    now: Session
    then: Session
    seq: int
    records: tuple[HistoryEntry, ...]
    picture: Picture
    repeated: tuple[RepeatedStep, ...]
    checks: tuple[tuple[str, EvidenceResult], ...]
    guidance: Guidance | None
    why_no_text: str = ""

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
    record = records[shown]
    guidance, why = _guidance(store, workflow, record)
    return SessionPage(
        workflow=workflow,
        now=records[-1].session,
        then=record.session,
        seq=shown,
        records=history,
        picture=with_trace(picture(workflow), records[: shown + 1]),
        repeated=tuple(_repeated(workflow, history)),
        checks=tuple(_checks(records[: shown + 1])),
        guidance=guidance,
        why_no_text=why,
    )


def _repeated(workflow: Workflow, records: Sequence[HistoryEntry]) -> Iterator[RepeatedStep]:
    """Yield the steps with more than one attempt, in the order in which they were first left."""
    attempts: dict[str, list[tuple[HistoryEntry, int]]] = {}
    refusals = 0
    for record in records:
        if record.kind == "refused":
            refusals += 1
        elif record.outcome is not None and record.step is not None:
            attempts.setdefault(record.step, []).append((record, refusals))
            refusals = 0
    for step_id, made in attempts.items():
        step = workflow.get(step_id)
        entered = len(made) + (records[-1].to == step_id)
        if entered > 1:
            limit, rules = (step.limit, _rules_text(step)) if step is not None else (None, "")
            yield RepeatedStep(step_id, limit, made, entered, rules)


def _rules_text(step: StepDef) -> str:
    """Return the rules of *step* in words, such as `ok if result == 'green', otherwise iterate`."""
    if step.rules:
        rules = (
            f"{rule.outcome} if {rule.when}" if rule.when else f"otherwise {rule.outcome}"
            for rule in step.rules
        )
        return ", ".join(rules)
    return "the findings of the review decide" if step.gate is not None else ""


def _checks(records: Sequence[Record]) -> Iterator[tuple[str, EvidenceResult]]:
    """Yield the results that came with each move, and those of the last refusal in the current step."""
    for record in records:
        move = record.session.last if record.kind == "move" else None
        if move is not None:
            yield from ((move.step, result) for result in move.evidence)
    session = records[-1].session
    if session.evidence is not None:
        yield from ((str(session.step), result) for result in session.evidence.results)


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
