"""A handoff as commands answer it: its state, what is missing, and the commands that continue it.

Foreign text becomes one visible line each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flowrail.command import Command
from flowrail.handoff.errors import MAX_LISTED
from flowrail.handoff.handoff import (
    ACKNOWLEDGED,
    EXPIRED,
    FAILED,
    REJECTED,
    Handoff,
    HandoffRequest,
)
from flowrail.handoff.payload.check import CheckedPayload
from flowrail.handoff.payload.convert import ConvertedPayload
from flowrail.handoff.payload.document import get
from flowrail.text.phrases import count, joined
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
    command,
    line,
)
from flowrail.text.safe_text import shortened, visible


@dataclass(frozen=True)
class HandoffAnswer(Handoff):
    """A handoff with the commands that continue it."""

    status: str = ""
    """Its state as people read it."""
    missing: tuple[str, ...] = ()
    """What is gone: its payload, its session or its target."""
    invocation: str | None = None
    """The line that invokes the target with the payload, while that can be received."""
    receive_command: Command | None = None
    """The command that receives the payload, while it can be received."""
    send_command: Command | None = None
    """The command that sends it again, if it was not sent, or its payload is gone or has expired."""
    cancel_command: Command | None = None
    """The command that cancels it, while it is open."""
    replayed: bool = False
    """Whether this is an earlier answer repeated."""
    notes: tuple[str, ...] = ()
    """What the caller should know."""

    def report(self) -> Report:
        """Return its status, its checks, its failure, and the next commands."""
        return [*summary(self), *_check_lines(self), *_failure_lines(self), *_next_lines(self)]


def receive_command(handoff: Handoff, shown_store: str | None) -> Command:
    """Return the command that receives the payload of *handoff*, whose path is complete, with its digest."""
    return Command(
        "handoff receive",
        handoff.payload,
        sha256=handoff.sha256,
        root=handoff.root or None,
        store=shown_store,
    )


def send_command(request: HandoffRequest, shown_store: str | None, *, root: str = "") -> Command:
    """Return the command of a request, without its facts."""
    return Command(
        "handoff send",
        request.target,
        session=request.session or None,
        payload=request.payload or None,
        new=request.new,
        again=request.again,
        reason=" ".join(request.reason.split()) or None,
        yes=request.yes,
        approved=request.approved,
        health_check=request.health_check,
        schema=request.schema or None,
        root=root or None,
        store=shown_store,
        **{"from": request.skill or None},
    )


def summary(shown: HandoffAnswer) -> list[str | Line]:
    """Return the lines about a handoff's status, chain, payload and receiver."""
    head = f"{shown.id} · {shortened(shown.source)} → {shortened(shown.target)}"
    marks = " · replayed" * shown.replayed + " · foreign" * shown.foreign
    lines: list[str | Line] = [line(Span(head, Style.TITLE), " · ", status_span(shown.status), marks)]
    lines += [line(Span("stale", Style.WARNING), f"    {shortened(gone, 400)}") for gone in shown.missing]
    lines += [f"  {shortened(note)}" for note in shown.notes]
    lines.append(f"chain    {shortened(' → '.join([*shown.chain, shown.target]))}  (hop {shown.hops})")
    if shown.request.reason:
        lines.append(f"reason   {shortened(shown.request.reason)}")
    if shown.cancelled:
        lines.append(f"cancelled: {shortened(shown.cancelled)}")
    if shown.payload:
        tokens = get(shown.content, "meta.token_count")
        size = f"{shown.size} bytes" + (f", {tokens} tokens" if tokens else "")
        about = f"  ({shortened(shown.schema)}, {shortened(size)})"
        lines.append(line("payload  ", FilePath(shown.payload), about))
        lines.append(f"sha256   {shortened(shown.sha256)}")
    if shown.expires_at:
        lines.append(line("expires  ", Moment(shortened(shown.expires_at))))
    if shown.receipt:
        session = f", session {shortened(shown.receipt.session)}" if shown.receipt.session else ""
        by = f" by {shortened(shown.receipt.by)}{session}"
        lines.append(line("received ", Moment(shortened(shown.receipt.at)), by))
    return lines


def list_report(shown: Sequence[HandoffAnswer], *, ended: int = 0) -> Report:
    """Return handoffs as a table. *ended* is the number of those that are not shown because they are over."""
    if not shown and ended:
        return [f"no open handoffs; `flow handoff status --all` lists those that ended ({ended})"]
    if not shown:
        return ["no handoffs; `flow discover` lists the skills that can take over"]
    rows: list[list[Part]] = [
        [
            item.id,
            status_span(item.status, " (foreign)" * item.foreign + " (stale)" * bool(item.missing)),
            item.source,
            item.target,
            Moment(item.started_at),
        ]
        for item in shown
    ]
    return [
        Table(columns("handoff", "status", "from", "to", "started", wraps=("status", "from", "to")), rows)
    ]


def status_span(status: str, rest: str = "") -> Span:
    """Return the status of a handoff in its colour."""
    styles = {ACKNOWLEDGED: Style.GOOD, FAILED: Style.BAD, REJECTED: Style.BAD, EXPIRED: Style.WARNING}
    return Span(f"{status}{rest}", styles.get(status, Style.ACTIVE))


def check_report(checked: CheckedPayload, source: str) -> Report:
    """Return the problems of a payload, a line each, and the verdict."""
    for problem in checked.findings:
        place = f"{shortened(source)}{f':{problem.line}' if problem.line else ''}"
        message = f"`{shortened(problem.field)}` {shortened(problem.message, 400)}"
        yield f"{place}: {problem.severity} {problem.kind}: {message}"
    if checked.ignored:
        yield f"ignored, not defined by {checked.version}: {joined(checked.ignored)}"
    number = len(checked.errors)
    version = f"payload version {checked.version}" if checked.version else "not a payload"
    yield f"{version}: {count(number, 'error') if number else 'valid'}"


def conversion_notes(converted: ConvertedPayload) -> Iterator[str]:
    """Yield what a conversion added and lost."""
    more = len(converted.lost) - MAX_LISTED
    if converted.added:
        yield f"added {', '.join(converted.added)}"
    if converted.lost:
        yield f"lost {'; '.join(converted.lost[:MAX_LISTED])}"
    if more > 0:
        yield f"lost {more} more; --json lists them all"


def _check_lines(shown: HandoffAnswer) -> Iterator[str | Line]:
    failed = [check for check in shown.checks if not check.holds]
    if shown.checks:
        passed = f"{len(shown.checks) - len(failed)} of {len(shown.checks)} passed"
        yield line("checks   ", Span(passed, Style.BAD if failed else Style.GOOD))
    for check in failed:
        yield f"  {shortened(check.name)}: {shortened(check.message, 400)}"


def _failure_lines(shown: HandoffAnswer) -> Iterator[str | Line]:
    failure = shown.failure
    if failure is None:
        return
    message = f"   {shortened(failure.code)}: {shortened(failure.message, 400)}"
    yield line(Span("failed", Style.BAD), message)
    if failure.payload_preserved:
        yield f"  the payload is saved in {shortened(failure.payload_preserved)}"
    if failure.hint and shown.phase == FAILED:
        yield command(visible(failure.hint))


def _next_lines(shown: HandoffAnswer) -> Iterator[str | Line]:
    receive = shown.receive_command
    if receive is None:
        has_hint = shown.failure is not None and bool(shown.failure.hint)  # it shows the send with its facts
        for action in (None if has_hint else shown.send_command, shown.cancel_command):
            if action is not None:
                yield command(visible(str(action)))
        return
    yield from ("", "Give this line to the agent that takes over:", command(visible(str(shown.invocation))))
    if not shown.has_workflow:
        yield from ("It confirms the receipt with:", command(visible(str(receive))))
