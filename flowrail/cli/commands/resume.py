"""`flow resume`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.skills import runs


@click.command("resume")
@options.optional_session
@options.form
@options.store
def command(session_id: str | None, form: str | None, store: str | None) -> None:
    """Show the current step of a session again

    Without ID the one open session is meant. Nothing changes, however often it is asked.
    """
    answer = runs.resume(world(store=store), session_id)
    output.notes(answer.notes)
    output.show(answer.guidance, form)
