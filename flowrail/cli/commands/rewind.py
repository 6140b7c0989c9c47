"""`flow rewind`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.skills.timeline import rewind


@click.command("rewind")
@options.session_argument
@click.option(
    "--to", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="Back to there."
)
@click.option(
    "--expect", type=click.IntRange(min=0), metavar="REV", help="Refuse if it is at another revision."
)
@click.option("--reason", default="", metavar="TEXT", help="Why, for the record.")
@options.form
@options.store
@options.wait
def command(
    session_id: str,
    revision: int,
    expect: int | None,
    reason: str,
    form: str | None,
    store: str | None,
    wait: float,
) -> None:
    """Go back to an earlier revision of a session

    Nothing is deleted: going back is a record of its own, and commands printed since conflict.
    """
    answer = rewind(world(store=store, wait=wait), session_id, revision, expect=expect, reason=reason)
    output.notes(answer.notes)
    output.show(answer.guidance, form)
