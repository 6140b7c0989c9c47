"""`flow handoff status`."""

from __future__ import annotations

from operator import itemgetter

import click

from flowrail.cli import options, output
from flowrail.cli.desk import desk
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.telling import item
from flowrail.text.phrases import count


@click.command("status", epilog=options.examples("flow handoff status", "flow handoff status --all"))
@click.argument("handoff_id", metavar="[ID]", required=False)
@click.option("--all", "every", is_flag=True, help="Those that are over too.")
@options.as_json
@options.store
def command(handoff_id: str | None, every: bool, as_json: bool, store: str | None) -> None:
    """Tell where handoffs stand

    Without an ID those that are open. Changes nothing.
    """
    at, _ = desk(store=store)
    if handoff_id is not None:
        one = at.handoffs.read(handoff_id)
        told = item(at, one.handoff)
        if as_json:
            output.data(told)
        else:
            output.text(page.render(told))
        return
    lost: list[str] = []
    kept = (each for each in at.handoffs.all(lost) if every or each.handoff.is_open)
    dated = [(each.handoff.started_at, item(at, each.handoff)) for each in kept]
    items = [each for _, each in sorted(dated, key=itemgetter(0))]
    if lost:
        output.notes([f"{count(len(lost), 'handoff')} cannot be read; `{at.command('audit')}` tells why"])
    if as_json:
        output.data({"handoffs": items})
    else:
        output.text(page.render_list(items))
