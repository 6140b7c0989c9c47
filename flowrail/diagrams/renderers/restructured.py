"""Pieces of reStructuredText that show just the characters they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import east_asian_width

from flowrail.diagrams.words import line

_SPECIAL = frozenset("\\`*_|<>:[]{}~^=-+#\"'.()!$%&/;?@,")


_ANYWHERE = frozenset("\\`*_|<>:[]")
_ENUMERATING = frozenset(".)")


def said(text: str) -> str:
    """Return *text* as one paragraph; a backslash stands before what could mean something."""
    shown = line(text, 1_000)
    return "".join(f"\\{char}" if char in _needed(shown, place) else char for place, char in enumerate(shown))


def _needed(text: str, place: int) -> frozenset[str]:
    """Return the characters that mean something there: at the start, or between letters, more than elsewhere."""
    if place == 0:
        return _SPECIAL
    return _ANYWHERE | _ENUMERATING if text[:place].isalnum() else _ANYWHERE


def heading(text: str, mark: str) -> str:
    """Return a title with its line below."""
    shown = said(text) or "workflow"
    columns = max(4, sum(2 if east_asian_width(char) in "WF" else 1 for char in shown))
    return f"{shown}\n{mark * columns}"


def raw(html: str) -> str:
    """Return what only HTML shows."""
    return ".. raw:: html\n\n" + "\n".join(f"   {each}" for each in html.splitlines())


def listing(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join(_listing(title, head, rows))


def _listing(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f".. list-table:: {said(title)}"
    yield "   :header-rows: 1"
    yield ""
    for row in (head, *rows):
        for place, each in enumerate(row):
            shown = said(each)
            yield f"   {'*' if not place else ' '} -{f' {shown}' if shown else ''}"
