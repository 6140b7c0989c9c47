"""`flow handoff cancel`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.handoff_environment import contexts
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.sending import cancel


@click.command(
    "cancel", epilog=options.examples("flow handoff cancel handoff-k3x9q2 --reason 'sent to the wrong skill'")
)
@click.argument("handoff_id", metavar="ID")
@click.option("--reason", default="", metavar="WHY", help="The reason, for the journal.")
@options.as_json
@options.store
@options.wait
def command(handoff_id: str, reason: str, as_json: bool, store: str | None, wait: float) -> None:
    """Cancel a handoff

    A written payload stays, but nobody can receive it any more.
    """
    context, _ = contexts(store=store, wait=wait)
    data = page.as_data(context, cancel(context, handoff_id, reason))
    if as_json:
        output.data(data)
    else:
        output.text(page.render(data))
