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
    parts = [f"M{_point_text(points[0])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if abs(x - to_x) < 0.1:  # noqa: PLR2004 - smaller differences are invisible
            if to_y - y > 0.05:  # noqa: PLR2004
                parts.append(f"V{decimal(to_y)}")
        else:
            middle = (y + to_y) / 2
            parts.append(
                f"C{_point_text((x, middle))} {_point_text((to_x, middle))} {_point_text((to_x, to_y))}"
            )
    return "".join(parts)


def rounded(points: Sequence[Point]) -> str:
    """Return a line along *points* with round corners."""
    parts = [f"M{_point_text(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before), _towards(corner, after)
        parts.append(f"L{_point_text(start)}Q{_point_text(corner)} {_point_text(end)}")
    parts.append(f"L{_point_text(points[-1])}")
    return "".join(parts)


def _towards(corner: Point, point: Point) -> Point:
    distance = max(abs(point[0] - corner[0]), abs(point[1] - corner[1]))
    fraction = min(CORNER, distance / 2) / distance if distance else 0.0
    return corner[0] + (point[0] - corner[0]) * fraction, corner[1] + (point[1] - corner[1]) * fraction


def _point_text(point: Point) -> str:
    return f"{decimal(point[0])} {decimal(point[1])}"


def decimal(number: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def lanes(stretches: Mapping[int, tuple[float, float]]) -> dict[int, int]:
    """Return a lane for every stretch from top to bottom; short ones are inside, and none overlap."""
    taken: list[list[tuple[float, float]]] = []
    lane_of: dict[int, int] = {}
    for number in sorted(stretches, key=lambda number: (stretches[number][1] - stretches[number][0], number)):
        top, bottom = stretches[number]
        free = (
            lane
            for lane, occupied in enumerate(taken)
            if all(bottom < start or top > end for start, end in occupied)
        )
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((top, bottom))
        lane_of[number] = lane
    return lane_of


def ports(wished: Sequence[float], half: float) -> list[float]:
    """Return where lines touch a side that extends *half* to the left and right of its middle.

    Each position is as near to its *wished* one as the order and the distances allow.
    """
    count = len(wished)
    apart = min(APART, 2 * half / (count - 1)) if count > 1 else 0.0
    lowest, positions = -half, []
    for index, x in enumerate(wished):
        highest = half - apart * (count - 1 - index)
        lowest = max(lowest, min(highest, x))
        positions.append(lowest)
        lowest += apart
    return positions
