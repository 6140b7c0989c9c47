"""The shape of each kind of node, as SVG."""

from __future__ import annotations

from flowrail.diagrams.layout.boxes import CUT, MARK, POINT, SLANT, STACK
from flowrail.diagrams.layout.layout import PlacedNode
from flowrail.diagrams.layout.lines import decimal
from flowrail.diagrams.model import ENDS, NodeKind
from flowrail.text.safe_text import attributes


def shape(kind: NodeKind, placed: PlacedNode) -> str:
    """Return the outline of a node of that *kind*."""
    if kind is NodeKind.START:
        return _circle("shape", placed, MARK - 2)
    if kind in ENDS:
        return _circle("shape", placed, MARK) + _circle("core", placed, MARK - 4)
    half_width, half_height = placed.box.width / 2, placed.box.height / 2
    left, top, right, bottom = (
        placed.x - half_width,
        placed.y - half_height,
        placed.x + half_width,
        placed.y + half_height,
    )
    match kind:
        case NodeKind.DECIDE:
            inner = left + POINT, right - POINT
            return _polygon(
                (left, placed.y), (inner[0], top), (inner[1], top),
                (right, placed.y), (inner[1], bottom), (inner[0], bottom),
            )  # fmt: skip
        case NodeKind.ASK:
            return _polygon((left + SLANT, top), (right, top), (right - SLANT, bottom), (left, bottom))
        case NodeKind.GATE:
            return _polygon(
                (left, top + CUT), (left + CUT, top), (right - CUT, top), (right, top + CUT),
                (right, bottom - CUT), (right - CUT, bottom), (left + CUT, bottom), (left, bottom - CUT),
            )  # fmt: skip
        case NodeKind.AGENT:
            bars = (
                f'<path class="bar" d="M{decimal(x)} {decimal(top)}V{decimal(bottom)}"/>'
                for x in (left + 8, right - 8)
            )
            return rectangle(left, top, right, bottom, corner=4, name="shape") + "".join(bars)
        case NodeKind.AGENTS:
            return "".join(
                rectangle(
                    left + offset,
                    top + STACK - offset,
                    right - STACK + offset,
                    bottom - offset,
                    corner=8,
                    name="shape",
                )
                for offset in (STACK, STACK / 2, 0.0)
            )
    return rectangle(left, top, right, bottom, corner=10, name="shape")


def _circle(name: str, placed: PlacedNode, radius: float) -> str:
    return f'<circle class="{name}" cx="{decimal(placed.x)}" cy="{decimal(placed.y)}" r="{decimal(radius)}"/>'


def rectangle(
    left: float, top: float, right: float, bottom: float, *, corner: float, name: str | None = None
) -> str:
    """Return a rectangle with round corners."""
    size = {"width": decimal(right - left), "height": decimal(bottom - top), "rx": decimal(corner)}
    return f"<rect{attributes(class_=name, x=decimal(left), y=decimal(top), **size)}/>"


def _polygon(*points: tuple[float, float]) -> str:
    return f'<polygon class="shape" points="{" ".join(f"{decimal(x)},{decimal(y)}" for x, y in points)}"/>'
