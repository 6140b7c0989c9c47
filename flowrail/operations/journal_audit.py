"""`flow audit`: what happened in handoffs and sessions, and whether their records are as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from flowrail.formatters.reports import history
from flowrail.formatters.reports.handoff import HandoffAnswer
from flowrail.formatters.reports.history import HistoryEntry
from flowrail.handoff.handoff import FAILED, REJECTED
from flowrail.handoff.timelines import TRACE_EVENTS, HandoffTimeline, JournalFinding
from flowrail.handoff.timelines import audit as audit_journals
from flowrail.machines.session_record import Record
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.handoffs.send import answer_of
from flowrail.operations.handoffs.verify import handoff_findings, received_findings, unsent_copies
from flowrail.operations.operation import Help, operation
from flowrail.text.phrases import count, duration, seconds_between
from flowrail.text.report import (
    Line,
    Moment,
    Part,
    Report,
    Span,
    Style,
    Table,
    columns,
    line,
    paragraphs,
    status,
)
from flowrail.text.safe_text import shortened


@dataclass(frozen=True)
class HandoffEvent:
    """One record of a handoff."""

    at: str
    by: str
    kind: str
    phase: str
    event_type: str | None
    """Its name in the trace of a 3.0 payload."""
    seconds: float | None
    """The time since the record before it."""
    hash: str
    code: str = ""
    """The code of the failure that it records, if any."""
    message: str = ""
    """What failed."""

    @property
    def description(self) -> str:
        """The record in words."""
        return shortened(": ".join(filter(None, [self.kind, self.code, self.message])), 400)


@dataclass(frozen=True)
class AuditedHandoff(HandoffAnswer):
    """A handoff with its records."""

    events: tuple[HandoffEvent, ...] = ()

    def report(self) -> Report:
        """Return what a person reads."""
        yield from super().report()
        rows: list[list[Part]] = [
            [Moment(event.at), event.by, event.description, duration(event.seconds), event.hash[:16]]
            for event in self.events
        ]
        titles = ("at", "by", "record", "after", "hash")
        yield Table(columns(*titles, wraps=("record",)), rows, 2)


@dataclass(frozen=True)
class AuditedSession:
    """A session with its records."""

    session: str
    skill: str
    topic: str
    status: str
    revision: int
    handoff: str | None
    """The handoff that it received, if it did."""
    events: tuple[HistoryEntry, ...]

    def report(self) -> Report:
        """Return what a person reads."""
        received = f" · received {shortened(self.handoff)}" if self.handoff else ""
        topic = f" · {shortened(self.topic)}" if self.topic else ""
        name, state = Span(self.session, Style.TITLE), status(shortened(self.status))
        head = line(name, " · ", state, f"{topic} · revision {self.revision}{received}")
        return [head, *history.report(self.events)]


@dataclass(frozen=True)
class Audit:
    """Handoffs and sessions with all their records, in the order in which they started."""

    handoffs: tuple[AuditedHandoff, ...]
    sessions: tuple[AuditedSession, ...]
    unreadable: tuple[JournalFinding, ...]
    """Journals that cannot be read."""
    foreign: tuple[str, ...]
    """The ids of journals that another user or machine wrote."""

    @property
    def exit_status(self) -> int:
        """1 if a journal cannot be read."""
        return 1 if self.unreadable else 0

    def report(self) -> Report:
        """Return what a person reads."""
        problems = {found.id: f"cannot be read: {found.message}" for found in self.unreadable}
        problems |= dict.fromkeys(self.foreign, "is foreign: you did not record it here")
        parts = [
            *(handoff.report() for handoff in self.handoffs),
            *(session.report() for session in self.sessions),
            *([_problem_line(name, problem)] for name, problem in problems.items()),
        ]
        return paragraphs(*parts) if parts else ["no handoffs and no sessions"]


@dataclass(frozen=True)
class Verification:
    """What was verified, and every finding."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[JournalFinding, ...]

    @property
    def exit_status(self) -> int:
        """1 if there is a finding."""
        return 1 if self.findings else 0

    def report(self) -> Report:
        """Return what a person reads."""
        for finding in self.findings:
            bad = Span(f"{finding.id}: {finding.code}", Style.BAD)
            yield line(bad, f": {shortened(finding.message, 400)}")
        kinds = {
            "handoff": self.handoffs,
            "session": self.sessions,
            "record": self.records,
            "payload": self.payloads,
        }
        verified = ", ".join(count(number, kind) for kind, number in kinds.items())
        good = Span("unchanged since they were written", Style.GOOD)
        bad = Span(count(len(self.findings), "finding"), Style.BAD)
        yield line(f"{verified}: ", bad if self.findings else good)


@operation("audit", "flow audit", "flow audit handoff-k3x9q2", "flow audit --verify")
def audit(
    environment: Environment,
    id_: Annotated[str | None, Help("The id of a handoff or a session.", metavar="ID")] = None,
    *,
    verify: Annotated[bool, Help("Check that no record was changed.")] = False,
) -> Audit | Verification:
    """Show what happened in handoffs and sessions, or verify it

    Shows the timelines of one id or of all: phases, checks, hashes, actors, failures. With --verify, checks that no journal
    was changed, that handoffs went through their phases in order, and that each payload is the one that was sent. Exits 1
    on any finding.
    """
    if verify:
        return _verify(environment, id_)
    found = audit_journals(environment.store, handoffs_of(environment), wanted=id_)
    return Audit(
        tuple(_handoff(environment, timeline) for timeline in found.handoffs),
        tuple(map(_session, found.sessions)),
        found.unreadable,
        tuple(journal.id for journal in found.foreign),
    )


def _handoff(environment: Environment, timeline: HandoffTimeline) -> AuditedHandoff:
    events = []
    for before, record in pairwise((timeline.records[0], *timeline.records)):
        failure = record.handoff.failure if record.kind in {FAILED, REJECTED} else None
        events.append(
            HandoffEvent(
                at=record.at,
                by=record.by,
                kind=record.kind,
                phase=record.handoff.phase,
                event_type=TRACE_EVENTS.get(record.kind),
                seconds=seconds_between(before.at, record.at),
                hash=record.hash,
                code=failure.code if failure else "",
                message=failure.message if failure else "",
            )
        )
    return AuditedHandoff(**vars(answer_of(environment, timeline.handoff)), events=tuple(events))


def _session(records: Sequence[Record]) -> AuditedSession:
    session = records[-1].session
    return AuditedSession(
        session=session.id,
        skill=session.skill,
        topic=session.topic,
        status=session.status,
        revision=session.revision,
        handoff=session.received.handoff if session.received else None,
        events=tuple(history.entries(records)),
    )


def _problem_line(name: str, problem: str) -> Line:
    return line(Span(shortened(name), Style.BAD), f" {shortened(problem)}")


def _verify(environment: Environment, wanted: str | None) -> Verification:
    """Read every journal, or that of the *wanted* id, to its end, and compare payloads with what was sent."""
    store = environment.store
    found = audit_journals(store, handoffs_of(environment), wanted=wanted)
    received = [records[-1].session for records in found.sessions if records[-1].session.received]
    findings = [*found.unreadable, *found.foreign]
    for session in received:
        findings += received_findings(store, session)
    for timeline in found.handoffs:
        findings += handoff_findings(store, timeline)
    if wanted is None:
        findings += unsent_copies(store, {timeline.handoff.sha256 for timeline in found.handoffs})
    journals = [*found.sessions, *(timeline.records for timeline in found.handoffs)]
    return Verification(
        handoffs=len(found.handoffs),
        sessions=len(found.sessions),
        records=sum(map(len, journals)),
        payloads=len(received) + sum(timeline.was_sent for timeline in found.handoffs),
        findings=tuple(findings),
    )
