"""Commands that list sessions and show their history."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.formatters.guidance.as_data import broken_item, error_data, session_item
from flowrail.formatters.reports.history import items, lines
from flowrail.machines.sessions.record import Record
from flowrail.operations.running.session_list import summaries
from flowrail.text.phrases import ago
from flowrail.text.safe_text import one_line
from flowrail.text.table import table


@click.command("sessions", epilog=options.examples("flow sessions", "flow sessions --all"))
@click.option("--all", "every", is_flag=True, help="Include sessions that have ended.")
@options.as_json
@options.store
def sessions_command(every: bool, as_json: bool, store: str | None) -> None:
    """List the open sessions

    In a conversation of a host, its own sessions are marked, and those of other conversations.
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
        rows = [_session_row(item, here.now(), here.host) for item in items]
        output.text(table(["session", "status", "topic", "step", "active"], rows))


def _session_row(item: dict[str, object], now: str, conversation: str | None) -> list[str]:
    if item["foreign"]:
        return [str(item["session"]), "foreign", str(item["error"]), "", ""]
    if item.get("error"):
        return [str(item["session"]), "cannot be read", str(item["error"]), "", ""]
    owner = item["conversation"]
    mark = " (lost)" if item["lost"] else ""
    if conversation is not None and owner is not None and not mark:
        mark = " (yours)" if owner == conversation else " (another conversation)"
    return [
        str(item["session"]),
        f"{item['status']}{mark}",
        one_line(str(item["topic"] or "-")),
        str(item["step"] or "-"),
        ago(str(item["active_at"]), now),
    ]


@click.command("history", epilog=options.examples("flow history problem-analysis-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def history_command(session_id: str, as_json: bool, store: str | None) -> int:
    """Show what happened in a session, when and by whom

    Prints one line for each record of the journal and checks it against the one before. If the journal
    is damaged, prints the records before the damage and exits 3.
    """
    here = world(store=store)
    damage: StorageError | None = None
    revision: int | None = None

    def records() -> Iterator[Record]:
        nonlocal damage, revision
        try:
            for record in here.store.records(session_id):
                revision = record.session.revision
                yield record
        except StorageError as error:  # what came before a damage stays
            damage = error

    def ended() -> dict[str, object]:
        if damage:
            fork = Command("session fork", session_id, at=revision, store=here.shown_store)
            damage.hint = Hint(damage.hint, "; continue from what is shown above: ", fork)
        return {"error": error_data(damage)} if damage else {}

    told = records()
    first = list(islice(told, 1))
    if damage and not first:
        raise damage
    told = chain(first, told)
    if as_json:
        output.listed("steps", items(told), ended)
        return damage.exit_status if damage else 0
    output.lines(lines(told))
    return output.refuse(damage, as_json=False) if ended() and damage else 0
