"""An audit as one HTML page without scripts or external resources. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from flowrail.handoff.audit import AuditReport, HandoffTimeline, SessionTimeline, UnreadableJournal
from flowrail.handoff.handoff import CheckResult
from flowrail.text.phrases import count, duration
from flowrail.text.safe_text import visible

_GOOD = frozenset({"acknowledgment", "completed"})
_BAD = frozenset({"failed", "rejected", "expired", "abandoned"})
_PHASES = ("discovery", "selection", "validation", "transfer", "invocation", "acknowledgment")
_HANDOFF_COLUMNS = ("at (UTC)", "by", "record", "event", "after", "hash")
_SESSION_COLUMNS = ("at (UTC)", "by", "record", "step", "outcome", "to", "after", "hash")
_FOREIGN = ' <span class="tag bad">foreign</span>'
_STALE = ' <span class="tag bad">stale</span>'


def render(report: AuditReport, *, title: str, created: str, colours: str = "") -> str:
    """Return the page of *report*. *colours* are CSS variables."""
    sections = (
        ("Cannot be read", [_unreadable(journal) for journal in report.unreadable]),
        (
            "Foreign",
            [f"<p>{_code(id_)} was not recorded by you on this machine</p>" for id_ in report.foreign],
        ),
        ("Overview", [_overview(report.handoffs)] if len(report.handoffs) > 1 else []),
        ("Handoffs", [_handoff(handoff) for handoff in report.handoffs]),
        ("Sessions", [_session(session) for session in report.sessions]),
    )
    folder = files("flowrail.formatters.reports")
    return Template(folder.joinpath("audit.html").read_text(encoding="utf-8")).substitute(
        title=_text(title),
        style=f"{colours}\n" + folder.joinpath("audit.css").read_text(encoding="utf-8"),
        counts=f"{count(len(report.handoffs), 'handoff')}, {count(len(report.sessions), 'session')}",
        created=_time(created),
        body="\n".join(
            line for name, articles in sections if articles for line in (f"<h2>{name}</h2>", *articles)
        ),
    )


def _overview(handoffs: Sequence[HandoffTimeline]) -> str:
    rows = [
        [
            _handoff_link(handoff),
            _tag(handoff.phase) + (_FOREIGN if handoff.foreign else "") + (_STALE if handoff.missing else ""),
            _time(handoff.started_at),
            _text(duration(handoff.seconds)),
            _check_count(handoff.checks),
            f'<span class="bad">{len(handoff.failures)}</span>' if handoff.failures else "none",
        ]
        for handoff in handoffs
    ]
    head = ("handoff", "phase", "started (UTC)", "took", "checks", "failures")
    return f"<article>{_table(head, rows)}</article>"


def _handoff(handoff: HandoffTimeline) -> str:
    title = (
        f"{_text(handoff.source)} → {_text(handoff.target)} {_tag(handoff.phase, handoff.result)}"
        f"{_FOREIGN if handoff.foreign else ''} {_code(handoff.handoff)}"
    )
    rows = [
        [
            _time(event.at),
            _text(event.by),
            _text(event.kind),
            _text(event.event_type or ""),
            _text(duration(event.seconds)),
            _code(event.hash[:16]),
        ]
        for event in handoff.events
    ]
    return _article(
        handoff.handoff,
        title,
        _track(handoff),
        _facts(_handoff_facts(handoff)),
        _checks(handoff.checks),
        _table(_HANDOFF_COLUMNS, rows),
    )


def _handoff_facts(handoff: HandoffTimeline) -> Iterable[tuple[str, str]]:
    yield "chain", f"{_text(' → '.join(handoff.chain))} (hop {handoff.hops})"
    yield "reason", _text(handoff.reason or "none given")
    yield "took", _text(duration(handoff.seconds))
    yield "from session", _session_link(handoff.session)
    yield "trace", _code(handoff.trace_id)
    yield "payload", _code(handoff.payload or "none")
    yield "sha256", _code(handoff.sha256 or "none")
    if (claim := handoff.receiver) is not None:
        session = f", session {_session_link(claim.session)}" if claim.session else ""
        yield "received by", f"{_text(claim.by)} at {_time(claim.at)}{session}"
    if handoff.retries:
        yield "retried", count(handoff.retries, "time")
    for message in handoff.missing:
        yield "stale", f'<span class="bad">{_text(message)}</span>'
    for failure in handoff.failures:
        code = f'<span class="bad">{_text(failure.code)}</span>'
        yield "failed", f"{_time(failure.at)} {code}: {_text(failure.message)}"
    for reason in handoff.cancellations:
        yield "cancelled", _text(reason)


def _track(handoff: HandoffTimeline) -> str:
    """Return the phases in order: those that were reached, those ahead, and a bad end if there is one."""
    reached = {event.phase for event in handoff.events}
    bad_end = handoff.phase not in _PHASES
    marks = [
        (phase, "good" if phase in reached else "ahead")
        for phase in _PHASES
        if phase in reached or not bad_end
    ]
    marks += [(handoff.phase, "bad")] if bad_end else []
    items = "".join(f'<li class="{mark}">{_text(phase)}</li>' for phase, mark in marks)
    return f'<ol class="track">{items}</ol>'


def _checks(checks: Sequence[CheckResult]) -> str:
    if not checks:
        return ""
    rows = [[_verdict(check.holds), _code(check.name), _text(check.message)] for check in checks]
    shown = "" if all(check.holds for check in checks) else " open"
    table = _table(("", "check", "result"), rows)
    return f"<details{shown}><summary>checks: {_check_count(checks)}</summary>{table}</details>"


def _check_count(checks: Sequence[CheckResult]) -> str:
    if not checks:
        return "not checked yet"
    passed = sum(check.holds for check in checks)
    mark = "good" if passed == len(checks) else "bad"
    return f'<span class="{mark}">{passed} of {len(checks)} passed</span>'


def _session(session: SessionTimeline) -> str:
    facts = [("took", _text(duration(session.seconds))), ("revision", _text(session.revision))]
    if session.handoff:
        facts.append(("received", f'<a href="#{_text(session.handoff)}">{_code(session.handoff)}</a>'))
    rows = [
        [
            _time(event.at),
            _text(event.by),
            _text(event.kind),
            _text(event.step or ""),
            _text(", ".join(filter(None, (event.outcome, event.evidence)))),
            _text(event.to or ""),
            _text(duration(event.seconds)),
            _code(event.hash[:16]),
        ]
        for event in session.events
    ]
    name = f"{session.skill}: {session.topic}" if session.topic else session.skill
    title = f"{_text(name)} {_tag(session.status)} {_code(session.session)}"
    return _article(session.session, title, _facts(facts), _table(_SESSION_COLUMNS, rows))


def _unreadable(journal: UnreadableJournal) -> str:
    return f'<p class="bad">{_code(journal.id)} {_text(journal.code)}: {_text(journal.message)}</p>'


def _article(name: str, title: str, *parts: str) -> str:
    return f'<article id="{_text(name)}"><h3>{title}</h3>{"".join(parts)}</article>'


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in facts)}</dl>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{name}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, head, row))}</tr>\n" for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{lines}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="group" aria-label="Table, scrollable">{table}</div>'


def _cell(name: str, cell: str) -> str:
    return f'<td data-label="{name}">{cell}</td>'


def _handoff_link(handoff: HandoffTimeline) -> str:
    return f'<a href="#{_text(handoff.handoff)}">{_text(handoff.source)} → {_text(handoff.target)}</a>'


def _session_link(session: str) -> str:
    return f'<a href="#{_text(session)}">{_code(session)}</a>' if session else "elsewhere"


def _verdict(holds: bool) -> str:
    return '<span class="good">passed</span>' if holds else '<span class="bad">failed</span>'


def _tag(phase: str, text: str = "") -> str:
    return f'<span class="tag{_mark(phase)}">{_text(text or phase)}</span>'


def _mark(phase: str) -> str:
    return " good" if phase in _GOOD else " bad" if phase in _BAD else ""


def _time(at: str) -> str:
    return f"<time>{_text(at.replace('T', ' ', 1).removesuffix('Z'))}</time>"


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: object) -> str:
    return escape(visible(str(text)))
