"""An audit as one HTML page that needs nothing beside itself: no script, no request, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flowrail.formatters.audit import took
from flowrail.formatters.escape import visible

_STYLE = """\
:root { color-scheme: light dark; --line: #8886; --good: #2a7d46; --bad: #b3261e; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
article { border: 1px solid var(--line); border-radius: .6rem; padding: .2rem 1rem 1rem; margin: 1rem 0; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin-top: .6rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; }
th, td { border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { opacity: .7; } dd { margin: 0; }
.tag { border-radius: 1rem; padding: .05rem .6rem; background: var(--soft); }
.tag { font-size: .8rem; font-weight: 400; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
.bar { height: .5rem; background: var(--good); border-radius: .25rem; min-width: 2px; }
"""

_GOOD, _BAD = frozenset({"acknowledgment", "completed"}), frozenset({"failed", "rejected", "expired"})


def render(report: Mapping[str, Any], *, title: str, made: str) -> str:
    """Return the page of *report*, *made* at that moment."""
    handoffs, sessions = report["handoffs"], report["sessions"]
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{len(handoffs)} handoffs, {len(sessions)} sessions; made {_text(made)}.</p>",
        *_part("Cannot be read", (_broken(each) for each in report["broken"])),
        *_part("Traces", (_trace(each) for each in report["traces"])),
        *_part("Handoffs", (_handoff(each) for each in handoffs)),
        *_part("Sessions", (_session(each) for each in sessions)),
    ]
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_text(title)}</title><style>\n{_STYLE}</style></head><body>"
    )
    return "\n".join([head, *body, "</body></html>"])


def _part(title: str, articles: Iterable[str]) -> list[str]:
    found = list(articles)
    return [f"<h2>{title}</h2>", *found] if found else []


def _handoff(each: Mapping[str, Any]) -> str:
    about = [
        ("chain", _text(" → ".join(each["chain"]))),
        ("hop", _text(each["hops"])),
        ("reason", _text(each["reason"] or "none given")),
        ("trace", _code(each["trace_id"])),
        ("payload", _code(each["payload"] or "none")),
        ("sha256", _code(each["sha256"] or "none")),
        ("took", _text(took(each["seconds"]))),
        ("attempts that failed", _text(each["attempts"])),
    ]
    if each["receiver"]:
        said = f"{each['receiver']['by']} at {each['receiver']['at']} {each['receiver'].get('session', '')}"
        about.append(("received by", _text(said)))
    checks = [
        [_verdict(check["holds"]), _code(check["name"]), _text(check["told"])] for check in each["checks"]
    ]
    events = [
        [
            _text(event["at"]), _text(event["by"]), _text(event["kind"]), _text(event["event_type"] or ""),
            _text(took(event["seconds"])), _code(event["hash"][:16]),
        ]
        for event in each["events"]
    ]  # fmt: skip
    title = (
        f"{_text(each['source'])} → {_text(each['target'])} {_tag(each['phase'])} {_code(each['handoff'])}"
    )
    return _article(
        title,
        about,
        _table(["", "check", "what was seen"], checks),
        _table(["at", "by", "record", "event", "after", "hash"], events),
    )


def _session(each: Mapping[str, Any]) -> str:
    about = [("took", _text(took(each["seconds"]))), ("revision", _text(each["revision"]))]
    if each["handoff"]:
        about.append(("took over", _code(each["handoff"])))
    events = [
        [
            _text(event["at"]), _text(event["by"]), _text(event["kind"]), _text(event["step"] or ""),
            _text(event["outcome"] or ""), _text(event["to"] or ""), _text(took(event["seconds"])),
            _code(event["hash"][:16]),
        ]
        for event in each["events"]
    ]  # fmt: skip
    title = f"{_text(each['skill'])} {_tag(each['status'])} {_code(each['session'])}"
    return _article(
        title, about, _table(["at", "by", "record", "step", "outcome", "to", "after", "hash"], events)
    )


def _trace(each: Mapping[str, Any]) -> str:
    longest = max((span["seconds"] or 0 for span in each["spans"]), default=0) or 1
    rows = [
        [
            f"{_text(span['source'])} → {_text(span['target'])}",
            _tag(span["phase"]),
            f'<div class="bar" style="width: {100 * (span["seconds"] or 0) / longest:.0f}%"></div>',
            _text(took(span["seconds"])),
            _code(span["span_id"]),
            _code(span["parent_span_id"] or "—"),
        ]
        for span in each["spans"]
    ]
    title = f"{_text(' → '.join(each['skills']))} {_code(each['trace_id'])}"
    return _article(title, [], _table(["handoff", "phase", "", "took", "span", "parent"], rows))


def _broken(each: Mapping[str, Any]) -> str:
    return f'<p class="bad">{_code(each["id"])} {_text(each["code"])}: {_text(each["message"])}</p>'


def _article(title: str, about: list[tuple[str, str]], *tables: str) -> str:
    told = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in about)
    return f"<article><h3>{title}</h3><dl>{told}</dl>{''.join(tables)}</article>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{name}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{lines}</tbody></table>"


def _verdict(holds: bool) -> str:
    return '<span class="good">holds</span>' if holds else '<span class="bad">fails</span>'


def _tag(phase: str) -> str:
    kind = " good" if phase in _GOOD else " bad" if phase in _BAD else ""
    return f'<span class="tag{kind}">{_text(phase)}</span>'


def _code(text: object) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: object) -> str:
    shown = visible(str(text))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        shown = shown.replace(char, entity)
    return shown
