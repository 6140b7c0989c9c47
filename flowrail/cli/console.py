"""What a terminal shows: colour, tables that fit, wrapped lines. Imports rich, so it is only imported for a terminal."""

from __future__ import annotations

import io
import re
import sys
from typing import Literal, NamedTuple

from rich import console as rich_console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from flowrail.operations.environment import Environment
from flowrail.text.phrases import ago
from flowrail.text.report import (
    FilePath,
    Line,
    Moment,
    Part,
    Report,
    Span,
    Style,
    Table,
    short_path,
)
from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened, visible

COLOURS = {
    Style.TITLE: "bold",
    Style.GOOD: "green",
    Style.ACTIVE: "cyan",
    Style.WARNING: "yellow",
    Style.BAD: "bold red",
    Style.MUTED: "dim",
    Style.COMMAND: "cyan",
}
_GAP = 2
_LIST_ITEM = re.compile(r" *(?:[-*]|\d+\.) +")


class Terminal(NamedTuple):
    """The terminal that a command prints to."""

    width: int
    has_color: bool

    def rendered(self, report: Report) -> str:
        """Return a report as this terminal shows it."""
        environment = Environment()
        target = self._buffered()
        for part in report:
            if isinstance(part, Table):
                _put_table(target, part, environment)
            else:
                _put_line(target, part, environment)
        return _without_trailing_blanks(target)

    def live(self) -> rich_console.Console:
        """Return a console that draws on standard output itself."""
        return rich_console.Console(
            file=sys.stdout,
            highlight=False,
            color_system="auto" if self.has_color else None,
            no_color=not self.has_color,
        )

    def _buffered(self) -> rich_console.Console:
        return rich_console.Console(
            file=io.StringIO(),
            highlight=False,
            force_terminal=True,
            color_system="standard" if self.has_color else None,
            no_color=not self.has_color,
            width=self.width,
            legacy_windows=False,
        )


def _shown(part: Part, environment: Environment) -> Text:
    """Return a part of a report as one styled line, with short paths and relative times."""
    if isinstance(part, Span):
        return Text(visible(part.text), COLOURS[part.style])
    if isinstance(part, Moment):
        return Text(ago(part.at, environment.now) if part.at else "")
    if isinstance(part, FilePath):
        return Text(one_line(short_path(part.path, environment.cwd, environment.home)))
    return Text(visible(part))


def _without_trailing_blanks(target: rich_console.Console) -> str:
    assert isinstance(target.file, io.StringIO)  # noqa: S101 - a buffered console
    return "".join(f"{shown.rstrip()}\n" for shown in target.file.getvalue().split("\n")[:-1])


def _put_line(target: rich_console.Console, line: str | Line, environment: Environment) -> None:
    parts = line.parts if isinstance(line, Line) else (line,)
    text = Text.assemble(*(_shown(part, environment) for part in parts))
    room = target.width - _GAP
    has_long_path = any(
        isinstance(part, FilePath) and len(_shown(part, environment)) > room / 2 for part in parts
    )
    if has_long_path or (
        isinstance(line, Line) and not line.wraps
    ):  # the terminal breaks it, and it can be copied
        target.print(text, soft_wrap=True)
        return
    for piece in text.split("\n", allow_blank=True):
        indent = len(piece.plain) - len(piece.plain.lstrip(" "))
        item = _LIST_ITEM.match(piece.plain)
        hang = len(item[0]) - indent if item else _GAP if indent else 0
        wrapped = piece[indent:].wrap(target, max(20, target.width - indent - hang), overflow="fold")
        for number, row in enumerate(wrapped or [Text()]):
            hanging = indent + (hang if number else 0)
            target.print(Text(" " * hanging) + row, soft_wrap=True)


def _put_table(target: rich_console.Console, table: Table, environment: Environment) -> None:
    cells = [[_cell(part, environment) for part in row] for row in table.rows]
    numbers = range(len(table.columns))
    shown = [number for number in numbers if not cells or any(row[number].plain for row in cells)]
    has_titles = any(column.title for column in table.columns)
    grid = RichTable(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", show_header=has_titles
    )
    for number in shown:
        column = table.columns[number]
        overflow: Literal["fold", "ellipsis"] = "fold" if column.wraps else "ellipsis"
        grid.add_column(column.title, no_wrap=not column.wraps, overflow=overflow)
    for row in cells:
        grid.add_row(*(row[number] for number in shown))
    target.print(Padding(grid, (0, 0, 0, table.indent)))


def _cell(part: Part, environment: Environment) -> Text:
    if isinstance(part, Span):
        part = part._replace(text=shortened(part.text, LONGEST_LINE))
    return _shown(shortened(part, LONGEST_LINE) if isinstance(part, str) else part, environment)
