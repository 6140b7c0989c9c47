"""Draw lines as SVG paths, and place parallel ones: their lanes beside the drawing, their ports at a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

Point = tuple[float, float]

CORNER = 9.0
APART = 16.0
"""How far apart lines touch a box."""


def curve(points: Sequence[Point]) -> str:
    """Return a line down through *points*, straight or in gentle curves."""
    parts = [f"M{_p(points[0])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if abs(x - to_x) < 0.1:  # noqa: PLR2004 - less is not to be seen
            if to_y - y > 0.05:  # noqa: PLR2004
                parts.append(f"V{decimal(to_y)}")
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
    return f"{decimal(point[0])} {decimal(point[1])}"


def decimal(number: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def lanes(stretches: Mapping[int, tuple[float, float]]) -> dict[int, int]:
    """Return a lane for every stretch from top to bottom; short ones are inside, and none overlap."""
    taken: list[list[tuple[float, float]]] = []
    found: dict[int, int] = {}
    for number in sorted(stretches, key=lambda number: (stretches[number][1] - stretches[number][0], number)):
        top, bottom = stretches[number]
        free = (
            lane for lane, others in enumerate(taken) if all(bottom < one or top > two for one, two in others)
        )
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((top, bottom))
        found[number] = lane
    return found


def ports(wished: Sequence[float], half: float) -> list[float]:
    """Return where lines touch a side that extends *half* to the left and right of its middle.

    Each position is as near to its *wished* one as the order and the distances allow.
    """
    many = len(wished)
    apart = min(APART, 2 * half / (many - 1)) if many > 1 else 0.0
    low, found = -half, []
    for place, x in enumerate(wished):
        high = half - apart * (many - 1 - place)
        low = max(low, min(high, x))
        found.append(low)
        low += apart
    return found
