"""An audit as a report and as data. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from flowrail.formatters.data import as_data
from flowrail.formatters.reports import history
from flowrail.formatters.reports.handoff import HandoffAnswer, summary
from flowrail.handoff.audit import TRACE_EVENTS, AuditReport, HandoffTimeline
from flowrail.machines.sessions.record import Record
from flowrail.storage.records import to_plain
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


def data(audit: AuditReport, answers: Sequence[HandoffAnswer]) -> dict[str, object]:
    """Return handoffs and sessions with all their records as data; *answers* are the handoffs of the audit."""
    return {
        "handoffs": [
            {**as_data(answer), **_timeline_data(timeline)}
            for answer, timeline in zip(answers, audit.handoffs, strict=True)
        ],
        "sessions": [_session_data(records) for records in audit.sessions],
        "unreadable": to_plain(audit.unreadable),
        "foreign": list(audit.foreign),
    }


def report(audit: AuditReport, answers: Sequence[HandoffAnswer], *, otherwise: str) -> Report:
    """Return an audit for people, or *otherwise* if it is empty; *answers* are its handoffs."""
    parts: list[Report] = [_handoff(*pair) for pair in zip(answers, audit.handoffs, strict=True)]
    parts += [_session(_session_data(records), records) for records in audit.sessions]
    parts += [
        [_problem_line(journal.id, f"cannot be read: {journal.message}")] for journal in audit.unreadable
    ]
    foreign = "is foreign: it was not recorded by you on this machine"
    parts += [[_problem_line(id_, foreign)] for id_ in audit.foreign]
    return paragraphs(*parts) if parts else [otherwise]


def _problem_line(name: str, problem: str) -> Line:
    return line(Span(shortened(name), Style.BAD), f" {shortened(problem)}")


def verification_report(result: Mapping[str, Any]) -> Report:
    """Return what was verified, and every finding."""
    kinds = ("handoff", "session", "record", "payload")
    verified = ", ".join(count(result[f"{kind}s"], kind) for kind in kinds)
    findings = [
        line(
            Span(f"{finding['id']}: {finding['code']}", Style.BAD), f": {shortened(finding['message'], 400)}"
        )
        for finding in result["findings"]
    ]
    verdict = (
        Span(count(len(findings), "finding"), Style.BAD)
        if findings
        else Span("unchanged since they were written", Style.GOOD)
    )
    return [*findings, line(f"{verified}: ", verdict)]


def _timeline_data(timeline: HandoffTimeline) -> dict[str, object]:
    return {
        "ended_at": timeline.ended_at,
        "seconds": timeline.seconds,
        "failures": [
            {"at": at, "code": failure.code, "message": failure.message} for at, failure in timeline.failures
        ],
        "events": [
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
        ],
    }


def _session_data(records: Sequence[Record]) -> dict[str, object]:
    session, started_at, ended_at = records[-1].session, records[0].at, records[-1].at
    return {
        "session": session.id,
        "skill": session.skill,
        "topic": session.topic,
        "status": session.status,
        "revision": session.revision,
        "trace_id": session.received.trace_id if session.received else None,
        "handoff": session.received.handoff if session.received else None,
        "started_at": started_at,
        "ended_at": ended_at,
        "seconds": seconds_between(started_at, ended_at),
        "events": [entry.data for entry in history.entries(records)],
    }


def _handoff(shown: HandoffAnswer, timeline: HandoffTimeline) -> Report:
    trace = f"trace    {shortened(shown.trace_id)}  ({duration(timeline.seconds)} in all)"
    lines: list[str | Line] = [*summary(shown), trace]
    for at, failure in timeline.failures:
        message = f": {shortened(failure.code)}: {shortened(failure.message, 400)}"
        lines.append(line(Span("failed   ", Style.BAD), Moment(shortened(at)), message))
    if passed := [shortened(check.name) for check in shown.checks if check.holds]:
        lines.append(line(Span("passed   ", Style.GOOD), ", ".join(passed)))
    lines += [
        line(Span("FAILED   ", Style.BAD), f"{shortened(check.name)}: {shortened(check.message, 160)}")
        for check in shown.checks
        if not check.holds
    ]
    rows: list[list[Part]] = [
        [
            Moment(record.at),
            record.by,
            record.kind,
            duration(seconds_between(before.at, record.at)),
            record.hash[:16],
        ]
        for before, record in pairwise((timeline.records[0], *timeline.records))
    ]
    titles = ("at", "by", "record", "after", "hash")
    return [*lines, Table(columns(*titles, wraps=("record",), optional=("by", "hash")), rows, 2)]


def _session(session: Mapping[str, Any], records: Sequence[Record]) -> Report:
    received = f" · received {shortened(session['handoff'])}" if session["handoff"] else ""
    topic = f" · {shortened(session['topic'])}" if session["topic"] else ""
    head = line(
        Span(session["session"], Style.TITLE),
        " · ",
        status(shortened(session["status"])),
        f"{topic} · revision {session['revision']} · {duration(session['seconds'])}{received}",
    )
    return [head, *history.report(records, hashes=True)]
