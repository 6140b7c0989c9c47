"""Audits as text, from plain data; every foreign text becomes one visible line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowrail.text.phrases import count
from flowrail.text.safe_text import shortened
from flowrail.text.table import table

_MINUTE = 60
_DEEPEST = 16
"""So far a span is set in; ours go less deep, and what others recorded would be set in without end."""


def render(report: Mapping[str, Any]) -> str:
    """Return timelines of handoffs and sessions, and the traces that run through several skills."""
    parts = [_handoff(each) for each in report["handoffs"]]
    parts += [_session(each) for each in report["sessions"]]
    parts += [_trace(each) for each in report["traces"] if len(each["spans"]) > 1]
    parts += [f"{each['id']} cannot be read: {shortened(each['message'])}" for each in report["broken"]]
    return "\n\n".join(parts) or "nothing to tell of: no handoff and no session"


def render_proof(proof: Mapping[str, Any]) -> str:
    """Return what was verified, and everything that is wrong."""
    looked = ", ".join(
        count(proof[key], one)
        for key, one in (
            ("handoffs", "handoff"),
            ("sessions", "session"),
            ("records", "record"),
            ("payloads", "payload"),
        )
    )
    wrong = [f"{each['id']}: {each['code']}: {shortened(each['message'], 400)}" for each in proof["findings"]]
    verdict = f"{count(len(wrong), 'thing')} wrong" if wrong else "all as it was written and sent"
    return "\n".join([*wrong, f"{looked}: {verdict}"])


def took(seconds: float | None) -> str:
    """Return how long something took, as precisely as it matters."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _handoff(each: Mapping[str, Any]) -> str:
    head = (
        f"{each['handoff']} · {shortened(each['source'])} → {shortened(each['target'])} · {each['phase']} · "
        f"{took(each['seconds'])} · trace {shortened(each['trace_id'])}{_foreign(each)}"
    )
    about = [f"  chain {shortened(' → '.join(each['chain']))}, hop {each['hops']}"]
    if each["reason"]:
        about.append(f"  reason {shortened(each['reason'])}")
    if each["sha256"]:
        about.append(f"  payload {shortened(each['payload'] or '')}\n  sha256 {shortened(each['sha256'])}")
    if each["receiver"]:
        claim = each["receiver"]
        about.append(f"  received by {shortened(claim['by'])} {shortened(claim.get('session', ''))}".rstrip())
    about += [
        f"  failed at {shortened(failed['at'])}: {shortened(failed['code'] or '')}: {shortened(failed['message'] or '', 400)}"
        for failed in each["failures"]
    ]
    about += [f"  called off: {shortened(why)}" for why in called_off(each)]
    about += [
        f"  {'holds' if check['holds'] else 'FAILS'} {shortened(check['name'])}: {shortened(check['told'], 160)}"
        for check in each["checks"]
    ]
    rows = [
        [
            event["at"],
            event["by"],
            event["kind"],
            event["event_type"] or "",
            took(event["seconds"]),
            event["hash"][:16],
        ]
        for event in each["events"]
    ]
    return "\n".join(
        [head, *about, *_indented(table(["at", "by", "record", "event", "after", "hash"], rows))]
    )


def _session(each: Mapping[str, Any]) -> str:
    took_over = f" · took over {shortened(each['handoff'])}" if each["handoff"] else ""
    standing = f"{shortened(each['status'])} · revision {each['revision']} · {took(each['seconds'])}"
    head = f"{each['session']} · {standing}{took_over}{_foreign(each)}"
    rows = [
        [
            event["at"],
            event["by"],
            event["kind"],
            event["step"] or "",
            event["outcome"] or "",
            event["to"] or "",
            took(event["seconds"]),
            event["hash"][:16],
        ]
        for event in each["events"]
    ]
    columns = ["at", "by", "record", "step", "outcome", "to", "after", "hash"]
    return "\n".join([head, *_indented(table(columns, rows))])


def _trace(each: Mapping[str, Any]) -> str:
    lines = [f"trace {shortened(each['trace_id'])}: {shortened(' → '.join(each['skills']))}"]
    depth: dict[str, int] = {}
    for span in each["spans"]:
        depth[span["span_id"]] = min(depth.get(span["parent_span_id"] or "", -1) + 1, _DEEPEST)
        inset = "  " * (depth[span["span_id"]] + 1)
        lines.append(
            f"{inset}{shortened(span['span_id'])} {shortened(span['source'])} → {shortened(span['target'])} "
            f"{span['phase']} {took(span['seconds'])} ({span['handoff']}){_foreign(span)}"
        )
    return "\n".join(lines)


def _foreign(each: Mapping[str, Any]) -> str:
    return " · foreign" if each["foreign"] else ""


def _indented(text: str) -> Sequence[str]:
    return [f"  {each}" for each in text.splitlines()]


def called_off(each: Mapping[str, Any]) -> list[str]:
    """Return why a handoff was called off, where somebody said so."""
    notes = [event["note"] for event in each["events"] if event["kind"] == "cancel"]
    return [str(note["reason"]) for note in notes if note.get("reason")]
