"""Reports for people: lines and tables whose parts have a type or a style.

A report is a value. In a pipe it is printed as plain text with exact times and complete paths; a terminal shows it in
colour, in its own width, with relative times and short paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, TypeAlias

from flowrail.session_status import STATUSES
from flowrail.text.safe_text import LONGEST_LINE, shortened


class Style(StrEnum):
    """The meaning of a part of a report; a terminal prints each in its own colour."""

    TITLE = "title"
    GOOD = "good"
    ACTIVE = "active"
    WARNING = "warning"
    BAD = "bad"
    MUTED = "muted"
    COMMAND = "command"


class Span(NamedTuple):
    """A text with a style."""

    text: str
    style: Style


class Moment(NamedTuple):
    """A time in ISO 8601."""

    at: str


class FilePath(NamedTuple):
    """An absolute path of a file or folder."""

    path: str


Part: TypeAlias = str | Span | Moment | FilePath


class Line(NamedTuple):
    """One line of several parts. A terminal wraps it with a hanging indent, unless it must be copied or aligned as it is."""

    parts: tuple[Part, ...]
    wraps: bool = True

    def plain_lines(self) -> Iterator[str]:
        """Yield the line as plain text."""
        yield "".join(map(plain_part, self.parts))


class Column(NamedTuple):
    """A column of a table. A terminal wraps the cells of a column that *wraps*."""

    title: str
    wraps: bool = False


class Table(NamedTuple):
    """Rows under the titles of their columns."""

    columns: Sequence[Column]
    rows: Iterable[Sequence[Part]]
    indent: int = 0

    def plain_lines(self) -> Iterator[str]:
        """Yield the lines of the table as plain text."""
        head = [column.title for column in self.columns]
        rows = ([plain_part(cell) for cell in row] for row in self.rows)
        yield from (f"{' ' * self.indent}{text}" for text in _table_lines(head, rows))


Report: TypeAlias = Iterable[str | Line | Table]
"""Lines and tables from top to bottom; an empty text is an empty line."""

LONGEST_FACT = 400


def line(*parts: Part) -> Line:
    """Return a line of these parts."""
    return Line(parts)


def command(text: str, indent: int = 2) -> Line:
    """Return a line with a command to copy."""
    return Line((Span(f"{' ' * indent}{text}", Style.COMMAND),), wraps=False)


def title(text: str) -> Line:
    """Return a line that is a title."""
    return Line((Span(text, Style.TITLE),))


def columns(*titles: str, wraps: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return columns by their titles."""
    return tuple(Column(name, name in wraps) for name in titles)


def paragraphs(*reports: Report) -> Iterator[str | Line | Table]:
    """Yield several reports with an empty line between them; those that are empty are left out."""
    is_first = True
    for report in reports:
        starts = True
        for part in report:
            if starts and not is_first:
                yield ""
            starts = is_first = False
            yield part


def facts(values: Mapping[str, Part], *, indent: int = 0) -> Iterator[Line]:
    """Yield a line for each value that is not empty, with its name before it."""
    for name, value in values.items():
        if value:
            shown = shortened(value, LONGEST_FACT) if isinstance(value, str) else value
            yield line(f"{' ' * indent}{name:10}", shown)


def section(name: str, lines: Sequence[str | Line]) -> Report:
    """Return lines under a title, or nothing if there are no lines."""
    return [title(name), *lines] if lines else []


def plain_text(report: Report) -> str:
    """Return a report as plain text."""
    return "\n".join(plain_lines(report))


def plain_lines(report: Report) -> Iterator[str]:
    """Yield the lines of a report as plain text."""
    for part in report:
        yield from (part,) if isinstance(part, str) else part.plain_lines()


def plain_part(part: Part) -> str:
    """Return one part as plain text."""
    if isinstance(part, str):
        return part
    if isinstance(part, Span):
        return part.text
    if isinstance(part, Moment):
        return part.at
    return shortened(part.path)


def short_path(path: str, cwd: str, home: str) -> str:
    """Return a path from the current folder if it is in it, from `~` if it is in home, otherwise as it is."""
    for folder, name in ((cwd, ""), (home, "~/")):
        if folder and path.startswith(os.path.join(folder, "")):
            return f"{name}{path[len(os.path.join(folder, '')) :]}"
    return path


STATUS_STYLES = {
    **{name: Style(status.style) for name, status in STATUSES.items()},
    "error": Style.BAD,
    "warning": Style.WARNING,
    "info": Style.MUTED,
}


def status(word: str, rest: str = "") -> Span:
    """Return a status or a severity in its colour, and *rest* after it."""
    return Span(f"{word}{rest}", STATUS_STYLES.get(word, Style.WARNING))


WIDEST_COLUMN = 120
"""A column is at most this wide, so that one long cell does not fill every row with blanks."""


def _table_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    cells = [
        [shortened(str(cell), LONGEST_LINE) for cell in row]
        for row in chain([head] if any(head) else [], rows)
    ]
    widths = [min(WIDEST_COLUMN, max(map(len, column))) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
