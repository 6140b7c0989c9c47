"""Reorder each row of a layered drawing so that few lines cross.

Median sweeps go down and up, and the best order is kept. Ties keep their order, so the same graph is always drawn
in the same way. A sweep takes linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

SWEEPS = 12

Neighbours = Sequence[Sequence[int]]


def reordered(rows: Sequence[Sequence[int]], above: Neighbours, below: Neighbours) -> list[list[int]]:
    """Return *rows* of vertices, reordered; *above* and *below* are the neighbours of each vertex."""
    best = [list(row) for row in rows]
    fewest = crossings(best, below)
    rows_so_far = [list(row) for row in best]
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for place in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = rows_so_far[place - 1 if down else place + 1]
            rows_so_far[place] = _by_median(rows_so_far[place], fixed, above if down else below)
        count = crossings(rows_so_far, below)
        if count < fewest:
            best, fewest = [list(row) for row in rows_so_far], count
    return best


def crossings(rows: Sequence[Sequence[int]], below: Neighbours) -> int:
    """Return how often lines between adjacent rows cross."""
    return sum(_between(upper, lower, below) for upper, lower in pairwise(rows))


def _between(upper: Sequence[int], lower: Sequence[int], below: Neighbours) -> int:
    place = {vertex: number for number, vertex in enumerate(lower, start=1)}
    tree = [0] * (len(lower) + 1)
    count = seen = 0
    for vertex in upper:
        targets = sorted(place[target] for target in below[vertex])
        for target in targets:
            count += seen - _sum(tree, target)
        for target in targets:
            seen += 1
            _add(tree, target)
    return count


def _add(tree: list[int], place: int) -> None:
    while place < len(tree):
        tree[place] += 1
        place += place & -place


def _sum(tree: list[int], place: int) -> int:
    total = 0
    while place:
        total += tree[place]
        place -= place & -place
    return total


def _by_median(row: Sequence[int], fixed: Sequence[int], neighbours: Neighbours) -> list[int]:
    """Return *row* sorted by the medians of its neighbours in *fixed*; a vertex without neighbours stays."""
    place = {vertex: number for number, vertex in enumerate(fixed)}
    medians = {
        vertex: _median(sorted(place[neighbour] for neighbour in neighbours[vertex])) for vertex in row
    }
    movable = [vertex for vertex in row if medians[vertex] is not None]
    movable.sort(key=lambda vertex: medians[vertex] or 0.0)
    following = iter(movable)
    return [vertex if medians[vertex] is None else next(following) for vertex in row]


def _median(places: Sequence[int]) -> float | None:
    if not places:
        return None
    middle = len(places) // 2
    return float(places[middle]) if len(places) % 2 else (places[middle - 1] + places[middle]) / 2
