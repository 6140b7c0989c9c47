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
    facts,
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
        """Return its status, what is known about it, and the next commands."""
        head = f"{self.id} · {shortened(self.source)} → {shortened(self.target)}"
        marks = " · replayed" * self.replayed + " · foreign" * self.foreign
        yield line(Span(head, Style.TITLE), " · ", status_span(self.status), marks)
        failed = [check for check in self.checks if not check.holds]
        tokens = get(self.content, "meta.token_count")
        receipt, failure = self.receipt, self.failure
        yield from facts(
            {
                "stale": "; ".join(self.missing),
                "note": "; ".join(self.notes),
                "chain": f"{' → '.join([*self.chain, self.target])}  (hop {self.hops})",
                "reason": self.request.reason,
                "cancelled": self.cancelled,
                "payload": FilePath(self.payload) if self.payload else "",
                "version": f"{self.schema}, {self.size} bytes, {tokens or 0} tokens" if self.payload else "",
                "sha256": self.sha256 if self.payload else "",
                "expires": Moment(self.expires_at) if self.expires_at else "",
                "received": f"{receipt.at} by {receipt.by}" if receipt else "",
                "session": receipt.session if receipt else "",
                "checks": f"{len(self.checks) - len(failed)} of {len(self.checks)} passed"
                if self.checks
                else "",
                "failed": f"{failure.code}: {failure.message}" if failure else "",
                "saved in": failure.payload_preserved or "" if failure else "",
            }
        )
        yield from (f"  {shortened(check.name)}: {shortened(check.message, 400)}" for check in failed)
        yield from self._next_lines()

    def _next_lines(self) -> Iterator[str | Line]:
        if self.receive_command is not None:
            yield from (
                "",
                "Give this line to the agent that takes over:",
                command(visible(str(self.invocation))),
            )
            if not self.has_workflow:
                yield from ("It confirms the receipt with:", command(visible(str(self.receive_command))))
        elif self.failure is not None and self.failure.hint and self.phase == FAILED:
            yield command(visible(self.failure.hint))  # it shows the send with its facts
        else:
            yield from (
                command(visible(str(known))) for known in (self.send_command, self.cancel_command) if known
            )


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


def list_report(shown: Sequence[HandoffAnswer], *, ended: int) -> Report:
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
