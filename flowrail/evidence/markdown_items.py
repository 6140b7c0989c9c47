"""Parts of a Markdown file that evidence looks at: sections, and items with ids such as E1, E2."""

from __future__ import annotations

import re
from typing import NamedTuple

from flowrail.text.placeholders import in_fences

_HEADING = r"(#{1,6})\s+\S"
_ITEM = r"\s*(?:(?:[-*+]|\d+[.)]|#{1,6}|\|)\s+)?[`*]*(?P<id>[A-Z]\d+)\b"
"""The start of an item: an id that begins a line, a list item, a row or a heading. A struck-out id begins none."""


class Item(NamedTuple):
    """An item: its id, and its text up to the next item."""

    id: str
    text: str


def section_of(text: str, heading: str) -> str:
    """Return what is below each *heading* of *text*, up to the next heading of the same or a higher level.

    Lines in fences are no headings. The result is empty if the heading is missing or nothing is below it.
    """
    level = len(heading) - len(heading.lstrip("#"))
    lines = text.splitlines()
    fenced = in_fences("\n".join(lines))
    is_inside = False
    found: list[str] = []
    for number, line in enumerate(lines):
        mark = None if number in fenced else re.match(_HEADING, line)
        if mark and len(mark[1]) <= level:
            is_inside = line.split() == heading.split()
        elif is_inside:
            found.append(line)
    return "\n".join(found).strip()


def items_in(text: str, letter: str) -> list[Item]:
    """Return the items of *text* in order, those with *letter* or all."""
    lines = text.splitlines()
    starts = [
        (number, match["id"])
        for number, line in enumerate(lines)
        if (match := re.match(_ITEM, line)) and match["id"].startswith(letter)
    ]
    bounds = [number for number, _ in starts] + [len(lines)]
    return [
        Item(item_id, "\n".join(lines[start:end]))
        for (start, item_id), end in zip(starts, bounds[1:], strict=False)
    ]


def is_named(item_id: str, text: str) -> bool:
    """Return whether *text* contains the id as a word."""
    return re.search(rf"\b{re.escape(item_id)}\b", text) is not None
