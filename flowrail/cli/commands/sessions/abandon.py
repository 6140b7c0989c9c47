"""`flow session abandon`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.formatters.guidance.as_data import session_item
from flowrail.operations.running import steps


@click.command(
    "abandon",
    epilog=options.examples("flow session abandon problem-analysis-k3x9q2 --reason 'solved otherwise'"),
)
@options.session_argument
@click.option("--reason", default="", metavar="TEXT", help="The reason, for the journal.")
@options.as_json
@options.store
@options.wait
def command(session_id: str, reason: str, as_json: bool, store: str | None, wait: float) -> None:
    """End a session that will not be finished

    Its journal stays. Nothing more can be reported.
    """
    kept = steps.abandon(world(store=store, wait=wait), session_id, reason)
    if as_json:
        output.data(session_item(kept))
    else:
        output.text(f"{session_id} is {kept.session.status}")
