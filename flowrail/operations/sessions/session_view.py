"""A session as a person looks at it: its path on the drawing, its records, and what the agent was shown at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Node, Picture, TraceEntry
from flowrail.diagrams.session_trace import with_trace
from flowrail.errors import FlowError, UsageError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import with_default_answers
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.sessions.evidence import EvidenceResult
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store
from flowrail.operations.skills.draw import of_session
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened

COMPUTED = "This workflow computes its texts when it runs, so this text cannot be shown again."


class SessionView(NamedTuple):
    """A session at one of its records.

    ``now`` is the session after its newest record, ``then`` after the shown one. ``guidance`` is what the agent
    was shown after that record; if it is `None`, ``why_no_text`` says why. ``checks`` are the results of evidence so far,
    each with its step.
    """

    now: Session
    then: Session
    seq: int
    records: tuple[TraceEntry, ...]
    picture: Picture
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
    def record(self) -> TraceEntry:
        """The shown record."""
        return self.records[self.seq]


def view(store: Store, session_id: str, seq: int | None = None) -> SessionView:
    """Return a session at record *seq*, or at its newest one. Nothing of the skill is run."""
    subject = of_session(session_id, None, store)
    records = list(subject.records)
    shown = len(records) - 1 if seq is None else seq
    if not 0 <= shown < len(records):
        raise UsageError(
            f"session `{session_id}` has no record {shown}",
            hint=f"its records are 0 to {len(records) - 1}",
            session=session_id,
        )
    drawing = _with_titles(picture(subject.workflow), records[shown].session)
    entries = with_trace(drawing, records).trace
    then = records[shown]
    guidance, why = _guidance(store, subject.workflow, then, computed=_has_functions(store, session_id))
    return SessionView(
        now=records[-1].session,
        then=then.session,
        seq=shown,
        records=entries.entries if entries else (),
        picture=with_trace(drawing, records[: shown + 1]),
        checks=tuple(_checks(records[: shown + 1])),
        guidance=guidance,
        why_no_text=why,
    )


def _with_titles(drawing: Picture, session: Session) -> Picture:
    """Return *drawing* with the values of the session in its titles."""
    values = {**session.params, **session.state}

    def titled(node: Node) -> Node:
        if "$" not in node.title:
            return node
        attempt = {"visit": session.visits.get(node.id, 0), "limit": node.limit}
        return node._replace(title=shortened(fill(node.title, {**values, **attempt})))

    return drawing._replace(nodes=tuple(titled(node) for node in drawing.nodes))


def _checks(records: Sequence[Record]) -> Iterator[tuple[str, EvidenceResult]]:
    """Yield the results that came with each move, and those of the last refusal in the current step."""
    for record in records:
        move = record.session.last if record.kind == "move" else None
        if move is not None:
            yield from ((move.step, result) for result in move.evidence)
    session = records[-1].session
    known = session.evidence.get(str(session.step))
    if known is not None:
        yield from ((str(session.step), result) for result in known.results)


def _has_functions(store: Store, session_id: str) -> bool:
    return bool(store.definition(session_id).get("functions"))


def _guidance(
    store: Store, workflow: Workflow, record: Record, *, computed: bool
) -> tuple[Guidance | None, str]:
    if computed:
        return None, COMPUTED
    try:
        return guide(
            workflow,
            with_default_answers(record.session, record.at),
            store=store.named,
            place=store.address,
            folder=store.folder(record.session.id),
            now=record.at,
        ), ""
    except (FlowError, KeyError, ValueError) as error:
        message = error.message if isinstance(error, FlowError) else "its step has changed since"
        return None, f"The text of this record cannot be shown: {message}."
