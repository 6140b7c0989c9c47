"""The board as a table for a person at a terminal, drawn with rich. Imported only for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import console as rich_console
from rich.table import Table
from rich.text import Text

from flowrail.operations.sessions.board import BoardEntry, Group
from flowrail.text.phrases import ago
from flowrail.text.safe_text import one_line

STYLES = {
    Group.NEEDS_YOU: "bold magenta",
    Group.STALLED: "yellow",
    Group.RUNNING: "cyan",
    Group.ENDED: "dim",
}
FEWEST_ENDED = 5
"""So many ended sessions are shown live; the others are in `flow sessions --all`."""


def board_view(entries: Sequence[BoardEntry], now: str) -> rich_console.RenderableType:
    """Return all groups of the board, those that need a person first."""
    if not entries:
        return Text("No session yet. An agent starts one with `flow step SKILL`.", style="dim")
    parts: list[rich_console.RenderableType] = []
    for group in Group:
        members = [entry for entry in entries if entry.group is group]
        if members:
            shown = members[:FEWEST_ENDED] if group is Group.ENDED else members
            parts.append(Text(f"{group.value.capitalize()} ({len(members)})", style=STYLES[group]))
            parts.append(_table(shown, now))
    return rich_console.Group(*parts)


def _table(entries: Iterable[BoardEntry], now: str) -> Table:
    """Return a row for each session, and a second one with its note and id if a person should look at it."""
    table = Table(box=None, show_header=False, expand=True, padding=(0, 2, 0, 0))
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="dim")
    for entry in entries:
        topic = f": {one_line(entry.topic)}" if entry.topic else ""
        position = entry.position.text if entry.position else entry.status
        age = ago(entry.active_at, now) if entry.active_at else ""
        table.add_row(Text(f"  {entry.skill}{topic}"), Text(one_line(position)), age)
        if entry.note or entry.group in {Group.NEEDS_YOU, Group.STALLED}:
            table.add_row(
                Text(f"    {entry.session}", style="dim"),
                Text(one_line(entry.note), no_wrap=False, overflow="fold"),
            )
    return table
