"""`flow skill replay`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.operations.running.time_limit import call_limited
from flowrail.testing.record import replay


@click.command(
    "replay", epilog=options.examples("flow skill replay", "flow skill replay problem-analysis-k3x9q2")
)
@click.argument("targets", nargs=-1, metavar="[ID|SKILL]...", shell_complete=options.complete("sessions"))
@options.as_json
@options.store
@options.root
def command(targets: tuple[str, ...], as_json: bool, store: str | None, roots: tuple[str, ...]) -> int:
    """Run recorded sessions against today's workflows

    Runs in memory: no session is changed or started. Prints for each session the first report that
    would lead elsewhere or be refused today. Without arguments, replays all sessions of the store.
    Exits 1 if a session differs.
    """
    here = world(store=store, roots=roots)
    results = list(replay.replay_all(here, targets, call=call_limited))
    if as_json:
        output.data(replay.data(results))
    else:
        output.text(replay.text(results))
    return 1 if any(result.divergence for result in results) else 0
