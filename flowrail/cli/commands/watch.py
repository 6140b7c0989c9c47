"""`flow watch`."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import click
from rich.live import Live
from rich.text import Text

from flowrail.cli import options, output
from flowrail.formatters.json_output import as_data
from flowrail.operations.board import Board, Group, ListedSession, board_report
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.notifications import Notifications
from flowrail.operations.steps.people import page_address

POLL_SECONDS = 1.0
REDRAW_SECONDS = 10.0
"""How often ages are updated if nothing else changes."""
Boards = Iterator[list[ListedSession] | None]


@click.command(
    "watch",
    epilog=options.examples(["flow watch", "flow watch problem-analysis-k3x9q2", "flow watch --json"]),
)
@click.argument("session_id", metavar="[ID]", required=False)
@options.as_json
@options.store
def watch_command(session_id: str | None, form: str | None, store: str | None) -> None:
    """Show live what all sessions do

    With an ID, only that session and its sub-agents. Sessions that need you come first, then those without a
    report for 30 minutes, running and ended ones. When a session starts to need you, the bell rings and a message of
    the desktop is shown, and while `flow ui` is open, the address of the page on which you decide. In a pipe, or with
    --json, each change is a line of JSON. Ctrl+C ends it.

    \b
    To run a command of your own in place of the message, put it into
    ~/.config/flowrail/config.toml:
      notify = ["notify-send", "$topic", "$reason"]
    """
    environment = Environment(store=store, tell=lambda line: output.notes([line]))
    is_drawn = form != "json" and sys.stdout.isatty()
    notifications = Notifications(environment, on_desktop=is_drawn)
    if session_id is not None:
        environment.store.read(session_id)  # refuses an unknown or foreign session
    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()  # Python drops the exception if an object is just being deleted
        raise KeyboardInterrupt

    boards = _boards(environment, session_id, interrupted)
    signal.signal(signal.SIGINT, interrupt)
    with suppress(KeyboardInterrupt):
        if is_drawn:
            _draw(boards, notifications)
        else:
            _print_changes(boards, notifications)


def _boards(environment: Environment, session_id: str | None, interrupted: threading.Event) -> Boards:
    """Yield the board once a second until it is *interrupted*, or `None` if it is the same."""
    board = Board(environment.store)
    shown: list[ListedSession] | None = None
    while not interrupted.is_set():
        entries = board.refresh(environment.now)
        if session_id is not None:
            entries = [entry for entry in entries if session_id in {entry.session, entry.parent}]
        entries = [
            replace(entry, page=page_address(environment, entry.session))
            if entry.group is Group.NEEDS_YOU
            else entry
            for entry in entries
        ]
        yield None if entries == shown else entries
        shown = entries
        time.sleep(POLL_SECONDS)


def _print_changes(boards: Boards, notifications: Notifications) -> None:
    known: dict[str, ListedSession] = {}
    for entries in boards:
        for entry in entries or ():
            if known.get(entry.session) != entry:
                output.put(f"{json.dumps(as_data(entry), default=str)}\n")
        if entries is not None:
            notifications.update(entries)
            known = {entry.session: entry for entry in entries}


def _draw(boards: Boards, notifications: Notifications) -> None:
    shown: list[ListedSession] = []
    drawn_at, size = 0.0, None
    with Live(console=output.terminal().live(), screen=True, auto_refresh=False) as live:
        for entries in boards:
            is_same = entries is None and live.console.size == size
            if is_same and time.monotonic() - drawn_at < REDRAW_SECONDS:
                continue
            shown = shown if entries is None else entries
            size = live.console.size
            view = output.terminal().rendered(board_report(shown, height=size.height))
            live.update(Text.from_ansi(view, no_wrap=True, overflow="ellipsis"), refresh=True)
            drawn_at = time.monotonic()
            if notifications.update(shown):
                live.console.bell()
