"""Draw lines as SVG paths, and find lanes for those that run beside the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Point = tuple[float, float]

CORNER = 9.0


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


def lanes(stretches: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Return a lane for every stretch from top to bottom; short ones are inside, and none overlap."""
    taken: list[list[tuple[int, int]]] = []
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
