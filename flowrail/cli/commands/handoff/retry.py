"""`flow handoff retry`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.commands.handoff.send_options import send_options
from flowrail.cli.facts import facts_of
from flowrail.cli.handoff_environment import contexts
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.request import HandoffRequest
from flowrail.handoff.sending import retry


@click.command("retry", epilog=options.examples("flow handoff retry handoff-k3x9q2"))
@click.argument("handoff_id", metavar="ID")
@send_options
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
    """Retry a handoff that failed or was interrupted

    A failed handoff returns to validation, with the target and the session as they are now. An
    interrupted one continues in its phase, with the same payload.
    """
    context, _ = contexts(store=store, roots=roots, wait=wait)
    facts = facts_of(assignments, facts_file)
    request = HandoffRequest("", "", reason, yes, approved, facts=facts)
    sent = retry(context, handoff_id, request)
    data = page.as_data(context, sent.handoff, replayed=sent.replayed, notes=sent.notes)
    if as_json:
        output.data(data)
    else:
        output.text(page.render(data))
