"""`flow handoff diagram`."""

from __future__ import annotations

import click

from flowrail.cli import options, pictures
from flowrail.cli.lazy_imports import load_engine
from flowrail.operations.environment import Environment

load_engine()

from flowrail.diagrams.handoff import (  # noqa: E402 - load the engine first, or it imports asyncio
    handoff_picture,
    lifecycle_picture,
)
from flowrail.diagrams.renderers.document import WorkflowPicture  # noqa: E402 - the same
from flowrail.handoff.store import Handoffs  # noqa: E402 - the same
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

    With an ID: the phases that this handoff went through, with times.
    """
    picture = lifecycle_picture()
    if handoff_id is not None:
        here = Environment(store=store)
        handoffs = Handoffs(here.store_path, Owner(here.state))
        picture = handoff_picture(
            handoff_id,
            ((e.seq, e.kind, e.at, e.by, e.handoff.phase) for e in handoffs.records(handoff_id)),
        )
    pictures.put([WorkflowPicture(None, picture)], form, into=into)
