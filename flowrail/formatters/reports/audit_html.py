"""An audit as one HTML page that needs nothing beside itself: no script, no request, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from flowrail.formatters.reports.audit import called_off, took
from flowrail.formatters.reports.audit_style import STYLE
from flowrail.text.phrases import count
from flowrail.text.safe_text import visible

_GOOD, _BAD = (
    frozenset({"acknowledgment", "completed"}),
    frozenset({"failed", "rejected", "expired", "abandoned"}),
)
_WAY = ("discovery", "selection", "validation", "transfer", "invocation", "acknowledgment")
_NO_PICTURES: Mapping[str, str] = MappingProxyType({})
_EVENT_HEAD = ("at (UTC)", "by", "record", "event", "after", "hash")
_MOVE_HEAD = ("at (UTC)", "by", "record", "step", "outcome", "to", "after", "hash")


def render(
    report: Mapping[str, Any], *, title: str, made: str, pictures: Mapping[str, str] = _NO_PICTURES
) -> str:
    """Return the page of *report*, *made* at that moment; *pictures* are SVG by the id of a handoff."""
    handoffs, sessions = report["handoffs"], report["sessions"]
    many = f"{count(len(handoffs), 'handoff')}, {count(len(sessions), 'session')}"
    body = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="about">{many}; made {_time(made)} UTC.</p>',
        *_part("Cannot be read", (_broken(each) for each in report["broken"])),
        *_part("Overview", [_overview(handoffs)] if len(handoffs) > 1 else []),
        *_part("Traces", (_trace(each) for each in report["traces"] if len(each["spans"]) > 1)),
        *_part("Handoffs", (_handoff(each, pictures.get(each["handoff"], "")) for each in handoffs)),
        *_part("Sessions", (_session(each) for each in sessions)),
    ]
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_text(title)}</title><style>\n{STYLE}</style></head><body>"
    )
    return "\n".join([head, *body, "</body></html>"])


def _part(title: str, articles: Iterable[str]) -> list[str]:
    found = list(articles)
    return [f"<h2>{title}</h2>", *found] if found else []


def _overview(handoffs: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            f'<a href="#{_text(each["handoff"])}">{_text(each["source"])} → {_text(each["target"])}</a>',
            _tag(each["phase"]) + _foreign(each),
            _time(each["started_at"]),
            _text(took(each["seconds"])),
            _checked(each["checks"]),
            f'<span class="bad">{len(each["failures"])}</span>' if each["failures"] else "none",
        ]
        for each in handoffs
    ]
    head = ("handoff", "phase", "started (UTC)", "took", "checks", "failures")
    return f"<article>{_table(head, rows)}</article>"


def _handoff(each: Mapping[str, Any], picture: str) -> str:
    about = [
        ("chain", f"{_text(' → '.join(each['chain']))} (hop {_text(each['hops'])})"),
        ("reason", _text(each["reason"] or "none given")),
        ("took", _text(took(each["seconds"]))),
        ("from session", _session_link(each["session"])),
        ("trace", _code(each["trace_id"])),
        ("payload", _code(each["payload"] or "none")),
        ("sha256", _code(each["sha256"] or "none")),
    ]
    if each["receiver"]:
        claim = each["receiver"]
        begun = f", session {_session_link(claim['session'])}" if claim.get("session") else ""
        about.append(("received by", f"{_text(claim['by'])} at {_time(claim['at'])}{begun}"))
    if each["retries"]:
        about.append(("tried again", count(each["retries"], "time")))
    about += [
        (
            "failed",
            f'{_time(failed["at"])} <span class="bad">{_text(failed["code"] or "")}</span>: '
            + _text(failed["message"] or ""),
        )
        for failed in each["failures"]
    ]
    about += [("called off", _text(why)) for why in called_off(each)]
    events = [
        [
            _time(event["at"]), _text(event["by"]), _text(event["kind"]), _text(event["event_type"] or ""),
            _text(took(event["seconds"])), _code(event["hash"][:16]),
        ]
        for event in each["events"]
    ]  # fmt: skip
    title = (
        f"{_text(each['source'])} → {_text(each['target'])} {_tag(each['phase'])}{_foreign(each)} "
        f"{_code(each['handoff'])}"
    )
    drawn = f"<details><summary>its way through the machine</summary>{picture}</details>" if picture else ""
    parts = (_track(each), _about(about), _checks(each["checks"]), drawn, _table(_EVENT_HEAD, events))
    return _article(each["handoff"], title, *parts)


def _track(each: Mapping[str, Any]) -> str:
    """Return the way of the machine, with the phases that were reached, and the end that was none of them."""
    reached = {event["phase"] for event in each["events"]}
    last, ended = each["phase"], each["phase"] not in _WAY
    marks = [
        (phase, "good" if phase in reached else "ahead") for phase in _WAY if phase in reached or not ended
    ]
    marks += [(last, "bad")] if ended else []
    items = "".join(f'<li class="{mark}">{_text(phase)}</li>' for phase, mark in marks)
    return f'<ol class="track">{items}</ol>'


def _checks(checks: Sequence[Mapping[str, Any]]) -> str:
    if not checks:
        return ""
    rows = [[_verdict(check["holds"]), _code(check["name"]), _text(check["told"])] for check in checks]
    shown = "" if all(check["holds"] for check in checks) else " open"
    table = _table(("", "check", "what was seen"), rows)
    return f"<details{shown}><summary>checks: {_checked(checks)}</summary>{table}</details>"


def _checked(checks: Sequence[Mapping[str, Any]]) -> str:
    if not checks:
        return "not checked yet"
    good = sum(bool(check["holds"]) for check in checks)
    return f'<span class="{"good" if good == len(checks) else "bad"}">{good} of {len(checks)} hold</span>'


def _session(each: Mapping[str, Any]) -> str:
    about = [("took", _text(took(each["seconds"]))), ("revision", _text(each["revision"]))]
    if each["handoff"]:
        about.append(("took over", f'<a href="#{_text(each["handoff"])}">{_code(each["handoff"])}</a>'))
    events = [
        [
            _time(event["at"]), _text(event["by"]), _text(event["kind"]), _text(event["step"] or ""),
            _text(event["outcome"] or ""), _text(event["to"] or ""), _text(took(event["seconds"])),
            _code(event["hash"][:16]),
        ]
        for event in each["events"]
    ]  # fmt: skip
    title = f"{_text(each['skill'])} {_tag(each['status'])}{_foreign(each)} {_code(each['session'])}"
    return _article(each["session"], title, _about(about), _table(_MOVE_HEAD, events))


def _trace(each: Mapping[str, Any]) -> str:
    """Return the spans of a trace, each where it lies in the time of the whole."""
    spans = each["spans"]
    starts = [_seconds(span["started_at"]) for span in spans]
    begin = min(starts)
    whole = (
        max(start - begin + (span["seconds"] or 0) for start, span in zip(starts, spans, strict=True)) or 1
    )
    rows = [
        [
            f'<a href="#{_text(span["handoff"])}">{_text(span["source"])} → {_text(span["target"])}</a>',
            _tag(span["phase"]) + _foreign(span),
            _bar(span, (start - begin) / whole, (span["seconds"] or 0) / whole),
            _text(took(span["seconds"])),
            _code(span["span_id"]),
            _code(span["parent_span_id"]) if span["parent_span_id"] else "—",
        ]
        for start, span in zip(starts, spans, strict=True)
    ]
    title = f"{_text(' → '.join(each['skills']))} {_code(each['trace_id'])}"
    table = _table(("handoff", "phase", "when", "took", "span", "parent"), rows)
    return _article(each["trace_id"], title, table.replace("<th>when", '<th class="span">when'))


def _bar(span: Mapping[str, Any], before: float, part: float) -> str:
    place = f"left: {min(before, 0.99):.1%}; width: {min(part, 1.0):.1%}"
    return f'<div class="lane"><div class="bar{_kind(span["phase"]) or " open"}" style="{place}"></div></div>'


def _seconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def _broken(each: Mapping[str, Any]) -> str:
    return f'<p class="bad">{_code(each["id"])} {_text(each["code"])}: {_text(each["message"])}</p>'


def _article(name: object, title: str, *parts: str) -> str:
    return f'<article id="{_text(name)}"><h3>{title}</h3>{"".join(parts)}</article>'


def _about(about: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in about)}</dl>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{name}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{lines}</tbody></table>"


def _session_link(session: str) -> str:
    return f'<a href="#{_text(session)}">{_code(session)}</a>' if session else "elsewhere"


def _verdict(holds: bool) -> str:
    return '<span class="good">holds</span>' if holds else '<span class="bad">fails</span>'


def _tag(phase: str) -> str:
    return f'<span class="tag{_kind(phase)}">{_text(phase)}</span>'


def _foreign(each: Mapping[str, Any]) -> str:
    return ' <span class="tag bad">foreign</span>' if each["foreign"] else ""


def _kind(phase: str) -> str:
    return " good" if phase in _GOOD else " bad" if phase in _BAD else ""


def _time(at: str) -> str:
    return f"<time>{_text(at.replace('T', ' ', 1).removesuffix('Z'))}</time>"


def _code(text: object) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: object) -> str:
    shown = visible(str(text))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        shown = shown.replace(char, entity)
    return shown
