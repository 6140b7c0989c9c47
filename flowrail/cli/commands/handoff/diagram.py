"""`flow handoff diagram`."""

from __future__ import annotations

import click

from flowrail.cli import options, pictures
from flowrail.cli.lazy_imports import load_engine
from flowrail.operations.environment import Here

load_engine()

from flowrail.diagrams import handoff  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.handoff import store as handoff_store  # noqa: E402 - the same
from flowrail.handoff.lifecycle.machine import HandoffMachine  # noqa: E402 - the same
from flowrail.storage.ownership import Owner  # noqa: E402 - the same


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
    from flowrail.diagrams.extract import machine_picture
    from flowrail.diagrams.renderers.document import WorkflowPicture
    from flowrail.diagrams.session_trace import with_handoff

    drawn = machine_picture(
        HandoffMachine, handoff.NAME, handoff.DESCRIPTION, failing=handoff.FAILING, words=handoff.words
    )
    if handoff_id is not None:
        here = Here(store=store)
        handoffs = handoff_store.Handoffs(here.store_path, Owner(here.state))
        found = handoffs.records(handoff_id)
        entries = ((each.seq, each.kind, each.at, each.by, each.handoff.phase) for each in found)
        drawn = with_handoff(drawn, handoff_id, entries)
    pictures.put([WorkflowPicture(None, drawn)], form, into=into)
