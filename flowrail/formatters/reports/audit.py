"""An audit as text. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowrail.handoff.audit import AuditReport, HandoffTimeline, HandoffTrace, SessionTimeline
from flowrail.text.phrases import count, duration
from flowrail.text.safe_text import shortened
from flowrail.text.table import table

_MAX_DEPTH = 16


def render(report: AuditReport) -> str:
    """Return the timelines of handoffs and sessions, and the traces that span several handoffs."""
    parts = [_handoff(handoff) for handoff in report.handoffs]
    parts += [_session(session) for session in report.sessions]
    parts += [_trace(trace) for trace in report.traces if len(trace.spans) > 1]
    parts += [f"{journal.id} cannot be read: {shortened(journal.message)}" for journal in report.unreadable]
    parts += [f"{id_} is foreign: it was not recorded by you on this machine" for id_ in report.foreign]
    return "\n\n".join(parts) or "no handoffs and no sessions"


def render_verification(result: Mapping[str, Any]) -> str:
    """Return what was verified, and every finding."""
    kinds = ("handoff", "session", "record", "payload")
    verified = ", ".join(count(result[f"{kind}s"], kind) for kind in kinds)
    findings = [
        f"{finding['id']}: {finding['code']}: {shortened(finding['message'], 400)}"
        for finding in result["findings"]
    ]
    verdict = count(len(findings), "finding") if findings else "unchanged since they were written"
    return "\n".join([*findings, f"{verified}: {verdict}"])


def _handoff(handoff: HandoffTimeline) -> str:
    head = (
        f"{handoff.handoff} · {shortened(handoff.source)} → {shortened(handoff.target)} · {handoff.phase} · "
        f"{duration(handoff.seconds)} · trace {shortened(handoff.trace_id)}"
        + (" · foreign" if handoff.foreign else "")
    )
    lines = [f"  chain {shortened(' → '.join(handoff.chain))}, hop {handoff.hops}"]
    if handoff.reason:
        lines.append(f"  reason {shortened(handoff.reason)}")
    if handoff.sha256:
        lines += [f"  payload {shortened(handoff.payload or '')}", f"  sha256 {shortened(handoff.sha256)}"]
    lines += [f"  stale: {shortened(message, 400)}" for message in handoff.missing]
    if handoff.receiver is not None:
        lines.append(
            f"  received by {shortened(handoff.receiver.by)} {shortened(handoff.receiver.session)}".rstrip()
        )
    lines += [
        f"  failed at {shortened(failure.at)}: {shortened(failure.code)}: {shortened(failure.message, 400)}"
        for failure in handoff.failures
    ]
    lines += [f"  cancelled: {shortened(reason)}" for reason in handoff.cancellations]
    lines += [
        f"  {'passed' if check.holds else 'FAILED'} {shortened(check.name)}: {shortened(check.message, 160)}"
        for check in handoff.checks
    ]
    rows = [
        [event.at, event.by, event.kind, event.event_type or "", duration(event.seconds), event.hash[:16]]
        for event in handoff.events
    ]
    columns = ["at", "by", "record", "event", "after", "hash"]
    return "\n".join([head, *lines, *_indented(table(columns, rows))])


def _session(session: SessionTimeline) -> str:
    received = f" · received {shortened(session.handoff)}" if session.handoff else ""
    head = (
        f"{session.session} · {shortened(session.status)} · revision {session.revision} · "
        f"{duration(session.seconds)}{received}"
    )
    rows = [
        [
            event.at,
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
    columns = ["at", "by", "record", "step", "outcome", "to", "evidence", "after", "hash"]
    return "\n".join([head, *_indented(table(columns, rows))])


def _trace(trace: HandoffTrace) -> str:
    lines = [f"trace {shortened(trace.trace_id)}: {shortened(' → '.join(trace.skills))}"]
    depths: dict[str, int] = {}
    for span in trace.spans:
        depth = min(depths.get(span.parent_span_id or "", -1) + 1, _MAX_DEPTH)
        depths[span.span_id] = depth
        lines.append(
            f"{'  ' * (depth + 1)}{shortened(span.span_id)} {shortened(span.source)} → {shortened(span.target)} "
            f"{span.phase} {duration(span.seconds)} ({span.handoff})"
        )
    return "\n".join(lines)


def _indented(text: str) -> Sequence[str]:
    return [f"  {text_line}" for text_line in text.splitlines()]
