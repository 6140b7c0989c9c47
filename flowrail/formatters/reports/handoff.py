"""A handoff as data, and as a report. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flowrail.discovery.compatibility import normal_version
from flowrail.formatters.guidance.content import Show
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import MAX_LISTED, errors
from flowrail.handoff.handoff import ACKNOWLEDGED, EXPIRED, FAILED, INVOCATION, REJECTED, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.check import CheckedPayload
from flowrail.handoff.payload.convert import ConvertedPayload
from flowrail.handoff.payload.document import get
from flowrail.handoff.receiving import Receipt
from flowrail.handoff.request import HandoffRequest
from flowrail.handoff.sending import invocation_line, receive_command, send_command
from flowrail.handoff.store import missing_parts, payload_path
from flowrail.storage.records import to_plain
from flowrail.text.phrases import count, joined, moment
from flowrail.text.report import (
    FilePath,
    Line,
    Moment,
    Report,
    Span,
    Style,
    Table,
    columns,
    command,
    line,
)
from flowrail.text.safe_text import shortened, visible

_INTERNAL = (
    "id", "content", "facts", "request", "identity", "form", "target_path", "target_digest", "trigger", "yes",
    "health",
)  # fmt: skip
"""Fields of a handoff that only flowrail needs."""


def as_data(
    context: HandoffContext, handoff: Handoff, *, replayed: bool = False, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a handoff as data, with the commands that continue it."""
    handoff = replace(handoff, payload=payload_path(context.store, handoff))
    missing = missing_parts(context.store, handoff)
    expired = handoff.is_open and integrity.has_expired(moment(handoff.expires_at), context.current_time())
    is_received = handoff.phase == INVOCATION and not missing and not expired
    actions = list(_actions(context, handoff, missing, receive=is_received, expired=expired))
    fields = to_plain(handoff)
    return {
        "handoff": handoff.id,
        "status": EXPIRED if expired else handoff.status,
        **{name: value for name, value in fields.items() if name not in _INTERNAL},
        "chain": [*handoff.chain, handoff.target],
        "token_count": get(handoff.content, "meta.token_count"),
        "missing": list(missing.values()),
        "invocation": invocation_line(context, handoff) if is_received else None,
        "receive_command": next((a["command"] for a in actions if a["does"] == "receive"), None),
        "next": actions,
        "replayed": replayed,
        "notes": list(notes),
    }


def receipt_data(context: HandoffContext, receipt: Receipt) -> dict[str, object]:
    """Return a received handoff as data, with its payload in the version that the target reads."""
    converted = receipt.converted
    payload = receipt.payload if converted is None else converted.payload
    return {
        **as_data(context, receipt.handoff),
        "converted": None
        if converted is None
        else {
            "version": converted.payload.version,
            "file": converted.path,
            "added": list(converted.payload.added),
            "lost": list(converted.payload.lost),
        },
        "handoff_payload": payload.handoff,
    }


def receipt_notes(receipt: Receipt) -> list[str]:
    """Return that a received payload was converted, and what was added and lost."""
    if receipt.converted is None:
        return []
    converted = receipt.converted.payload
    head = f"converted from {receipt.payload.version} to {converted.version}: {receipt.converted.path}"
    return [head, *conversion_notes(converted)]


def conversion_notes(converted: ConvertedPayload) -> list[str]:
    """Return what a conversion added and lost."""
    more = len(converted.lost) - MAX_LISTED
    return [
        *([f"added {'; '.join(converted.added)}"] if converted.added else []),
        *([f"lost {'; '.join(converted.lost[:MAX_LISTED])}"] if converted.lost else []),
        *([f"lost {more} more; --json lists them all"] if more > 0 else []),
    ]


def _actions(
    context: HandoffContext, handoff: Handoff, missing: Collection[str], *, receive: bool, expired: bool
) -> Iterator[dict[str, object]]:
    """Yield the commands that continue a handoff."""
    if receive:
        yield {"does": "receive", "command": receive_command(context, handoff)}
    is_lost = set(missing) == {"payload"} or (expired and not missing)
    if handoff.is_open and (handoff.phase != INVOCATION or is_lost):
        request = HandoffRequest(
            handoff.target,
            session=handoff.session,
            skill="" if handoff.session else handoff.source,
            reason=handoff.reason,
            schema="" if handoff.schema == normal_version(handoff.target_schema) else handoff.schema,
            yes=handoff.yes,
            approved=handoff.approved,
        )
        send = send_command(context, request, root=handoff.root).with_options(facts=handoff.facts)
        yield {"does": "send", "command": send}
    if handoff.is_open:
        yield {"does": "cancel", "command": context.command("handoff cancel", handoff.id)}


def report(item: Mapping[str, Any], show: Show = str) -> Report:
    """Return one handoff: its status, its checks, its failure, and the next commands."""
    lines = [*summary(item), *_check_lines(item["checks"]), *_failure_lines(item["failure"], item["phase"])]
    return [*lines, *_action_lines(item, show)]


def summary(item: Mapping[str, Any]) -> list[str | Line]:
    """Return the lines about a handoff's status, chain, payload and receiver."""
    head = f"{item['handoff']} · {shortened(item['source'])} → {shortened(item['target'])}"
    marks = "".join(f" · {name}" for name in ("replayed", "foreign") if item[name])
    lines: list[str | Line] = [line(Span(head, Style.TITLE), " · ", status_span(item["status"]), marks)]
    lines += [
        line(Span("stale", Style.WARNING), f"    {shortened(message, 400)}") for message in item["missing"]
    ]
    lines += [f"  {shortened(note)}" for note in item["notes"]]
    lines += [f"chain    {shortened(' → '.join(item['chain']))}  (hop {item['hops']})"]
    if item["reason"]:
        lines.append(f"reason   {shortened(item['reason'])}")
    if item["cancelled"]:
        lines.append(f"cancelled: {shortened(item['cancelled'])}")
    if item["payload"]:
        size = f"{item['size']} bytes" + (f", {item['token_count']} tokens" if item["token_count"] else "")
        about = f"  ({shortened(item['schema'])}, {shortened(size)})"
        lines.append(line("payload  ", FilePath(item["payload"]), about))
        lines.append(f"sha256   {shortened(item['sha256'])}")
    if item["expires_at"]:
        lines.append(line("expires  ", Moment(shortened(item["expires_at"]))))
    if item["claim"]:
        claim = item["claim"]
        session = f", session {shortened(claim['session'])}" if claim["session"] else ""
        by = f" by {shortened(claim['by'])}{session}"
        lines.append(line("received ", Moment(shortened(claim["at"])), by))
    return lines


def list_report(items: Sequence[Mapping[str, Any]], *, ended: int = 0) -> Report:
    """Return handoffs as a table. *ended* is the number of those that are not shown because they are over."""
    if not items and ended:
        return [f"no open handoffs; `flow handoff status --all` lists those that ended ({ended})"]
    if not items:
        return ["no handoffs; `flow discover` lists the skills that can take over"]
    rows = [
        [
            item["handoff"],
            status_span(item["status"], _marks(item)),
            item.get("source", ""),
            item.get("target", ""),
            Moment(item.get("started_at", "")),
        ]
        for item in items
    ]
    head = columns("handoff", "status", "from", "to", "started", wraps=("status", "from", "to"))
    return [Table(head, rows)]


def status_span(status: str, rest: str = "") -> Span:
    """Return the status of a handoff in its colour."""
    styles = {ACKNOWLEDGED: Style.GOOD, FAILED: Style.BAD, REJECTED: Style.BAD, EXPIRED: Style.WARNING}
    return Span(f"{status}{rest}", styles.get(status, Style.ACTIVE))


def _marks(item: Mapping[str, Any]) -> str:
    marks = ["foreign"] if item["foreign"] else []
    return "".join(f" ({mark})" for mark in [*marks, *(["stale"] if item["missing"] else [])])


def render_check(checked: CheckedPayload, source: str) -> str:
    """Return the problems of a payload, a line each, and the verdict."""
    lines = [
        f"{shortened(source)}{f':{problem.line}' if problem.line else ''}: {problem.severity} {problem.kind}: "
        f"`{shortened(problem.field)}` {shortened(problem.message, 400)}"
        for problem in checked.findings
    ]
    if checked.ignored:
        lines.append(f"ignored, not defined by {checked.version}: {joined(checked.ignored)}")
    if checked.tokens and any(checked.tokens.values()):
        tiers = ", ".join(f"{tier} {number}" for tier, number in checked.tokens.items() if number)
        lines.append(f"tokens: {tiers}, {sum(checked.tokens.values())} in total")
    version = f"payload version {checked.version}" if checked.version else "not a payload"
    number = len(errors(checked.findings))
    lines.append(f"{version}: {count(number, 'error') if number else 'valid'}")
    return "\n".join(lines)


def _check_lines(checks: Sequence[Mapping[str, Any]]) -> list[str | Line]:
    if not checks:
        return []
    failed = [check for check in checks if not check["holds"]]
    passed = f"{len(checks) - len(failed)} of {len(checks)} passed"
    lines = [line("checks   ", Span(passed, Style.BAD if failed else Style.GOOD))]
    return lines + [f"  {shortened(check['name'])}: {shortened(check['message'], 400)}" for check in failed]


def _failure_lines(failure: Mapping[str, Any] | None, phase: str) -> list[str | Line]:
    if not failure:
        return []
    message = f"   {shortened(failure['code'])}: {shortened(failure['message'], 400)}"
    lines: list[str | Line] = [line(Span("failed", Style.BAD), message)]
    if failure["payload_preserved"]:
        lines.append(f"  the payload is saved in {shortened(failure['payload_preserved'])}")
    return lines + ([command(visible(failure["hint"]))] if failure["hint"] and phase == FAILED else [])


def _action_lines(item: Mapping[str, Any], show: Show) -> list[str | Line]:
    if item["receive_command"]:
        lines: list[str | Line] = [""]
        receive = show(item["receive_command"])
        invocation = receive if item["has_workflow"] else item["invocation"]
        if invocation:
            lines += ["Give this line to the agent that takes over:", command(visible(invocation))]
        if not item["has_workflow"]:
            lines += ["It confirms the receipt with:", command(visible(receive))]
        return lines
    has_hint = bool((item["failure"] or {}).get("hint"))  # it shows the send with the facts that it needs
    return [
        command(visible(show(action["command"])))
        for action in item["next"]
        if not (has_hint and action["does"] == "send")
    ]
