"""Compute the positions of boxes, labels, lines and phases. The same picture always gets the same layout.

Steps are in one column, in the order of their numbers. A transition to the next step is a line down. Every other
transition leaves a step at its right side: to an end beside the step, or up or down in a lane beside the column to
the right side of its target.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from flowrail.diagrams.layout.boxes import MARK, NOTE, Box, beside, box_of, label_of
from flowrail.diagrams.layout.lines import lanes, rounded
from flowrail.diagrams.layout.text_width import width
from flowrail.diagrams.model import ENDS, Node, Picture
from flowrail.errors import UsageError

MARGIN = 16.0
GAP, LABELLED_GAP = 30.0, 48.0
"""The space between two boxes, and with a label between them."""
LANE = 14.0
LOOP = 26.0
"""The width of a loop from a step to itself."""
STRIP = 26.0
"""The space above the first box of a phase, for its title."""
BAND_PADDING = 12.0
MOST_SIDE_LINES = 2_000
"""How many lines are placed in lanes, in about a second."""


class PlacedNode(NamedTuple):
    """A node and the position of its middle."""

    x: float
    y: float
    box: Box

    @property
    def top(self) -> float:
        """The top of the box."""
        return self.y - self.box.height / 2

    @property
    def bottom(self) -> float:
        """The bottom of the box."""
        return self.y + self.box.height / 2


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
    return _Drawing(picture).layout()


def _ends_beside(picture: Picture) -> dict[str, str]:
    """Return the ends that are drawn beside the only step that leads to them, each with its step.

    If a step does not lead to the next one, its first end is below it.
    """
    pairs = {(arrow.source, arrow.target) for arrow in picture.arrows}
    sources: dict[str, list[str]] = {}
    for source, target in sorted(pairs):
        sources.setdefault(target, []).append(source)
    own = {
        node.id: sources[node.id][0]
        for node in picture.nodes
        if node.kind in ENDS and len(sources.get(node.id, ())) == 1
    }
    following = {
        before.id: after.id
        for before, after in pairwise(node for node in picture.nodes if node.id not in own)
    }
    ends: dict[str, str] = {}
    for end, source in own.items():
        if (source, following.get(source)) in pairs:
            ends[end] = source
        else:
            following[source] = end
    return ends


class _Drawing:
    """The layout of one picture. Arrows are known by their numbers, nodes by their ids."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.arrows = picture.arrows
        self.labels = [label_of(arrow.label) for arrow in picture.arrows]
        self.ends = _ends_beside(picture)
        self.nodes = {node.id: node for node in picture.nodes}
        self.column = [node for node in picture.nodes if node.id not in self.ends]
        self.row = {node.id: number for number, node in enumerate(self.column)}
        self.down = {
            self.row[arrow.target]: number
            for number, arrow in enumerate(picture.arrows)
            if arrow.target in self.row and self.row[arrow.target] == self.row[arrow.source] + 1
        }
        self.lanes = self._lanes()
        self.ports = self._ports()
        self.placed: dict[str, PlacedNode] = {}

    def layout(self) -> Layout:
        """Return the finished layout."""
        bands = self._place()
        edge = max((self._reach(node) for node in self.column), default=0.0)
        lines = [self._line(number, edge) for number in range(len(self.arrows))]
        right = edge + (LANE * (2 + max(self.lanes.values())) if self.lanes else 0.0)
        bottom = max(
            [MARGIN, *(band.bottom for band in bands), *(node.bottom for node in self.placed.values())]
        )
        nodes = tuple(self.placed[node.id] for node in self.picture.nodes)
        return Layout(round(right + MARGIN, 1), round(bottom + MARGIN, 1), nodes, tuple(lines), tuple(bands))

    def _lanes(self) -> Mapping[int, int]:
        """Return the lane of every line that leads neither down, to an end beside its step, nor to its own step."""
        stretches = {
            number: (min(rows), max(rows))
            for number, arrow in enumerate(self.arrows)
            if arrow.target in self.row and self.down.get(self.row[arrow.target]) != number
            for rows in [(self.row[arrow.source], self.row[arrow.target])]
            if rows[0] != rows[1]
        }
        if len(stretches) > MOST_SIDE_LINES:
            raise UsageError(
                f"the picture has {len(stretches)} lines beside its steps; at most {MOST_SIDE_LINES} can be drawn",
                code="PICTURE_TOO_LARGE",
                hint="write a file that another program draws: -o FILE.mmd",
                lines=len(stretches),
            )
        return lanes(stretches)

    def _ports(self) -> dict[str, list[tuple[int, bool]]]:
        """Return which lines touch the right side of each node, from top to bottom, and whether they leave there.

        Lines from and to steps above come first. The order in which they reach their lanes avoids crossings.
        """
        ordered: dict[str, list[tuple[int, int, int, bool]]] = {node.id: [] for node in self.column}
        for number, arrow in enumerate(self.arrows):
            if arrow.source == arrow.target:
                ordered[arrow.source] += [(1, 0, number, False), (1, 1, number, True)]
            elif arrow.target in self.ends:
                ordered[arrow.source].append((1, 2, number, True))
            elif number in self.lanes:
                lane = self.lanes[number]
                for node, other, leaves in (
                    (arrow.source, arrow.target, True),
                    (arrow.target, arrow.source, False),
                ):
                    is_above = self.row[other] < self.row[node]
                    ordered[node].append(
                        (0, lane, number, leaves) if is_above else (2, -lane, number, leaves)
                    )
        return {
            node: [(number, leaves) for *_, number, leaves in sorted(ports)]
            for node, ports in ordered.items()
        }

    def _place(self) -> list[Band]:
        """Place all nodes, and return the bands of the phases."""
        boxes = {node.id: box_of(node, ports=len(self.ports[node.id])) for node in self.column}
        titles = [width(node.phase, NOTE) + 36 for node in self.column if node.phase is not None]
        labels = [self.labels[number][1] for number in self.down.values()]
        half = max([0.0, *labels, *(box.width for box in boxes.values())]) / 2
        x = round(MARGIN + max([half + (BAND_PADDING if titles else 0.0), *titles]), 1)
        bands: list[Band] = []
        y, top = MARGIN, 0.0
        phases = [node.phase for node in self.column]
        for row, node in enumerate(self.column):
            if row:
                down = self.down.get(row)
                y += LABELLED_GAP if down is not None and self.labels[down][0] else GAP
            if node.phase is not None and (not row or phases[row - 1] != node.phase):
                top, y = y, y + STRIP
            height = boxes[node.id].height
            self.placed[node.id] = PlacedNode(x, round(y + height / 2, 1), boxes[node.id])
            y += height
            if node.phase is not None and (row + 1 == len(phases) or phases[row + 1] != node.phase):
                y += BAND_PADDING
                bands.append(Band(node.phase, round(top, 1), round(y, 1)))
        self._place_ends()
        return bands

    def _place_ends(self) -> None:
        """Place the ends beside their steps, to the right of the label of their line."""
        for number, arrow in enumerate(self.arrows):
            if arrow.target in self.ends:
                x, y = self._port(arrow.source, number, leaves=True)
                end = box_of(self.nodes[arrow.target], ports=0)
                label_width = self.labels[number][1]
                self.placed[arrow.target] = PlacedNode(round(x + label_width + 26 + MARK, 1), y, end)

    def _reach(self, node: Node) -> float:
        """Return how far to the right a node reaches, with its ends, its loops and the labels of its lines."""
        placed = self.placed[node.id]
        side = placed.x + placed.box.width / 2
        down = self.down.get(self.row[node.id])
        reach = [side + beside(node) + (14.0 if self.ports[node.id] else 0.0)]
        reach.append(placed.x + self.labels[down][1] / 2 if down is not None else 0.0)
        for number, leaves in self.ports[node.id]:
            target = self.arrows[number].target
            if target in self.ends:
                reach.append(self.placed[target].x + MARK + beside(self.nodes[target]))
            elif leaves:
                loop = LOOP if target == node.id else 0.0
                reach.append(side + loop + self.labels[number][1] + 16)
        return max(reach)

    def _port(self, node: str, number: int, *, leaves: bool) -> tuple[float, float]:
        """Return where a line touches the right side of a node."""
        placed, ports = self.placed[node], self.ports[node]
        room = min(22.0, placed.box.height / (len(ports) + 0.5))
        y = placed.y + (ports.index((number, leaves)) - (len(ports) - 1) / 2) * room
        x = placed.x + placed.box.width / 2 + beside(self.nodes[node])
        return round(x, 1), round(y, 1)

    def _line(self, number: int, edge: float) -> RoutedLine:
        arrow = self.arrows[number]
        source, target = self.placed[arrow.source], self.placed[arrow.target]
        label_width = self.labels[number][1]
        if arrow.target in self.row and self.down.get(self.row[arrow.target]) == number:
            points = [(source.x, source.bottom), (target.x, target.top)]
            return RoutedLine(
                rounded(points), self._label(number, source.x, (source.bottom + target.top) / 2 - 3)
            )
        x, y = self._port(arrow.source, number, leaves=True)
        if arrow.target in self.ends:
            points = [(x, y), (target.x - MARK, y)]
            return RoutedLine(rounded(points), self._label(number, x + 10 + label_width / 2, y))
        to_x, to_y = self._port(arrow.target, number, leaves=False)
        if arrow.source == arrow.target:
            out = max(x, to_x) + LOOP
            label = self._label(number, out + label_width / 2 + 5, (y + to_y) / 2)
        else:
            out = edge + LANE * (1 + self.lanes[number])
            label = self._label(number, source.x + source.box.width / 2 + 10 + label_width / 2, y)
        return RoutedLine(rounded([(x, y), (out, y), (out, to_y), (to_x, to_y)]), label)

    def _label(self, number: int, x: float, y: float) -> Label | None:
        text, label_width = self.labels[number]
        return Label(round(x, 1), round(y, 1), label_width, text) if text else None
