"""The outlines of nodes and labels, as SVG."""

from __future__ import annotations

from flowrail.diagrams.layout.boxes import MARK
from flowrail.diagrams.layout.layout import PlacedNode
from flowrail.diagrams.layout.lines import decimal
from flowrail.diagrams.model import ENDS, NodeKind
from flowrail.text.safe_text import attributes


def shape(kind: NodeKind, placed: PlacedNode) -> str:
    """Return the outline of a node: a ring for an end, otherwise a box, whose colour is that of its *kind*."""
    if kind is NodeKind.START:
        return _circle("shape", placed, MARK - 2)
    if kind in ENDS:
        return _circle("shape", placed, MARK) + _circle("core", placed, MARK - 4)
    half = placed.box.width / 2
    return rectangle(placed.x - half, placed.top, placed.x + half, placed.bottom, corner=10, name="shape")


def _circle(name: str, placed: PlacedNode, radius: float) -> str:
    return f'<circle class="{name}" cx="{decimal(placed.x)}" cy="{decimal(placed.y)}" r="{decimal(radius)}"/>'


def rectangle(
    left: float, top: float, right: float, bottom: float, *, corner: float, name: str | None = None
) -> str:
    """Return a rectangle with round corners."""
    size = {"width": decimal(right - left), "height": decimal(bottom - top), "rx": decimal(corner)}
    return f"<rect{attributes(class_=name, x=decimal(left), y=decimal(top), **size)}/>"
