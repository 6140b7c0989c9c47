"""`flow prune`."""

from __future__ import annotations

import os

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.formatters.escape import one_line
from flowrail.formatters.lines import count
from flowrail.formatters.text import table
from flowrail.machines.session import ABANDONED, COMPLETED, FAILED
from flowrail.skills.pruning import LOST, UNBEGUN, Holds, Item, Parting, prune
from flowrail.skills.runs import World

MONTH = 30.0


@click.command("prune")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=MONTH,
    show_default=True,
    metavar="DAYS",
    help="Only sessions whose last record is older.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([COMPLETED, FAILED, ABANDONED, LOST, UNBEGUN]),
    help="Only those that ended so. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Only tell which.")
@options.as_json
@options.store
@options.wait
def command(
    older_than: float,
    statuses: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Delete old sessions that have ended

    Never one that is open, works for one that is, has a handoff on its way, was begun by somebody
    else or cannot be read. An agent's session that lost its work has ended, too.
    """
    here = world(store=store, wait=wait)
    holds, parting = _handoffs(here)
    pruned = prune(
        here,
        older_than=older_than,
        statuses=statuses,
        dry_run=dry_run,
        has_open_handoff=holds,
        parting=parting,
    )
    if as_json:
        gone, kept = ([each._asdict() for each in items] for items in pruned)
        output.data({"sessions": gone, "kept": kept, "dry_run": dry_run})
        return
    would = "would go" if dry_run else "gone"
    rows = [_row(each, would) for each in pruned.gone] + [_row(each, "stays") for each in pruned.kept]
    if rows:
        output.text(table(["session", "status", "days", "", "why"], rows))
    output.text(f"{count(len(pruned.gone), 'session')} {would}, {len(pruned.kept)} stay")


def _handoffs(here: World) -> tuple[Holds, Parting]:
    """Return which sessions have a handoff on its way, and what records that a session's payloads go."""
    if not os.path.isdir(os.path.join(here.store.path, "handoffs")):
        return lambda *_: False, lambda _: None
    from flowrail.handoff.pending import gone_with, waiting

    place = (here.store.path, here.store.owner)
    return waiting(*place, here.now()), gone_with(*place, now=here.now, by=here.by, wait=here.wait)


def _row(item: Item, what: str) -> list[str]:
    return [item.session, item.status, f"{item.days:.1f}", what, one_line(item.why)]
