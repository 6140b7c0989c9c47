"""Tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened

#: A column is at most this wide, so that one long cell does not fill every row with blanks.
WIDEST_COLUMN = 120
#: The width of the columns follows from the rows up to this many characters.
MEASURED = 4_000_000


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under a head, in columns as wide as their longest cell."""
    return "\n".join(table_lines(head, rows))


def table_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, without holding a very long one in memory."""
    cells = ([shortened(one_line(str(cell)), LONGEST_LINE) for cell in row] for row in chain([head], rows))
    first: list[list[str]] = []
    size = 0
    for row in cells:
        first.append(row)
        size += sum(map(len, row))
        if size > MEASURED:
            break
    widths = [min(WIDEST_COLUMN, max(len(row[column]) for row in first)) for column in range(len(head))]
    for row in chain(first, cells):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
