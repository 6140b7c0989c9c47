"""`flow history`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.formatters.reports.error import error_data
from flowrail.formatters.reports.history import items, lines
from flowrail.machines.sessions.record import Record


@click.command("history", epilog=options.examples("flow history problem-analysis-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> int:
    """Show what happened in a session, when and by whom

    Prints one line for each record of the journal and checks it against the one before. If the journal
    is damaged, prints the records before the damage and exits 3.
    """
    here = world(store=store)
    damage: StorageError | None = None
    revision: int | None = None

    def records() -> Iterator[Record]:
        nonlocal damage, revision
        try:
            for record in here.store.records(session_id):
                revision = record.session.revision
                yield record
        except StorageError as error:  # what came before a damage stays
            damage = error

    def ended() -> dict[str, object]:
        if damage:
            fork = Command("session fork", session_id, at=revision, store=here.shown_store)
            damage.hint = Hint(damage.hint, "; continue from what is shown above: ", fork)
        return {"error": error_data(damage)} if damage else {}

    told = records()
    first = list(islice(told, 1))
    if damage and not first:
        raise damage
    told = chain(first, told)
    if as_json:
        output.listed("steps", items(told), ended)
        return damage.exit_status if damage else 0
    output.lines(lines(told))
    return output.refuse(damage, as_json=False) if ended() and damage else 0
