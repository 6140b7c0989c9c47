"""`flow handoff diagram`."""

from __future__ import annotations

import click

from flowrail.cli import options, output, pictures
from flowrail.cli.here import Here
from flowrail.cli.later import load_engine

load_engine()

from flowrail.handoff import drawing, journal  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.handoff.lifecycle import HandoffMachine  # noqa: E402 - the same
from flowrail.machines.keys import Owner  # noqa: E402 - the same


@click.command(
    "diagram",
    epilog=options.examples(
        "flow handoff diagram", "flow handoff diagram handoff-k3x9q2 --format svg -o handoff.svg"
    ),
)
@click.argument("handoff_id", metavar="[ID]", required=False)
@pictures.form
@pictures.into
@options.store
def command(handoff_id: str | None, form: str, into: str | None, store: str | None) -> None:
    """Draw the lifecycle of a handoff

    Made from the machine that judges. With an ID: the way that one took, with times.
    """
    from flowrail.diagrams.document import Drawn
    from flowrail.diagrams.extract import machine_picture
    from flowrail.diagrams.trace import with_phases

    drawn = machine_picture(
        HandoffMachine, drawing.NAME, drawing.DESCRIPTION, failing=drawing.FAILING, words=drawing.words
    )
    if handoff_id is not None:
        here = Here(store=store)
        handoffs = journal.Handoffs(here.store_path, Owner(here.state))
        if handoffs.read(handoff_id).foreign:
            output.notes([f"`{handoff_id}` was not recorded by you on this machine"])
        found = handoffs.records(handoff_id)
        entries = ((each.seq, each.kind, each.at, each.by, each.handoff.phase) for each in found)
        drawn = with_phases(drawn, handoff_id, entries)
    pictures.put([Drawn(None, drawn)], form, into=into)
