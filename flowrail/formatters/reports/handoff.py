"""A handoff as data, and as a report. Foreign text becomes one visible line each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from flowrail.formatters.guidance.content import Show
from flowrail.handoff.checks import missing_parts, payload_path
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import MAX_LISTED, errors
from flowrail.handoff.handoff import ACKNOWLEDGMENT, EXPIRED, FAILED, INVOCATION, REJECTED, UNSENT, Handoff
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.check import CheckedPayload
from flowrail.handoff.payload.convert import ConvertedPayload
from flowrail.handoff.payload.document import get
from flowrail.handoff.phases import invocation_line, receive_command
from flowrail.handoff.receiving import Receipt
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
    paragraphs,
    title,
)
from flowrail.text.safe_text import shortened, visible


def as_data(
    context: HandoffContext, handoff: Handoff, *, replayed: bool = False, notes: Sequence[str] = ()
) -> dict[str, object]:
    """Return a handoff as data, with the commands that continue it."""
    handoff = handoff if handoff.foreign else _with_current_paths(context, handoff)
    missing = missing_parts(context.store, handoff)
    actions = _actions(context, handoff, missing)
    return {
        "handoff": handoff.id,
        "phase": handoff.phase,
        "source": handoff.source,
        "target": handoff.target,
        "session": handoff.session,
        "schema": handoff.schema,
        "payload": handoff.payload or None,
        "sha256": handoff.digest or None,
        "payload_hash": handoff.payload_hash or None,
        "size": handoff.size,
        "tokens": integrity.tiers(handoff.draft) if handoff.schema == "3.0" else None,
        "token_count": get(handoff.draft, "meta.token_count"),
        "started_at": handoff.started_at,
        "expires_at": handoff.expires_at or None,
        "expired": handoff.is_open
        and integrity.has_expired(moment(handoff.expires_at), context.current_time()),
        "lost": list(handoff.lost),
        "missing": list(missing.values()),
        "chain": [*handoff.chain, handoff.target],
        "hops": handoff.hops,
        "reason": handoff.reason,
        "trace_id": handoff.trace_id,
        "span_id": handoff.span_id,
        "parent_span_id": handoff.parent_span or None,
        "checks": to_plain(handoff.checks),
        "attempts": handoff.attempts,
        "failure": to_plain(handoff.failure),
        "claim": to_plain(handoff.claim),
        "cancelled": handoff.cancelled or None,
        "foreign": handoff.foreign,
        "has_workflow": handoff.has_workflow,
        "invocation": handoff.invocation or None,
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


def _with_current_paths(context: HandoffContext, handoff: Handoff) -> Handoff:
    """Return *handoff* with the current path of its payload, in case the project was moved."""
    current = payload_path(context.store, handoff)
    if current == handoff.payload:
        return handoff
    handoff = handoff._replace(payload=current)
    return handoff._replace(invocation=invocation_line(context, handoff))


def _actions(context: HandoffContext, handoff: Handoff, missing: Collection[str]) -> list[dict[str, object]]:
    actions: list[dict[str, object]] = []
    if handoff.phase == INVOCATION and not missing:
        actions.append({"does": "receive", "command": receive_command(context, handoff)})
    if (
        handoff.phase == FAILED
        or handoff.phase in UNSENT
        or (set(missing) == {"payload"} and handoff.is_open)
    ):
        retry = context.command("handoff retry", handoff.id, root=handoff.root)
        actions.append({"does": "retry", "command": retry})
    if handoff.is_open:
        actions.append({"does": "cancel", "command": context.command("handoff cancel", handoff.id)})
    return actions


def report(item: Mapping[str, Any], show: Show = str) -> Report:
    """Return one handoff: its phase, its checks, its failure, and the next commands."""
    lines = [*summary(item), *_check_lines(item["checks"]), *_failure_lines(item["failure"], item["phase"])]
    return [*lines, *_action_lines(item, show)]


def summary(item: Mapping[str, Any]) -> list[str | Line]:
    """Return the lines about a handoff's phase, chain, payload and receiver."""
    head = f"{item['handoff']} · {shortened(item['source'])} → {shortened(item['target'])}"
    marks = "".join(f" · {name}" for name in ("replayed", "expired", "foreign") if item[name])
    lines: list[str | Line] = [line(Span(head, Style.TITLE), " · ", phase_span(item["phase"]), marks)]
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
        lines.append(f"sha256   {shortened(item['sha256'] or '')}")
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
        return ["no handoffs; `flow handoff targets` lists the skills that can take over"]
    rows = [
        [
            item["handoff"],
            phase_span(item["phase"], _marks(item)),
            item.get("source", ""),
            item.get("target", ""),
            Moment(item.get("started_at", "")),
        ]
        for item in items
    ]
    head = columns("handoff", "phase", "from", "to", "started", wraps=("phase", "from", "to"))
    return [Table(head, rows)]


def phase_span(phase: str, rest: str = "") -> Span:
    """Return the phase of a handoff in its colour."""
    styles = {ACKNOWLEDGMENT: Style.GOOD, FAILED: Style.BAD, REJECTED: Style.BAD, EXPIRED: Style.WARNING}
    return Span(f"{phase}{rest}", styles.get(phase, Style.ACTIVE))


def _marks(item: Mapping[str, Any]) -> str:
    marks = [mark for mark in ("expired", "foreign") if item.get(mark)]
    marks += ["stale"] if item.get("missing") else []
    return "".join(f" ({mark})" for mark in marks)


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


def targets_report(menu: Report, offers: Sequence[Mapping[str, Any]]) -> Report:
    """Return a menu of targets, and the command that hands off to each of them."""
    lines: list[str | Line] = []
    for offer in offers:
        if offer["loop"]:
            lines.append(
                f"  {shortened(offer['skill'], 80)} already had this work: {shortened(offer['loop'])}"
            )
        lines.append(command(visible(offer["command"])))
    return paragraphs(menu, [title("Hand off (add `--reason WHY`)"), *lines] if lines else [])


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
    has_hint = bool((item["failure"] or {}).get("hint"))  # it shows the retry with the facts that it needs
    return [
        command(visible(show(action["command"])))
        for action in item["next"]
        if not (has_hint and action["does"] == "retry")
    ]
