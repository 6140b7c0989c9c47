"""Compute the size of each node, and break its title and notes into rows."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.diagrams.layout.text_width import width, wrapped
from flowrail.diagrams.model import ENDS, Node, NodeKind

TITLE, NOTE, LABEL = 14.0, 11.5, 11.5
"""Font sizes."""

TITLE_ROW, NOTE_ROW, LABEL_ROW = 18.0, 15.0, 18.0
WIDEST, NARROWEST = 232.0, 112.0
LONGEST_LABEL = 320.0
MARK = 11.0
"""The radius of an end."""


class Box(NamedTuple):
    """The size and the rows of text of a node."""

    width: float
    height: float
    title: tuple[str, ...]
    notes: tuple[str, ...]


def box_of(node: Node, *, ports: int) -> Box:
    """Return the box of *node*, high enough for *ports* lines at its side."""
    if node.kind is NodeKind.START:
        return Box(2 * MARK, 2 * MARK, (), ())
    if node.kind in ENDS:
        return Box(2 * MARK, 2 * MARK, (node.title,), ())
    title = wrapped(node.heading, TITLE, WIDEST, rows=3, bold=True)
    notes = [row for note in node.notes for row in wrapped(note, NOTE, WIDEST, rows=2)]
    text_width = max(
        [width(row, TITLE, bold=True) for row in title] + [width(row, NOTE) for row in notes], default=0.0
    )
    box_width = max(NARROWEST, text_width + 28)
    box_height = 22 + TITLE_ROW * len(title) + (NOTE_ROW * len(notes) + 3 if notes else 0)
    return Box(round(box_width, 1), round(max(box_height, 22.0 * ports + 8), 1), tuple(title), tuple(notes))


def label_of(text: str) -> tuple[str, float]:
    """Return the shortened label of a line, and its width with padding."""
    if not text:
        return "", 0.0
    (label,) = wrapped(text, LABEL, LONGEST_LABEL, rows=1) or [""]
    return label, round(width(label, LABEL) + 14, 1)


def beside(node: Node) -> float:
    """Return the room for the word beside an end."""
    return width(node.title, NOTE) + 10 if node.kind in ENDS else 0.0
