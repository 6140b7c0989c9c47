"""Draw lines as SVG paths, rounded to a tenth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]

CORNER = 9.0


def curve(points: Sequence[Point]) -> str:
    """Return a line down through *points*, straight or in gentle curves."""
    parts = [f"M{_p(points[0])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if abs(x - to_x) < 0.1:  # noqa: PLR2004 - less is not to be seen
            if to_y - y > 0.05:  # noqa: PLR2004
                parts.append(f"V{_n(to_y)}")
        else:
            middle = (y + to_y) / 2
            parts.append(f"C{_p((x, middle))} {_p((to_x, middle))} {_p((to_x, to_y))}")
    return "".join(parts)


def rounded(points: Sequence[Point]) -> str:
    """Return a line along *points* with round corners."""
    parts = [f"M{_p(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        one, two = _towards(corner, before), _towards(corner, after)
        parts.append(f"L{_p(one)}Q{_p(corner)} {_p(two)}")
    parts.append(f"L{_p(points[-1])}")
    return "".join(parts)


def _towards(corner: Point, point: Point) -> Point:
    far = max(abs(point[0] - corner[0]), abs(point[1] - corner[1]))
    part = min(CORNER, far / 2) / far if far else 0.0
    return corner[0] + (point[0] - corner[0]) * part, corner[1] + (point[1] - corner[1]) * part


def _p(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _n(number: float) -> str:
    shown = f"{number:.1f}"
    return shown.removesuffix(".0")
