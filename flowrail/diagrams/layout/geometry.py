"""What a drawing is once every place is known."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.diagrams.layout.boxes import Box


class PlacedNode(NamedTuple):
    """A node with its middle."""

    x: float
    y: float
    box: Box


class Label(NamedTuple):
    """What is written on a line, with its middle and its width."""

    x: float
    y: float
    width: float
    text: str


class Line(NamedTuple):
    """A line of one arrow: its path, and what is written on it."""

    path: str
    label: Label | None


class Band(NamedTuple):
    """A phase: its title, and from where to where it reaches."""

    title: str
    top: float
    bottom: float


class Layout(NamedTuple):
    """A picture with every place worked out; nodes and lines in the order of the picture."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    lines: tuple[Line, ...]
    bands: tuple[Band, ...]
