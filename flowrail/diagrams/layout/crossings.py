"""Reorder each row of a layered drawing so that few lines cross.

Median sweeps go down and up, and the best order is kept. Ties keep their order, so the same graph is always drawn
in the same way.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

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
        for index in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = rows_so_far[index - 1 if down else index + 1]
            rows_so_far[index] = _by_median(rows_so_far[index], fixed, above if down else below)
        count = crossings(rows_so_far, below)
        if count < fewest:
            best, fewest = [list(row) for row in rows_so_far], count
    return best


def crossings(rows: Sequence[Sequence[int]], below: Neighbours) -> int:
    """Return how often lines between adjacent rows cross."""
    return sum(_between(upper, lower, below) for upper, lower in pairwise(rows))


def _between(upper: Sequence[int], lower: Sequence[int], below: Neighbours) -> int:
    positions = {vertex: number for number, vertex in enumerate(lower)}
    count = 0
    seen: list[int] = []
    for vertex in upper:
        targets = [positions[target] for target in below[vertex]]
        count += sum(len(seen) - bisect_right(seen, target) for target in targets)
        for target in targets:
            insort(seen, target)
    return count


def _by_median(row: Sequence[int], fixed: Sequence[int], neighbours: Neighbours) -> list[int]:
    """Return *row* sorted by the medians of its neighbours in *fixed*; a vertex without neighbours stays."""
    positions = {vertex: number for number, vertex in enumerate(fixed)}
    medians = {
        vertex: median(positions[neighbour] for neighbour in neighbours[vertex])
        for vertex in row
        if neighbours[vertex]
    }
    following = iter(sorted(medians, key=medians.__getitem__))
    return [next(following) if vertex in medians else vertex for vertex in row]
