"""Notes about skills and registries."""

from __future__ import annotations

from collections.abc import Iterable

from flowrail.discovery.diagnostics import Note
from flowrail.text.report import Report, section
from flowrail.text.safe_text import shortened

MOST_NOTES = 20


def position(place: str) -> str:
    """Return a file and line in brackets."""
    return f" ({shortened(place, 240)})" if place else ""


def notes(found: Iterable[Note], most: int = MOST_NOTES) -> Report:
    """Return notes with their hints; at most *most* of them."""
    unique = list(dict.fromkeys(found))
    lines = [
        f"  {note.code}: {shortened(note.reason, 240)}{position(note.place)}\n    {note.hint}"
        for note in unique[:most]
    ]
    if len(unique) > most:
        lines.append(f"  and {len(unique) - most} more; --json has them all")
    return section("To know", lines)
