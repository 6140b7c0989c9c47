"""Commands that list sessions and show their history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import click

from flowrail.cli import options, output, terminal
from flowrail.cli.environment import world
from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.formatters.guidance.as_data import broken_item, error_data, session_item
from flowrail.formatters.reports.history import items, report
from flowrail.hosts.conversation import short_id
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.store import ForeignSessionError
from flowrail.operations.environment import World
from flowrail.operations.running.session_list import Summary, summaries
from flowrail.operations.sessions.board import position_in
from flowrail.text.phrases import ago
from flowrail.text.report import Part, Span, Style, Table, columns, status
from flowrail.text.safe_text import one_line


@click.command("sessions", epilog=options.examples("flow sessions", "flow sessions --all"))
@click.option("--all", "every", is_flag=True, help="Include sessions that have ended.")
@options.utc
@options.as_json
@options.store
def sessions_command(every: bool, as_json: bool, store: str | None) -> None:
    """List the open sessions

    The sessions of sub-agents are listed below the session that they work for. In a conversation of a host, its
    own sessions are marked, and those of other conversations. A session that came with a clone is marked foreign.
    A sub-agent's session whose dispatch was reassigned or cancelled is marked lost. If a session cannot be read,
    the reason is shown.
    """
    here = world(store=store)
    found = summaries(here.store, every=every)
    if as_json:
        output.data({"sessions": [_item(summary, here) for summary in found]})
    elif not found:
        output.text(
            "no session here" if every else "no open session here; `flow list` shows what can be started"
        )
    else:
        titles = ["session", "status", "topic", "step", "active"]
        if any(summary.kept and summary.kept.session.owner for summary in found):
            titles.append("conversation")
        head = columns(*titles, wraps=("status", "topic", "step"), optional=("conversation",))
        rows = [_session_row(summary, branch, here)[: len(titles)] for branch, summary in _tree(found)]
        output.report([Table(head, rows)])


def _item(summary: Summary, here: World) -> dict[str, object]:
    if summary.kept is None:
        return broken_item(summary.id, summary.problem)
    return session_item(summary.kept, store=here.shown_store, lost=summary.lost)


def _tree(found: Sequence[Summary]) -> Iterator[tuple[str, Summary]]:
    """Yield each session with the branch to it: sub-agents below the session that they work for, if it is listed."""
    children: dict[str, list[Summary]] = {}
    listed = {summary.id for summary in found}
    for summary in found:
        parent = summary.kept.session.parent if summary.kept else None
        children.setdefault(parent.session if parent and parent.session in listed else "", []).append(summary)

    def below(parent: str, indent: str) -> Iterator[tuple[str, Summary]]:
        siblings = children.get(parent, [])
        for number, summary in enumerate(siblings, start=1):
            is_last = number == len(siblings)
            yield f"{indent}{'└─ ' if is_last else '├─ '}" if parent else "", summary
            yield from below(summary.id, f"{indent}{'   ' if is_last else '│  '}" if parent else "")

    return below("", "")


def _session_row(summary: Summary, branch: str, here: World) -> list[Part]:
    name = f"{branch}{summary.id}"
    if summary.kept is None:
        problem = str(summary.problem.message) if summary.problem else "unknown"
        is_foreign = isinstance(summary.problem, ForeignSessionError)
        return [name, Span("foreign" if is_foreign else "cannot be read", Style.BAD), problem, "", "", ""]
    session, at = summary.kept.session, summary.kept.at
    position = position_in(here.store, session)
    place = session.step
    if position is not None and position.total:
        place = f"{position.number} of {position.total}: {position.id}"
    owner = short_id(session.owner).removeprefix("conversation ") if session.owner else ""
    if here.host is not None and session.owner is not None:
        owner = "yours" if session.owner == here.host else f"another: {owner}"
    return [
        name,
        status(session.status, " (lost)" if summary.lost else ""),
        one_line(session.topic or "-"),
        one_line(place or "-"),
        at if terminal.shows_exact_times() else ago(at, here.now()),
        owner,
    ]


@click.command("history", epilog=options.examples("flow history problem-analysis-k3x9q2"))
@options.session_argument
@options.utc
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
    output.report(report(told))
    return output.refuse(damage, as_json=False) if ended() and damage else 0
