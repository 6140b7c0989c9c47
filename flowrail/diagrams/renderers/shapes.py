"""The shape of each kind of node, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowrail.diagrams.layout.boxes import CUT, MARK, POINT, SLANT, STACK
from flowrail.diagrams.layout.layout import PlacedNode
from flowrail.diagrams.model import NodeKind


def shape(kind: NodeKind, at: PlacedNode) -> str:
    """Return the outline of a node of that *kind*."""
    return _SHAPES[kind](at)


def _edges(at: PlacedNode) -> tuple[float, float, float, float]:
    wide, high = at.box.width / 2, at.box.height / 2
    return at.x - wide, at.y - high, at.x + wide, at.y + high


def _rectangle(at: PlacedNode, *, corner: float = 10) -> str:
    left, top, right, bottom = _edges(at)
    return (
        f'<rect class="shape" x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" '
        f'height="{_n(bottom - top)}" rx="{_n(corner)}"/>'
    )


def _polygon(*points: tuple[float, float]) -> str:
    return f'<polygon class="shape" points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in points)}"/>'


def _hexagon(at: PlacedNode) -> str:
    left, top, right, bottom = _edges(at)
    cut = POINT
    return _polygon(
        (left, at.y),
        (left + cut, top),
        (right - cut, top),
        (right, at.y),
        (right - cut, bottom),
        (left + cut, bottom),
    )


def _octagon(at: PlacedNode) -> str:
    left, top, right, bottom = _edges(at)
    cut = CUT
    return _polygon(
        (left, top + cut), (left + cut, top), (right - cut, top), (right, top + cut),
        (right, bottom - cut), (right - cut, bottom), (left + cut, bottom), (left, bottom - cut),
    )  # fmt: skip


def _parallelogram(at: PlacedNode) -> str:
    left, top, right, bottom = _edges(at)
    cut = SLANT
    return _polygon((left + cut, top), (right, top), (right - cut, bottom), (left, bottom))


def _agent(at: PlacedNode) -> str:
    left, top, right, bottom = _edges(at)
    bars = "".join(f'<path class="bar" d="M{_n(x)} {_n(top)}V{_n(bottom)}"/>' for x in (left + 8, right - 8))
    return _rectangle(at, corner=4) + bars


def _agents(at: PlacedNode) -> str:
    return "".join(
        _rectangle(
            at._replace(
                x=at.x - STACK / 2 + far, y=at.y + STACK / 2 - far,
                box=at.box._replace(width=at.box.width - STACK, height=at.box.height - STACK),
            ),
            corner=8,
        )
        for far in (STACK, STACK / 2, 0.0)
    )  # fmt: skip


def _start(at: PlacedNode) -> str:
    return f'<circle class="shape" cx="{_n(at.x)}" cy="{_n(at.y)}" r="{_n(MARK - 2)}"/>'


def _end(at: PlacedNode) -> str:
    ring = f'<circle class="shape" cx="{_n(at.x)}" cy="{_n(at.y)}" r="{_n(MARK)}"/>'
    return f'{ring}<circle class="core" cx="{_n(at.x)}" cy="{_n(at.y)}" r="{_n(MARK - 4)}"/>'


_SHAPES: Mapping[NodeKind, Callable[[PlacedNode], str]] = {
    NodeKind.START: _start,
    NodeKind.STEP: _rectangle,
    NodeKind.DECIDE: _hexagon,
    NodeKind.ASK: _parallelogram,
    NodeKind.GATE: _octagon,
    NodeKind.AGENT: _agent,
    NodeKind.AGENTS: _agents,
    NodeKind.COMPLETED: _end,
    NodeKind.FAILED: _end,
}


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
