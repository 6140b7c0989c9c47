"""`flow history`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.formatters.history import items, render


@click.command("history")
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> None:
    """Tell what happened in a session, when and by whom

    One line a record, read from the journal; each is checked against the one before it.
    """
    records = list(world(store=store).store.records(session_id))
    if as_json:
        output.data({"steps": items(records)})
    else:
        output.text(render(records))
