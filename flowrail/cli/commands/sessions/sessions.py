"""`flow sessions`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.formatters.guidance.as_data import broken_item, session_item
from flowrail.operations.running.session_list import summaries
from flowrail.text.phrases import ago
from flowrail.text.safe_text import one_line
from flowrail.text.table import table


@click.command("sessions", epilog=options.examples("flow sessions", "flow sessions --all"))
@click.option("--all", "every", is_flag=True, help="Include sessions that have ended.")
@options.as_json
@options.store
def command(every: bool, as_json: bool, store: str | None) -> None:
    """List the open sessions

    A session that came with a clone is marked foreign. A sub-agent's session whose dispatch was reassigned
    or cancelled is marked lost. If a session cannot be read, the reason is shown.
    """
    here = world(store=store)
    items = [
        session_item(each.kept, store=here.shown_store, lost=each.lost)
        if each.kept
        else broken_item(each.id, each.problem)
        for each in summaries(here.store, every=every)
    ]
    if as_json:
        output.data({"sessions": items})
    elif not items:
        output.text(
            "no session here" if every else "no open session here; `flow list` shows what can be started"
        )
    else:
        rows = [_row(item, here.now()) for item in items]
        output.text(table(["session", "status", "topic", "step", "active"], rows))


def _row(item: dict[str, object], now: str) -> list[str]:
    if item["foreign"]:
        return [str(item["session"]), "foreign", str(item["error"]), "", ""]
    if item.get("error"):
        return [str(item["session"]), "cannot be read", str(item["error"]), "", ""]
    mark = " (lost)" if item["lost"] else ""
    status = f"{item['status']}{mark}"
    return [
        str(item["session"]),
        status,
        one_line(str(item["topic"] or "-")),
        str(item["step"] or "-"),
        ago(str(item["active_at"]), now),
    ]
