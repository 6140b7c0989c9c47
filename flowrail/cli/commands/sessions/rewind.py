"""`flow session rewind`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.operations.sessions import timeline


@click.command("rewind", epilog=options.examples("flow session rewind problem-analysis-k3x9q2 --to 2"))
@options.session_argument
@click.option(
    "--to", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="Which revision."
)
@options.expect
@options.reason
@options.form
@options.store
@options.root
@options.wait
def command(
    session_id: str,
    revision: int,
    expect: int | None,
    reason: str,
    form: str | None,
    store: str | None,
    roots: tuple[str, ...],
    wait: float,
) -> None:
    """Take a session back to an earlier revision

    Adds a record; nothing is deleted. The revision still increases, so commands that were printed
    before are refused. The step's dispatches and questions start again. `flow history ID` lists the revisions.
    """
    here = world(store=store, roots=roots, wait=wait)
    answer = timeline.rewind(here, session_id, revision, expect=expect, reason=reason)
    output.notes(answer.notes)
    output.show(answer.guidance, form)
