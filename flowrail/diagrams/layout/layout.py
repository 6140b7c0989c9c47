"""Compute the positions of boxes, labels, lines and phases. The same picture always gets the same layout.

Forward transitions run down through the rows in curves. Backward transitions leave a step at its right side and go
up in lanes beside the drawing. If another step is to the right, they leave through the gap below the step and
arrive through the gap above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from flowrail.diagrams.layout.boxes import LABEL_ROW, NOTE, Box, inset
from flowrail.diagrams.layout.coordinates import coordinates
from flowrail.diagrams.layout.crossings import reordered
from flowrail.diagrams.layout.layers import LOOP, Layers, Side, layers_of
from flowrail.diagrams.layout.lines import Point, curve, lanes, ports, rounded
from flowrail.diagrams.layout.text_width import width
from flowrail.diagrams.model import Picture

MARGIN = 16.0
LANE = 14.0
TRACK = 12.0
STRIP = 26.0
"""The space above the first row of a phase, for its title."""


class PlacedNode(NamedTuple):
    """A node and the position of its middle."""

    x: float
    y: float
    box: Box


class Label(NamedTuple):
    """The text on a line, its middle and its width."""

    x: float
    y: float
    width: float
    text: str


class RoutedLine(NamedTuple):
    """The line of an arrow: its SVG path and its label."""

    path: str
    label: Label | None


class Band(NamedTuple):
    """The title and extent of a phase."""

    title: str
    top: float
    bottom: float


class Layout(NamedTuple):
    """The size of a drawing and its nodes and lines, in the order of the picture."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    lines: tuple[RoutedLine, ...]
    bands: tuple[Band, ...]


def layout(picture: Picture) -> Layout:
    """Return the layout of *picture*."""
    return _Drawing(picture, layers_of(picture)).layout()


class _Drawing:
    """The coordinates so far."""

    def __init__(self, picture: Picture, layers: Layers) -> None:
        self.picture, self.layers = picture, layers
        vertices = layers.vertices
        above: list[list[int]] = [[] for _ in vertices]
        below: list[list[int]] = [[] for _ in vertices]
        for chain in layers.chains.values():
            for upper, lower in pairwise(chain):
                below[upper].append(lower)
                above[lower].append(upper)
        self.above = above
        self.rows = reordered(layers.rows, above, below)
        bends = [vertex.is_bend for vertex in vertices]
        self.x = coordinates(self.rows, above, below, bends, self._room)
        positions = {node.id: number for number, node in enumerate(picture.nodes)}
        self.ends = [(positions[arrow.source], positions[arrow.target]) for arrow in picture.arrows]
        self.outermost = {
            max(nodes, key=lambda at: self.x[at]) for nodes in map(self._nodes, self.rows) if nodes
        }
        self.top: list[float] = []
        self.bottom: list[float] = []
        self.bands: list[Band] = []

    def layout(self) -> Layout:
        """Return the finished layout."""
        self._set_rows()
        self._set_left_edge()
        right_edge = max(
            (self.x[at] + vertex.right for at, vertex in enumerate(self.layers.vertices)), default=0.0
        )
        lines: dict[int, RoutedLine] = {}
        ports_x = self._ports()
        for number, chain in self.layers.chains.items():
            lines[number] = self._forward_line(number, chain, ports_x[number, True], ports_x[number, False])
        for number in self.layers.loops:
            lines[number] = self._loop(number)
        lane_of = self._lanes()
        for number in self.layers.backs:
            lines[number] = self._backward_line(number, right_edge + LANE * (1 + lane_of[number]))
        total_width = right_edge + (LANE * (2 + max(lane_of.values())) if lane_of else 0.0) + MARGIN
        total_height = (
            (self.bands[-1].bottom if self._ends_in_band() else self.bottom[-1]) if self.bottom else 0.0
        )
        nodes = tuple(
            PlacedNode(round(self.x[at], 1), round(self._y(at), 1), box)
            for at, box in enumerate(self.layers.boxes)
        )
        ordered_lines = tuple(lines[number] for number in range(len(self.picture.arrows)))
        return Layout(
            round(total_width, 1), round(total_height + MARGIN, 1), nodes, ordered_lines, tuple(self.bands)
        )

    def _room(self, left: int, right: int) -> float:
        left_vertex, right_vertex = self.layers.vertices[left], self.layers.vertices[right]
        gap = 14.0 if left_vertex.is_bend and right_vertex.is_bend else 22.0
        return left_vertex.right + right_vertex.left + gap

    def _nodes(self, row: Sequence[int]) -> list[int]:
        return [at for at in row if self.layers.vertices[at].node is not None]

    def _set_rows(self) -> None:
        """Set the top and bottom of every row and phase."""
        y = MARGIN
        firsts = {2 * first: title for title, first, _ in self.layers.spans if title is not None}
        lasts = {2 * last for title, _, last in self.layers.spans if title is not None}
        band_top = 0.0
        for number, row in enumerate(self.rows):
            if number:
                y += self._gap(number)
            if number in firsts:
                band_top, y = y, y + STRIP
            y += TRACK * len(self._entering(number))
            height = max((self.layers.vertices[at].height for at in row), default=0.0)
            self.top.append(round(y, 1))
            self.bottom.append(round(y + height, 1))
            y += height + TRACK * len(self._leaving(number))
            if number in lasts:
                y += 12
                title = next(t for t, _, last in self.layers.spans if 2 * last == number and t is not None)
                self.bands.append(Band(title, round(band_top, 1), round(y, 1)))

    def _gap(self, number: int) -> float:
        """Return the gap above a row; lines that go far sideways need more."""
        sideways = max(
            (abs(self.x[upper] - self.x[lower]) for upper, lower in self._steps_into(number)), default=0.0
        )
        return (12.0 if number % 2 else 18.0) + min(40.0, sideways * 0.11)

    def _steps_into(self, row: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of vertices between a row and the row above it."""
        return ((upper, lower) for lower in self.rows[row] for upper in self.above[lower])

    def _leaving(self, row: int) -> list[int]:
        return self._inner(row, leaves=True)

    def _entering(self, row: int) -> list[int]:
        return self._inner(row, leaves=False)

    def _inner(self, row: int, *, leaves: bool) -> list[int]:
        """Return the backward transitions of nodes in a row that have another node to their right."""
        return [
            side.arrow
            for at in self._nodes(self.rows[row])
            if at not in self.outermost
            for side in self.layers.sides[at]
            if side.leaves is leaves and side.arrow not in self.layers.loops
        ]

    def _ends_in_band(self) -> bool:
        return bool(self.bands) and self.bands[-1].bottom > self.bottom[-1]

    def _y(self, at: int) -> float:
        row = self.layers.vertices[at].row
        return (self.top[row] + self.bottom[row]) / 2

    def _set_left_edge(self) -> None:
        """Shift the drawing to the margin, with room for the titles of phases."""
        left = min((self.x[at] - vertex.left for at, vertex in enumerate(self.layers.vertices)), default=0.0)
        titles = max((width(band.title, NOTE) + 24 for band in self.bands), default=0.0)
        through = [
            self.x[at]
            for _, first, _ in self.layers.spans
            for pair in self._steps_into(2 * first)
            for at in pair
        ]
        edge = min([left - (12.0 if self.bands else 0.0), *(x - titles - 12 for x in through if self.bands)])
        self.x = [x - edge + MARGIN for x in self.x]

    # --- lines

    def _forward_line(self, number: int, chain: Sequence[int], start: float, end: float) -> RoutedLine:
        points: list[Point] = []
        for at in chain:
            row = self.layers.vertices[at].row
            points += [(self.x[at], self.top[row]), (self.x[at], self.bottom[row])]
        first_box, last_box = self.layers.boxes[chain[0]], self.layers.boxes[chain[-1]]
        points[0] = (start, self._y(chain[0]) + first_box.height / 2)
        points[1] = (start, points[1][1])
        points[-2] = (end, points[-2][1])
        points[-1] = (end, self._y(chain[-1]) - last_box.height / 2)
        text, label_width = self.layers.labels[number]
        label = (
            Label(*_rounded_point(self.x[chain[1]], self._y(chain[1])), label_width, text) if text else None
        )
        return RoutedLine(curve(points), label)

    def _ports(self) -> dict[tuple[int, bool], float]:
        """Return where every line touches the bottom of its first box and the top of its last."""
        touching: dict[tuple[int, bool], list[tuple[float, int]]] = {}
        for number, chain in self.layers.chains.items():
            touching.setdefault((chain[0], True), []).append((self.x[chain[1]], number))
            touching.setdefault((chain[-1], False), []).append((self.x[chain[-2]], number))
        positions: dict[tuple[int, bool], float] = {}
        for (at, leaves), lines in touching.items():
            lines.sort()
            half = max(0.0, self.layers.boxes[at].width / 2 - 20)
            xs = ports([x - self.x[at] for x, _ in lines], half)
            positions |= {(number, leaves): self.x[at] + x for (_, number), x in zip(lines, xs, strict=True)}
        return positions

    def _loop(self, number: int) -> RoutedLine:
        at = self.ends[number][0]
        leaves, enters = self._side(at, number, leaves=True), self._side(at, number, leaves=False)
        right, back = self._right(at, leaves), self._right(at, enters)
        out = max(right, back) + LOOP
        text, label_width = self.layers.labels[number]
        label = (
            Label(*_rounded_point(out + label_width / 2 + 5, (leaves + enters) / 2), label_width, text)
            if text
            else None
        )
        return RoutedLine(rounded([(right, leaves), (out, leaves), (out, enters), (back, enters)]), label)

    def _side(self, at: int, number: int, *, leaves: bool) -> float:
        """Return the height at which a line touches the right side of a node."""
        sides = self.layers.sides[at]
        index = sides.index(Side(number, leaves=leaves))
        room = min(22.0, self.layers.boxes[at].height / (len(sides) + 0.5))
        return round(self._y(at) + (index - (len(sides) - 1) / 2) * room, 1)

    def _backward_line(self, number: int, lane: float) -> RoutedLine:
        source, target = self.ends[number]
        leaves = self._side(source, number, leaves=True)
        right = self._right(source, leaves)
        text, label_width = self.layers.labels[number]
        label = (
            Label(
                *_rounded_point(
                    self.x[source] + self.layers.boxes[source].width / 2 + 10 + label_width / 2, leaves
                ),
                label_width,
                text,
            )
            if text
            else None
        )
        points: list[Point] = [(right, leaves)]
        if source in self.outermost:
            points.append((lane, leaves))
        else:
            row = self.layers.vertices[source].row
            right_side = self.x[source] + self.layers.vertices[source].right - 4
            track = self.bottom[row] + TRACK * (self._leaving(row).index(number) + 0.8)
            points += [(right_side, leaves), (right_side, track), (lane, track)]
        return RoutedLine(rounded([*points, *self._arrival(number, target, lane)]), label)

    def _arrival(self, number: int, at: int, lane: float) -> list[Point]:
        box = self.layers.boxes[at]
        if at in self.outermost:
            enters = self._side(at, number, leaves=False)
            return [(lane, enters), (self._right(at, enters), enters)]
        row = self.layers.vertices[at].row
        waiting = self._entering(row)
        track = self.top[row] - TRACK * (len(waiting) - waiting.index(number) - 0.2)
        entering = [side.arrow for side in self.layers.sides[at] if not side.leaves]
        x = self.x[at] + box.width / 2 - 10 - 8 * (entering.index(number) % 4)
        return [(lane, track), (x, track), (x, self._y(at) - box.height / 2)]

    def _right(self, at: int, y: float) -> float:
        """Return the right side of a node at a height."""
        box = self.layers.boxes[at]
        return self.x[at] + box.width / 2 - inset(self.picture.nodes[at].kind, box, y - self._y(at))

    def _lanes(self) -> dict[int, int]:
        """Return the lane of every backward transition."""
        row = [vertex.row for vertex in self.layers.vertices]
        stretches = {
            number: (self.top[row[target]] - LABEL_ROW, self.bottom[row[source]] + LABEL_ROW)
            for number in self.layers.backs
            for source, target in [self.ends[number]]
        }
        return lanes(stretches)


def _rounded_point(x: float, y: float) -> tuple[float, float]:
    return round(x, 1), round(y, 1)
