"""`flow audit`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.cli.desk import desk
from flowrail.errors import UsageError
from flowrail.formatters.reports import audit as page
from flowrail.handoff import audit
from flowrail.handoff.context import Desk
from flowrail.handoff.payload.integrity import moment
from flowrail.operations.handoffs.verify import HandoffFinding, verify
from flowrail.operations.sessions.verify import verify_all

_AGO = re.compile(r"([0-9]+)\s*([smhdw])\Z")
_XMLNS = ' xmlns="http://www.w3.org/2000/svg"'  # what stands in a page does without
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.command(
    "audit", epilog=options.examples("flow audit", "flow audit --handoffs --since 7d", "flow audit verify")
)
@click.argument("what", metavar="[ID|verify]", required=False)
@click.option("--handoffs", "only_handoffs", is_flag=True, help="Handoffs, and no sessions.")
@click.option("--all", "everything", is_flag=True, help="Handoffs and sessions (the default).")
@click.option("--since", metavar="WHEN", help="What moved since a date, or within 30m, 12h, 7d.")
@click.option("--html", "html", metavar="FILE", help="Write it as one HTML page.")
@options.as_json
@options.store
def command(
    what: str | None,
    only_handoffs: bool,
    everything: bool,
    since: str | None,
    html: str | None,
    as_json: bool,
    store: str | None,
) -> int:
    """Show what was done and handed over, or verify it

    Timelines of one id, or of all: phases, checks and their results, hashes, actors, failures, the
    trace across skills. `flow audit verify` proves that every journal is as it was written and each
    payload the one that was sent; it exits 1 where anything is not.
    """
    if only_handoffs and everything:
        raise UsageError("--handoffs and --all exclude each other", hint="give one of them")
    if what == "verify" and (only_handoffs or since is not None or html):
        raise UsageError("`flow audit verify` checks everything", hint="leave the other options out")
    at, world = desk(store=store)
    if what == "verify":
        return _verify(at, as_json=as_json)
    told = audit.report(
        world.store,
        at.handoffs,
        wanted=what,
        with_sessions=not only_handoffs,
        since=None if since is None else _moment(at, since),
    ).data()
    if html is not None:
        from flowrail.formatters.reports.audit_html import render

        title = f"Audit of {what or world.store.path}"
        made = render(told, title=title, made=world.now(), pictures=_pictures(told["handoffs"]))
        output.to_file(html, made.encode("utf-8", "backslashreplace"), mode=0o600)
        output.notes([f"written to {html}"])
    if as_json:
        output.data(told)
    elif html is None:
        output.text(page.render(told))
    return 1 if told["broken"] else 0


def _pictures(handoffs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the way of each handoff through the machine, as SVG by its id."""
    from flowrail.diagrams import handoff
    from flowrail.diagrams.extract import machine_picture
    from flowrail.diagrams.renderers import svg
    from flowrail.diagrams.session_trace import with_handoff
    from flowrail.handoff.lifecycle.machine import HandoffMachine

    drawn = machine_picture(
        HandoffMachine, handoff.NAME, handoff.DESCRIPTION, failing=handoff.FAILING, words=handoff.words
    )
    found: dict[str, str] = {}
    for each in handoffs:
        name = str(each["handoff"])
        entries = (
            (seq, event["kind"], event["at"], event["by"], event["phase"])
            for seq, event in enumerate(each["events"])
        )
        found[name] = svg.render(with_handoff(drawn, name, entries), name=f"way-{name}").replace(
            _XMLNS, "", 1
        )
    return found


def _verify(at: Desk, *, as_json: bool) -> int:
    output.collect_garbage()  # each session leaves an engine behind
    found = verify(at.store, at.handoffs)
    known = {(each.id, each.code) for each in found.findings}
    moves = [
        HandoffFinding(each.session, problem.code, f"{problem.place}: {problem.message}")
        for each in verify_all(at.store)
        for problem in each.problems
        if (each.session, problem.code) not in known
    ]
    found = found._replace(findings=(*found.findings, *moves))
    told = {**found._asdict(), "findings": [each._asdict() for each in found.findings]}
    if as_json:
        output.data(told)
    else:
        output.text(page.render_proof(told))
    return 1 if found.findings else 0


def _moment(at: Desk, text: str) -> datetime:
    ago = _AGO.match(text.strip())
    try:
        found = at.moment() - timedelta(**{_UNITS[ago[2]]: int(ago[1])}) if ago else moment(text)
    except (OverflowError, ValueError):  # longer ago than there are dates, or more digits than are read
        found = None
    if found is None:
        raise UsageError(f"`{text[:40]}` is no moment", hint="write 2026-02-04, 2026-02-04T19:30:00Z or 12h")
    return found
