"""`flow session fork`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.operations.sessions import timeline


@click.command("fork", epilog=options.examples("flow session fork problem-analysis-k3x9q2 --at 2"))
@options.session_argument
@click.option(
    "--at", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="From which revision."
)
@options.reason
@options.form
@options.store
@options.root
@options.wait
def command(
    session_id: str,
    revision: int,
    reason: str,
    form: str | None,
    store: str | None,
    roots: tuple[str, ...],
    wait: float,
) -> None:
    """Start a new session from an earlier revision of another

    The other session stays open unless its journal is damaged. The new session has no parent, even if
    the other one has. Damage after that revision does not matter.
    """
    here = world(store=store, roots=roots, wait=wait)
    answer = timeline.fork(here, session_id, revision, reason=reason)
    output.notes(answer.notes)
    output.show(answer.guidance, form)
