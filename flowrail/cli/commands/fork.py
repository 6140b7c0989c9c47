"""`flow fork`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.skills.timeline import fork


@click.command("fork")
@options.session_argument
@click.option(
    "--at", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="From there."
)
@click.option("--reason", default="", metavar="TEXT", help="Why, for the record.")
@options.form
@options.store
def command(session_id: str, revision: int, reason: str, form: str | None, store: str | None) -> None:
    """Begin a new session from where another was

    The other one stays as it is and goes on beside it.
    """
    answer = fork(world(store=store), session_id, revision, reason=reason)
    output.notes(answer.notes)
    output.show(answer.guidance, form)
