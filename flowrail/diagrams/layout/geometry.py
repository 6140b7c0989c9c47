"""The finished layout of a picture."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.diagrams.layout.boxes import Box


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
