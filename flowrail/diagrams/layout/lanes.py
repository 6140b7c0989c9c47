"""Place parallel lines: their lanes beside the drawing, and where they touch a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

APART = 16.0


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
