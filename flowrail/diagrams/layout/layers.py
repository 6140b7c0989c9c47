"""Arrange a picture in rows: nodes in even rows, the labels of their lines in odd rows.

Steps are in the order of their numbers: transitions to an earlier step lead backward, all others forward. Every
phase has its own rows. A line through several rows has a bend in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flowrail.diagrams.layout.boxes import LABEL_ROW, Box, beside, box_of, label_of
from flowrail.diagrams.model import Arrow, Picture
from flowrail.errors import UsageError

MOST_POINTS = 40_000
"""How many boxes, labels and bends are arranged, in about a second."""
LOOP = 26.0
"""The width of a loop from a step to itself."""


class PictureTooLargeError(UsageError):
    """The picture has too many boxes, labels and bends."""

    code = "PICTURE_TOO_LARGE"


class Side(NamedTuple):
    """A line that leaves or enters a node at its right side."""

    arrow: int
    leaves: bool


class Vertex(NamedTuple):
    """A node, a label, or a bend of a line, in a row."""

    row: int
    left: float
    right: float
    height: float
    node: int | None = None
    arrow: int | None = None

    @property
    def is_bend(self) -> bool:
        """Whether the vertex is a point of a line and not a node."""
        return self.node is None


class Layers(NamedTuple):
    """A picture in rows; ``chains`` are the vertices of each forward arrow."""

    vertices: list[Vertex]
    rows: list[list[int]]
    boxes: list[Box]
    labels: list[tuple[str, float]]
    chains: dict[int, list[int]]
    sides: list[list[Side]]
    loops: list[int]
    backs: list[int]
    spans: list[tuple[str | None, int, int]]


def layers_of(picture: Picture) -> Layers:
    """Return *picture* in rows, in the order of its nodes and arrows."""
    positions = {node.id: number for number, node in enumerate(picture.nodes)}
    ends = [(positions[arrow.source], positions[arrow.target]) for arrow in picture.arrows]
    labels = [label_of(picture.label(arrow)) for arrow in picture.arrows]
    loops = [number for number, (source, target) in enumerate(ends) if source == target]
    backs = [number for number, (source, target) in enumerate(ends) if source > target]
    sides: list[list[Side]] = [[] for _ in picture.nodes]
    for number in backs:
        sides[ends[number][1]].append(Side(number, leaves=False))
    for number in loops:
        sides[ends[number][0]] += [Side(number, leaves=False), Side(number, leaves=True)]
    for number in backs:
        sides[ends[number][0]].append(Side(number, leaves=True))
    boxes = [box_of(picture, node, ports=len(sides[at])) for at, node in enumerate(picture.nodes)]
    ranks, spans = _ranks(picture, ends)
    points = len(boxes) + sum(
        2 * (ranks[target] - ranks[source]) - 1 for source, target in ends if target > source
    )
    if points > MOST_POINTS:
        raise PictureTooLargeError(
            f"the picture has {points} boxes, labels and bends; at most {MOST_POINTS} can be drawn",
            hint="use a format that another program draws: --format mermaid",
            points=points,
        )
    vertices = [
        Vertex(
            2 * ranks[at],
            boxes[at].width / 2,
            boxes[at].width / 2 + beside(node) + _label_room(sides[at], labels, loops),
            boxes[at].height,
            node=at,
        )
        for at, node in enumerate(picture.nodes)
    ]
    chains = _chains(picture.arrows, ends, labels, ranks, vertices)
    rows: list[list[int]] = [[] for _ in range(2 * max(ranks, default=-1) + 1)]
    for number, vertex in enumerate(vertices):
        rows[vertex.row].append(number)
    return Layers(vertices, rows, boxes, labels, chains, sides, loops, backs, spans)


def _label_room(sides: Sequence[Side], labels: Sequence[tuple[str, float]], loops: Sequence[int]) -> float:
    """Return the room that a node needs to its right for the labels of lines."""
    reach = [
        labels[side.arrow][1] + (LOOP if side.arrow in loops else 0) + 16 for side in sides if side.leaves
    ]
    return max(reach, default=14.0 if sides else 0.0)


def _ranks(
    picture: Picture, ends: Sequence[tuple[int, int]]
) -> tuple[list[int], list[tuple[str | None, int, int]]]:
    """Return the rank of every node, and the first and last rank of every phase."""
    ranks = [0] * len(picture.nodes)
    targets_of: list[list[int]] = [[] for _ in picture.nodes]
    for source, target in ends:
        if target > source:
            targets_of[source].append(target)
    spans: list[tuple[str | None, int, int]] = []
    start, next_rank = 0, 0
    has_phases = any(node.phase is not None for node in picture.nodes)
    for phase, nodes in picture.bands:
        first = next_rank if has_phases else 0
        for number in range(start, start + len(nodes)):
            ranks[number] = max(ranks[number], first)
            for target in targets_of[number]:
                ranks[target] = max(ranks[target], ranks[number] + 1)
        last = max(ranks[start : start + len(nodes)])
        spans.append((phase, first, last))
        start, next_rank = start + len(nodes), last + 1
    return ranks, spans


def _chains(
    arrows: Sequence[Arrow],
    ends: Sequence[tuple[int, int]],
    labels: Sequence[tuple[str, float]],
    ranks: Sequence[int],
    vertices: list[Vertex],
) -> dict[int, list[int]]:
    """Return the vertices of every forward arrow, and add its labels and bends to *vertices*."""
    chains: dict[int, list[int]] = {}
    for number in range(len(arrows)):
        source, target = ends[number]
        if target <= source:
            continue
        chain = [source]
        for row in range(2 * ranks[source] + 1, 2 * ranks[target]):
            labelled = row == 2 * ranks[source] + 1 and labels[number][0]
            half = labels[number][1] / 2 if labelled else 0.0
            chain.append(len(vertices))
            vertices.append(Vertex(row, half, half, LABEL_ROW if labelled else 0.0, arrow=number))
        chains[number] = [*chain, target]
    return chains
