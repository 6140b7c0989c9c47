"""Foreign text on lines of a page: each piece visible, on one line, cut where it is long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowrail.discovery.diagnostics import Note
from flowrail.text.escape import one_line

LONGEST = 240
MOST_NOTES = 20
_MOST_VALUES = 12


def line(text: str, longest: int = LONGEST) -> str:
    """Return *text* as one visible line of at most *longest* characters."""
    shown = one_line(text[: 4 * longest])
    return shown if len(shown) <= longest and len(text) <= 4 * longest else f"{shown[: longest - 1]}…"


def values(texts: Sequence[str]) -> str:
    """Return a list of texts, cut where there are many."""
    more = f" and {len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
    return ", ".join(line(each, 60) for each in texts[:_MOST_VALUES]) + more


def section(title: str, lines: Sequence[str]) -> str:
    """Return *lines* under a title, or nothing where there are none."""
    return "\n".join([title, *lines]) if lines else ""


def at(place: str) -> str:
    """Return where something stands, in brackets."""
    return f" ({line(place)})" if place else ""


def count(number: int, what: str) -> str:
    """Return a number of things, with an ``s`` where it wants one."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def notes(told: Iterable[Note], most: int = MOST_NOTES) -> str:
    """Return what there is to know, each with what would mend it, the first so many of them."""
    each = list(dict.fromkeys(told))
    lines = [f"  {note.code}: {line(note.reason)}{at(note.place)}\n    {note.hint}" for note in each[:most]]
    if len(each) > most:
        lines.append(f"  and {len(each) - most} more; --json has them all")
    return section("To know", lines)
