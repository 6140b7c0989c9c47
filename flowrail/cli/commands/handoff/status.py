"""`flow handoff status`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.handoff_environment import contexts
from flowrail.formatters.reports import handoff as page
from flowrail.text.phrases import count


@click.command("status", epilog=options.examples("flow handoff status", "flow handoff status --all"))
@click.argument("handoff_id", metavar="[ID]", required=False)
@click.option("--all", "include_ended", is_flag=True, help="Include handoffs that are over.")
@options.as_json
@options.store
def command(handoff_id: str | None, include_ended: bool, as_json: bool, store: str | None) -> None:
    """Show the phase of one handoff, or of all open ones

    Changes nothing.
    """
    context, _ = contexts(store=store)
    if handoff_id is not None:
        data = page.as_data(context, context.handoffs.read(handoff_id).handoff)
        if as_json:
            output.data(data)
        else:
            output.text(page.render(data))
        return
    unreadable: list[str] = []
    handoffs = [stored.handoff for stored in context.handoffs.all(unreadable)]
    shown = [handoff for handoff in handoffs if include_ended or handoff.is_open]
    items = [page.as_data(context, handoff) for handoff in sorted(shown, key=lambda h: h.started_at)]
    if unreadable:
        what = count(len(unreadable), "handoff")
        output.notes([f"{what} cannot be read or foreign; see {context.command('audit')}"])
    if as_json:
        output.data({"handoffs": items})
    else:
        output.text(page.render_list(items))
