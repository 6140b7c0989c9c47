"""`flow watch`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import click
from rich.live import Live

from flowrail.cli import board_table, options, output
from flowrail.cli.options import Call
from flowrail.formatters.data import as_data
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.board import Board, Group, ListedSession
from flowrail.storage.configuration import read_configuration
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import one_line

POLL_SECONDS = 1.0
REDRAW_SECONDS = 10.0
"""How often ages are updated if nothing else changes."""

Boards = Iterator[list[ListedSession] | None]


@Call.command("watch", "flow watch", "flow watch problem-analysis-k3x9q2", "flow watch --json")
@click.argument("session_id", metavar="[ID]", required=False)
@options.as_json
@options.store
def watch_command(call: Call, session_id: str | None) -> None:
    """Show live what all sessions do

    With an ID, only that session and its sub-agents. Sessions that need you come first, then those without a
    report for 30 minutes, running and ended ones. The bell rings when a session starts to need you. In a pipe,
    or with --json, each change is a line. Ctrl+C ends it.

    \b
    To run a command when a session starts to need you, put it into
    ~/.config/flowrail/config.toml:
      notify = ["notify-send", "$topic", "$reason"]
    """
    environment = Environment(store=call.store, tell=lambda line: output.notes([line]))
    notify = read_configuration(environment.environ, environment.home).notify
    if session_id is not None:
        environment.store.read(session_id)  # refuses an unknown or foreign session
    boards = _boards(environment, session_id)
    with suppress(KeyboardInterrupt):
        if call.as_json or not sys.stdout.isatty():
            _print_changes(boards, notify, as_json=call.as_json)
        else:
            _draw(boards, notify, environment)


def _boards(environment: Environment, session_id: str | None) -> Boards:
    """Yield the board once a second, or `None` if it is the same."""
    board = Board(environment.store)
    shown: list[ListedSession] | None = None
    while True:
        entries = board.refresh(environment.now)
        if session_id is not None:
            entries = [entry for entry in entries if session_id in {entry.session, entry.parent}]
        yield None if entries == shown else entries
        shown = entries
        time.sleep(POLL_SECONDS)


def _print_changes(boards: Boards, notify: Sequence[str], *, as_json: bool) -> None:
    known: dict[str, ListedSession] = {}
    for entries in boards:
        for entry in entries or ():
            if known.get(entry.session) != entry:
                output.put(f"{_json_line(entry) if as_json else _text_line(entry)}\n")
        if entries is not None:
            _notify(known, entries, notify)
            known = {entry.session: entry for entry in entries}


def _draw(boards: Boards, notify: Sequence[str], environment: Environment) -> None:
    known: dict[str, ListedSession] | None = None
    shown: list[ListedSession] = []
    drawn_at, size = 0.0, None
    with Live(console=output.terminal().live(), screen=True, auto_refresh=False) as live:
        for entries in boards:
            is_same = entries is None and live.console.size == size
            if is_same and time.monotonic() - drawn_at < REDRAW_SECONDS:
                continue
            shown = shown if entries is None else entries
            size = live.console.size
            live.update(board_table.board_view(shown, environment.now, size), refresh=True)
            drawn_at = time.monotonic()
            if known is not None and _notify(known, shown, notify):
                live.console.bell()
            known = {entry.session: entry for entry in shown}


def _notify(
    known: dict[str, ListedSession], entries: Sequence[ListedSession], command: Sequence[str]
) -> bool:
    """Run the user's command for each session that needs a person since *known*; return whether there is one."""
    started = [
        entry
        for entry in entries
        if entry.group is Group.NEEDS_YOU
        and ((before := known.get(entry.session)) is None or before.group is not Group.NEEDS_YOU)
    ]
    for entry in started if command else ():
        values = {
            "topic": entry.topic or entry.session,
            "reason": entry.reason,
            "skill": entry.skill,
            "session": entry.session,
        }
        words = [fill(word, values) for word in command]
        try:
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            output.notes(
                [f"`{words[0]}` could not be run ({error.strerror}); see `notify` in the configuration"]
            )
    return bool(started)


def _json_line(entry: ListedSession) -> str:
    return json.dumps(as_data(entry), default=str)


def _text_line(entry: ListedSession) -> str:
    topic = f"{entry.skill}: {entry.topic}" if entry.topic else entry.skill
    position = entry.position.text if entry.position else entry.status
    parts = (entry.group.value, entry.session, topic, position, entry.note)
    return "  ".join(one_line(part) for part in parts if part)
