"""`flow audit`."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from flowrail.cli import options
from flowrail.cli.environment import SessionCall
from flowrail.cli.progress import ProgressBar
from flowrail.errors import UsageError
from flowrail.formatters.reports import audit as page
from flowrail.handoff.audit import JournalFinding, audit
from flowrail.handoff.store import Handoffs
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.send import answer_of, now_of
from flowrail.operations.handoffs.verify import verify
from flowrail.operations.sessions.verify import verify_all
from flowrail.storage.records import to_plain
from flowrail.text.phrases import moment


@SessionCall.command("audit", "flow audit", "flow audit --handoffs --since 7d", "flow audit verify")
@click.argument("wanted", metavar="[ID|verify]", required=False)
@click.option("--handoffs", "only_handoffs", is_flag=True, help="Handoffs only.")
@click.option("--all", "everything", is_flag=True, help="Handoffs and sessions (the default).")
@click.option("--since", metavar="WHEN", help="Only what changed since a date, or within 30m, 12h, 7d.")
@options.utc
@options.as_json
@options.store
def audit_command(
    call: SessionCall,
    wanted: str | None,
    only_handoffs: bool,
    everything: bool,
    since: str | None,
) -> int:
    """Show what happened in handoffs and sessions, or verify it

    Timelines of one id or of all: phases, checks, hashes, actors, failures.
    `flow audit verify` checks that no journal was changed and that each payload is the one that was
    sent. It exits 1 on any finding.
    """
    if only_handoffs and everything:
        raise UsageError("--handoffs and --all exclude each other", hint="give one of them")
    if wanted == "verify" and (only_handoffs or since is not None):
        raise UsageError("`flow audit verify` always verifies everything", hint="remove the other options")
    environment = call.environment
    if wanted == "verify":
        return _verify(call)
    report = audit(
        environment.store,
        Handoffs(environment.store),
        wanted=wanted,
        with_sessions=not only_handoffs,
        since=None if since is None else _since(environment, since),
    )
    answers = [answer_of(environment, timeline.handoff) for timeline in report.handoffs]
    none = f"no handoffs{'' if only_handoffs else ' and no sessions'}{f' since {since}' if since else ''}"
    call.answer(page.data(report, answers), page.report(report, answers, otherwise=none))
    return 1 if report.unreadable else 0


def _verify(call: SessionCall) -> int:
    store = call.environment.store
    with ProgressBar("Verifying handoffs") as bar:
        handoff_report = verify(store)
        bar("Verifying sessions", 0, None)
        ids = store.ids()
        verified = [*verify_all(store, bar.each(ids, len(ids)))]
    known = {(finding.id, finding.code) for finding in handoff_report.findings}
    findings = [
        *handoff_report.findings,
        *(
            JournalFinding(result.session, problem.code, f"{problem.place}: {problem.message}")
            for result in verified
            for problem in result.problems
            if (result.session, problem.code) not in known
        ),
    ]
    data = {**to_plain(handoff_report), "findings": to_plain(findings)}
    call.answer(data, page.verification_report(data))
    return 1 if findings else 0


def _since(environment: Environment, text: str) -> datetime:
    days = options.days_of(text.strip())
    days = None if days is None or days < 0 else days
    try:
        since = moment(text) or (days is not None and now_of(environment) - timedelta(days=days))
    except (OverflowError, ValueError):  # before the first date, or too many digits
        since = None
    if not since:
        raise UsageError(f"`{text[:40]}` is not a time", hint="write 2026-02-04, 2026-02-04T19:30:00Z or 12h")
    return since
