"""The timelines of handoffs and sessions. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flowrail.formatters.reports import history
from flowrail.formatters.reports.handoff import HandoffAnswer, summary
from flowrail.formatters.reports.history import HistoryEntry
from flowrail.handoff.audit import TRACE_EVENTS, HandoffTimeline
from flowrail.machines.session_record import Record
from flowrail.text.phrases import duration, seconds_between
from flowrail.text.report import Line, Moment, Report, Span, Style, Table, columns, line, status
from flowrail.text.safe_text import shortened


@dataclass(frozen=True)
class AuditedHandoff(HandoffAnswer):
    """A handoff with its records."""

    ended_at: str = ""
    """The time of the newest record."""
    seconds: float | None = None
    """The time between the first and the newest record."""
    failures: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, answer: HandoffAnswer, timeline: HandoffTimeline) -> AuditedHandoff:
        """Return the handoff of a timeline."""
        return cls(
            **vars(answer),
            ended_at=timeline.ended_at,
            seconds=timeline.seconds,
            failures=tuple(
                {"at": at, "code": failure.code, "message": failure.message}
                for at, failure in timeline.failures
            ),
            events=tuple(
                {
                    "at": record.at,
                    "by": record.by,
                    "kind": record.kind,
                    "phase": record.handoff.phase,
                    "event_type": TRACE_EVENTS.get(record.kind),
                    "seconds": seconds_between(before.at, record.at),
                    "events": list(record.events),
                    "hash": record.hash,
                }
                for before, record in pairwise((timeline.records[0], *timeline.records))
            ),
        )

    def report(self) -> Report:
        """Return what a person reads."""
        trace = f"trace    {shortened(self.trace_id)}  ({duration(self.seconds)} in all)"
        lines: list[str | Line] = [*summary(self), trace]
        lines += [
            line(
                Span("failed   ", Style.BAD),
                Moment(shortened(failure["at"])),
                f": {shortened(failure['code'])}: {shortened(failure['message'], 400)}",
            )
            for failure in self.failures
        ]
        passed = [shortened(check.name) for check in self.checks if check.holds]
        lines += [line(Span("passed   ", Style.GOOD), ", ".join(passed))] if passed else []
        lines += [
            line(
                Span("FAILED   ", Style.BAD),
                f"{shortened(check.name)}: {shortened(check.message, 160)}",
            )
            for check in self.checks
            if not check.holds
        ]
        rows = [
            [Moment(event["at"]), event["by"], event["kind"], duration(event["seconds"]), event["hash"][:16]]
            for event in self.events
        ]
        titles = ("at", "by", "record", "after", "hash")
        return [*lines, Table(columns(*titles, wraps=("record",), optional=("by", "hash")), rows, 2)]


@dataclass(frozen=True)
class AuditedSession:
    """A session with its records."""

    session: str
    skill: str
    topic: str
    status: str
    revision: int
    trace_id: str | None
    """The trace of the handoff that it received, if it did."""
    handoff: str | None
    """The handoff that it received, if it did."""
    started_at: str
    ended_at: str
    """The time of the newest record."""
    seconds: float | None
    """The time between the first and the newest record."""
    events: tuple[HistoryEntry, ...]

    @classmethod
    def of(cls, records: Sequence[Record]) -> AuditedSession:
        """Return the session of these records."""
        session, started_at, ended_at = records[-1].session, records[0].at, records[-1].at
        return cls(
            session=session.id,
            skill=session.skill,
            topic=session.topic,
            status=session.status,
            revision=session.revision,
            trace_id=session.received.trace_id if session.received else None,
            handoff=session.received.handoff if session.received else None,
            started_at=started_at,
            ended_at=ended_at,
            seconds=seconds_between(started_at, ended_at),
            events=tuple(history.entries(records)),
        )

    def report(self) -> Report:
        """Return what a person reads."""
        received = f" · received {shortened(self.handoff)}" if self.handoff else ""
        topic = f" · {shortened(self.topic)}" if self.topic else ""
        head = line(
            Span(self.session, Style.TITLE),
            " · ",
            status(shortened(self.status)),
            f"{topic} · revision {self.revision} · {duration(self.seconds)}{received}",
        )
        return [head, *history.report(self.events, hashes=True)]


def problem_line(name: str, problem: str) -> Line:
    """Return a line about a journal that cannot be read or is foreign."""
    return line(Span(shortened(name), Style.BAD), f" {shortened(problem)}")
