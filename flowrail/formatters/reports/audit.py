"""An audit as a report. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowrail.formatters.reports.handoff import phase_span
from flowrail.handoff.audit import AuditReport, HandoffTimeline, SessionTimeline
from flowrail.text.phrases import count, duration
from flowrail.text.report import (
    FilePath,
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


def report(audit: AuditReport) -> Report:
    """Return the timelines of handoffs and sessions."""
    parts: list[Report] = [_handoff(handoff) for handoff in audit.handoffs]
    parts += [_session(session) for session in audit.sessions]
    parts += [
        [_problem_line(journal.id, f"cannot be read: {journal.message}")] for journal in audit.unreadable
    ]
    foreign = "is foreign: it was not recorded by you on this machine"
    parts += [[_problem_line(id_, foreign)] for id_ in audit.foreign]
    return paragraphs(*parts) if parts else ["no handoffs and no sessions"]


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


def _handoff(handoff: HandoffTimeline) -> Report:
    head = line(
        Span(f"{handoff.handoff} · {shortened(handoff.source)} → {shortened(handoff.target)}", Style.TITLE),
        " · ",
        phase_span(handoff.phase),
        f" · {duration(handoff.seconds)} · trace {shortened(handoff.trace_id)}",
        " · foreign" if handoff.foreign else "",
    )
    origin = f", from session {shortened(handoff.session)}" if handoff.session else ""
    lines: list[str | Line] = [f"  chain {shortened(' → '.join(handoff.chain))}, hop {handoff.hops}{origin}"]
    if handoff.reason:
        lines.append(f"  reason {shortened(handoff.reason)}")
    if handoff.sha256:
        lines.append(line("  payload ", FilePath(handoff.payload or "")))
        lines.append(f"  sha256 {shortened(handoff.sha256)}")
    lines += [f"  stale: {shortened(message, 400)}" for message in handoff.missing]
    if handoff.receiver is not None:
        lines.append(
            f"  received by {shortened(handoff.receiver.by)} {shortened(handoff.receiver.session)}".rstrip()
        )
    lines += [
        line(
            Span("  failed", Style.BAD),
            " ",
            Moment(shortened(failure.at)),
            f": {shortened(failure.code)}: {shortened(failure.message, 400)}",
        )
        for failure in handoff.failures
    ]
    lines += [f"  cancelled: {shortened(reason)}" for reason in handoff.cancellations]
    lines += [
        line(
            Span("  passed", Style.GOOD) if check.holds else Span("  FAILED", Style.BAD),
            f" {shortened(check.name)}: {shortened(check.message, 160)}",
        )
        for check in handoff.checks
    ]
    rows: list[list[Part]] = [
        [
            Moment(event.at),
            event.by,
            event.kind,
            event.event_type or "",
            duration(event.seconds),
            event.hash[:16],
        ]
        for event in handoff.events
    ]
    titles = ("at", "by", "record", "event", "after", "hash")
    return [
        head,
        *lines,
        Table(columns(*titles, wraps=("record", "event"), optional=("by", "hash")), rows, 2),
    ]


def _session(session: SessionTimeline) -> Report:
    received = f" · received {shortened(session.handoff)}" if session.handoff else ""
    topic = f" · {shortened(session.topic)}" if session.topic else ""
    head = line(
        Span(session.session, Style.TITLE),
        " · ",
        status(shortened(session.status)),
        f"{topic} · revision {session.revision} · {duration(session.seconds)}{received}",
    )
    rows: list[list[Part]] = [
        [
            Moment(event.at),
            event.by,
            event.kind,
            event.step or "",
            event.outcome or "",
            event.to or "",
            event.evidence,
            duration(event.seconds),
            event.hash[:16],
        ]
        for event in session.events
    ]
    titles = ("at", "by", "record", "step", "outcome", "to", "evidence", "after", "hash")
    optional = ("by", "evidence", "after", "hash")
    return [head, Table(columns(*titles, wraps=("step", "to", "evidence"), optional=optional), rows, 2)]
