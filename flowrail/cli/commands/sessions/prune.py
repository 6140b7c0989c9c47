"""`flow session prune`."""

from __future__ import annotations

import os
from math import inf, isfinite
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.handoff.store import open_handoffs, record_pruned
from flowrail.machines.sessions.session import ABANDONED, COMPLETED, FAILED
from flowrail.operations.running.world import World
from flowrail.operations.sessions.prune import (
    LOST,
    UNBEGUN,
    Item,
    Needs,
    Parting,
    prune,
)
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line
from flowrail.text.table import table

MONTH = 30.0
_IN_A_DAY = {"m": 1440.0, "h": 24.0, "d": 1.0, "w": 1 / 7}


class Age(click.FloatRange):
    """Days, as a number or with a unit, as in `flow audit --since`."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return *value* in days."""
        per_day = _IN_A_DAY.get(value[-1:]) if isinstance(value, str) else None
        try:
            days = float(value[:-1]) / per_day if per_day else float(value)
        except ValueError:
            days = inf
        if not isfinite(days) or not str(value).isascii():
            self.fail(f"`{str(value)[:40]}` is not an age: write days, or 30m, 12h, 7d, 2w", param, ctx)
        return super().convert(days, param, ctx)


@click.command("prune", epilog=options.examples("flow session prune --older-than 30d --dry-run"))
@click.option(
    "--older-than",
    type=Age(min=0),
    default=MONTH,
    show_default=True,
    metavar="DAYS",
    help="Only sessions whose last record is older: days, or 30m, 12h, 7d, 2w.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([COMPLETED, FAILED, ABANDONED, LOST, UNBEGUN]),
    help="Only sessions with this status. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="List them without deleting them.")
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

    Keeps sessions that are open, that work for an open session, that have an open handoff, that another
    user started or that cannot be read. A sub-agent's session that lost its dispatch counts as ended.
    """
    here = world(store=store, wait=wait)
    needs, parting = _handoffs(here)
    pruned = prune(
        here,
        older_than=older_than,
        statuses=statuses,
        dry_run=dry_run,
        needs=needs,
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


def _handoffs(here: World) -> tuple[Needs, Parting]:
    """Return two functions: which sessions have an open handoff, and record that payloads are deleted."""
    if not os.path.isdir(os.path.join(here.store.path, "handoffs")):
        return lambda _: "", lambda _: None

    place = (here.store.path, here.store.owner)
    return open_handoffs(*place, here.now()), record_pruned(*place, now=here.now, by=here.by, wait=here.wait)


def _row(item: Item, what: str) -> list[str]:
    return [item.session, item.status, f"{item.days:.1f}", what, one_line(item.why)]
