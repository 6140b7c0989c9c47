"""The board as a table for a person at a terminal, drawn with rich. Imported only for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil

from rich import console as rich_console
from rich.table import Table
from rich.text import Text

from flowrail.operations.board import Group, ListedSession
from flowrail.text.phrases import ago
from flowrail.text.safe_text import one_line

STYLES = {
    Group.NEEDS_YOU: "bold magenta",
    Group.STALLED: "yellow",
    Group.RUNNING: "cyan",
    Group.ENDED: "dim",
}
MOST_ENDED = 5
"""So many ended sessions are shown live; the others are in `flow sessions --all`."""
AGE_WIDTH = 14


def board_view(
    entries: Sequence[ListedSession], now: str, size: rich_console.ConsoleDimensions
) -> rich_console.RenderableType:
    """Return all groups of the board, those that need a person first.

    If there are more sessions than fit a screen of *size*, each group shows its most recent ones.
    """
    if not entries:
        return Text("No session yet. An agent starts one with `flow step SKILL`.", style="dim")
    groups = {group: [entry for entry in entries if entry.group is group] for group in Group}
    groups = {group: members for group, members in groups.items() if members}
    parts: list[rich_console.RenderableType] = []
    for group, shown in _fitting(groups, size).items():
        parts.append(Text(f"{group.value.capitalize()} ({len(groups[group])})", style=STYLES[group]))
        parts.append(_table(shown, now))
        if len(shown) < len(groups[group]):
            parts.append(
                Text(f"    {len(groups[group]) - len(shown)} more: flow sessions --all", style="dim")
            )
    return rich_console.Group(*parts)


def _fitting(
    groups: Mapping[Group, Sequence[ListedSession]], size: rich_console.ConsoleDimensions
) -> dict[Group, Sequence[ListedSession]]:
    """Return the first members of each group that fit the screen; a small group leaves its lines to the others."""
    cell = max(20, (size.width - AGE_WIDTH) // 2)
    heights = {group: [_height(entry, cell) for entry in members] for group, members in groups.items()}
    heights[Group.ENDED] = heights.get(Group.ENDED, [])[:MOST_ENDED]
    left = size.height - 2 * len(groups)
    fitting: dict[Group, Sequence[ListedSession]] = {}
    for number, group in enumerate(sorted(groups, key=lambda group: sum(heights[group]))):
        share = left // (len(groups) - number)
        ends = list(accumulate(heights[group]))
        shown = max(1, sum(end <= share for end in ends))
        fitting[group] = groups[group][:shown]
        left -= ends[shown - 1]
    return {group: fitting[group] for group in groups}


def _height(entry: ListedSession, cell: int) -> int:
    """Return how many lines the rows of an entry take if a cell is that wide."""
    return 1 + ceil(len(entry.note) / cell)


def _table(entries: Iterable[ListedSession], now: str) -> Table:
    """Return a row for each session, and a second one with its note, if it has one."""
    table = Table(box=None, show_header=False, expand=True, padding=(0, 2, 0, 0))
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="dim")
    for entry in entries:
        topic = f": {one_line(entry.topic)}" if entry.topic else ""
        is_open = entry.group is not Group.ENDED
        position = entry.position.text if entry.position and is_open else entry.status
        age = ago(entry.active_at, now) if entry.active_at else ""
        table.add_row(Text(f"  {entry.session}{topic}"), Text(one_line(position)), age)
        if entry.note:
            table.add_row("", Text(one_line(entry.note), no_wrap=False, overflow="fold"))
    return table
