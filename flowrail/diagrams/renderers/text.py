"""Draw a picture for a terminal: each step below the previous one, other transitions as lines on the right.

The transition to the next step is the line on the left. A transition elsewhere leaves to the right, runs up or down in a
lane, and ends in an arrowhead at its step. Transitions to the same step share a lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from flowrail.diagrams.layout.lines import lanes
from flowrail.diagrams.model import ENDS, Arrow, Node, NodeKind, Picture
from flowrail.text.report import Line, Part, Report, Span, Style, plain_part
from flowrail.text.safe_text import one_line

_LANE = 2
"""The columns of a lane."""
_NARROWEST = 24
"""The columns that the text keeps, however many lanes there are."""
_MARKERS: Mapping[str, tuple[str, Style | None]] = {
    "": ("○", None),
    "here": ("◆", Style.ACTIVE),
    "done": ("●", Style.GOOD),
    "left": ("○", None),
    "off": ("○", Style.MUTED),
}
_KINDS: Mapping[NodeKind, str] = {NodeKind.DECIDE: "decides itself", NodeKind.ASK: "asks the user"}


class _DrawnRow(NamedTuple):
    """A line of the drawing; it is at a step, or the beginning of a transition to `leaves_to`."""

    parts: tuple[Part, ...]
    step: str = ""
    leaves_to: str = ""


class _Lane(NamedTuple):
    """The rows that a line on the right connects, with the row of its arrowhead, and its position from the left."""

    rows: frozenset[int]
    target: int
    position: int

    @property
    def span(self) -> range:
        """All rows that the line crosses."""
        return range(min(self.rows), max(self.rows) + 1)


def draw(picture: Picture, width: int, notes: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Report:
    """Return *picture* in at most *width* columns, with more *notes* about steps by their ids."""
    steps = [node for node in picture.nodes if node.kind not in ENDS]
    first = next((arrow.target for arrow in picture.arrows if arrow.source == steps[0].id), None)
    if steps[0].kind is NodeKind.START and len(steps) > 1 and steps[1].id == first:
        steps = steps[1:]
    rows = [row for number in range(len(steps)) for row in _rows(picture, steps, number, notes)]
    drawn = _lanes(rows, max(0, (width - _NARROWEST) // _LANE))
    used = 1 + max((lane.position for lane in drawn), default=-1)
    room = width - used * _LANE
    column = min(room, max((_width(row.parts) for row in rows), default=0) + 2)
    return [_line(row, number, drawn, column, used) for number, row in enumerate(rows)]


def _rows(
    picture: Picture, steps: list[Node], number: int, notes: Mapping[str, Sequence[str]]
) -> Iterator[_DrawnRow]:
    """Yield the rows of a step: its title, its notes, and its transitions."""
    node = steps[number]
    following = steps[number + 1].id if number + 1 < len(steps) else None
    arrows = [arrow for arrow in picture.arrows if arrow.source == node.id]
    straight = next((arrow for arrow in arrows if arrow.target == following), None)
    others = [arrow for arrow in arrows if arrow is not straight]
    yield _DrawnRow(_title(picture, node), node.id)
    line: Part = Span("│", Style.MUTED) if arrows else " "
    for note in (" · ".join(map(one_line, picture.notes(node))), *notes.get(node.id, ())):
        if note:
            yield _DrawnRow((line, Span(f"    {one_line(note)}", Style.MUTED)))
    ends = {end.id: end for end in picture.nodes if end.kind in ENDS}
    for position, arrow in enumerate(others):
        is_last = straight is None and position == len(others) - 1
        corner = Span("╰─ " if is_last else "├─ ", Style.MUTED)
        label = _label(picture, arrow)
        if arrow.target in ends:
            yield _DrawnRow((corner, label, Span(" ─ ", Style.MUTED), _end(ends[arrow.target])))
        else:
            yield _DrawnRow((corner, label), leaves_to=arrow.target)
    if straight is not None:
        yield _DrawnRow((Span("│  ", Style.MUTED), _label(picture, straight)))


def _title(picture: Picture, node: Node) -> tuple[Part, ...]:
    marker, style = _MARKERS[picture.trace.state(node) if picture.trace is not None else ""]
    number = f"{node.number:>2} " if node.number is not None else ""
    has_other_id = node.is_step and _letters(node.id) != _letters(node.title)
    about = [node.id if has_other_id else "", node.phase or "", _KINDS.get(node.kind, "")]
    more = " · ".join(one_line(text) for text in about if text)
    return (
        Span(marker, style) if style is not None else marker,
        Span(f" {number}{one_line(node.title)}", Style.MUTED if style is Style.MUTED else Style.TITLE),
        Span(f"  {more}" if more else "", Style.MUTED),
    )


def _end(node: Node) -> Span:
    style = Style.GOOD if node.kind is NodeKind.COMPLETED else Style.BAD
    return Span(f"◉ {one_line(node.title)}", style)


def _label(picture: Picture, arrow: Arrow) -> Part:
    text = one_line(picture.label(arrow))
    if picture.count(arrow):
        return Span(text, Style.GOOD)
    return Span(text, Style.WARNING) if {"fail", "iterate"} & {*arrow.outcomes} else text


def _lanes(rows: list[_DrawnRow], most: int) -> list[_Lane]:
    """Return a lane for each step that transitions lead to from elsewhere, the shortest nearest to the text."""
    row_of = {row.step: number for number, row in enumerate(rows) if row.step}
    sources: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        if row.leaves_to:
            sources.setdefault(row.leaves_to, []).append(number)
    rows_of = {row_of[target]: frozenset([*numbers, row_of[target]]) for target, numbers in sources.items()}
    positions = lanes({target: (min(numbers), max(numbers)) for target, numbers in rows_of.items()})
    drawn = [_Lane(numbers, target, positions[target]) for target, numbers in rows_of.items()]
    return [lane for lane in drawn if lane.position < most]


def _line(row: _DrawnRow, number: int, lanes: list[_Lane], column: int, used: int) -> Line:
    ending = next((lane for lane in lanes if number in lane.rows), None)
    room = column - 2
    parts = [*row.parts]
    if row.leaves_to and ending is None:
        parts.append(f" → {row.leaves_to}")  # there are more lanes than fit
    parts = _cut(parts, room)
    left = room - _width(tuple(parts))
    if ending is None:
        gap = " " * (left + 2)
    elif number == ending.target:
        gap = " ◀" + "─" * left
    else:
        gap = " " + "─" * (left + 1)
    cells = [" "] * (used * _LANE)
    for lane in lanes:
        if number in lane.span:
            cells[lane.position * _LANE] = "│"
    if ending is not None:
        start = ending.position * _LANE
        cells[:start] = ["┼" if cell == "│" else "─" for cell in cells[:start]]
        is_first, is_last = number == ending.span.start, number == ending.span.stop - 1
        cells[start] = "╮" if is_first else "╯" if is_last else "┤"
    return Line((*parts, Span(f"{gap}{''.join(cells)}".rstrip(), Style.MUTED)), wraps=False)


def _cut(parts: list[Part], room: int) -> list[Part]:
    """Return as much of *parts* as fits."""
    shown: list[Part] = []
    for part in parts:
        text = plain_part(part)
        if _cells(text) > room:
            while text and _cells(text) >= room:
                text = text[:-1]
            text = f"{text}…" if room > 0 else ""
            return [*shown, part._replace(text=text) if isinstance(part, Span) else text]
        room -= _cells(text)
        shown.append(part)
    return shown


def _width(parts: tuple[Part, ...]) -> int:
    return sum(_cells(plain_part(part)) for part in parts)


def _cells(text: str) -> int:
    """Return the columns that *text* takes on a terminal."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())
