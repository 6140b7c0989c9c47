"""`flow handoff retry`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.commands.handoff.asking import how
from flowrail.cli.desk import desk
from flowrail.cli.facts import facts_of
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.requesting import Asked
from flowrail.handoff.sending import retry
from flowrail.handoff.telling import item


@click.command("retry", epilog=options.examples("flow handoff retry handoff-k3x9q2"))
@click.argument("handoff_id", metavar="ID")
@how
@options.as_json
@options.root
@options.store
@options.wait
def command(
    handoff_id: str,
    reason: str,
    yes: bool,
    approved: bool,
    assignments: tuple[str, ...],
    facts_file: str | None,
    as_json: bool,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Try a handoff again that failed or was interrupted

    It goes back to validation with the target and the session as they are now. One that was
    interrupted goes on where it stood, with the payload as it was made.
    """
    at, _ = desk(store=store, roots=roots, wait=wait)
    facts = facts_of(assignments, facts_file)
    sent = retry(at, handoff_id, Asked("", "", reason, yes, approved, facts=facts))
    told = item(at, sent.handoff, replayed=sent.replayed, notes=sent.notes)
    if as_json:
        output.data(told)
    else:
        output.text(page.render(told))
