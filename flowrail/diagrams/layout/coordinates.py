"""Compute the x coordinates of vertices.

Rows are processed down and up. Each row gets the positions nearest to the mean of its neighbours that keep its
order and distances (isotonic regression, in one pass). Dense drawings stay narrow; a long line may bend slightly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowrail.diagrams.layout.crossings import Neighbours

ROUNDS = 12
STRAIGHT = 8.0
"""How much more a bend is attracted by the next bend of its line than by a box."""

Rows = Sequence[Sequence[int]]
Room = Callable[[int, int], float]
"""The distance that two adjacent vertices need, the left one first."""


def coordinates(
    rows: Rows, above: Neighbours, below: Neighbours, bends: Sequence[bool], room: Room
) -> list[float]:
    """Return the x of every vertex; *bends* says which are points of lines."""
    x = [0.0] * len(above)
    offsets = [_offsets(row, room) for row in rows]
    for row, row_offsets in zip(rows, offsets, strict=True):
        for vertex, offset in zip(row, row_offsets, strict=True):
            x[vertex] = offset - row_offsets[-1] / 2
    for round_number in range(ROUNDS):
        neighbours = above if round_number % 2 == 0 else below
        order = range(len(rows)) if round_number % 2 == 0 else range(len(rows) - 1, -1, -1)
        for index in order:
            _set_row(rows[index], offsets[index], neighbours, bends, x)
    return x


def _offsets(row: Sequence[int], room: Room) -> list[float]:
    offsets: list[float] = []
    for index, vertex in enumerate(row):
        offsets.append(offsets[-1] + room(row[index - 1], vertex) if index else 0.0)
    return offsets


def _set_row(
    row: Sequence[int],
    offsets: Sequence[float],
    neighbours: Neighbours,
    bends: Sequence[bool],
    x: list[float],
) -> None:
    """Set one row: vertices that would be too close form a run around their mean."""
    runs: list[list[float]] = []  # mean, weight and number of vertices of each run
    for vertex, offset in zip(row, offsets, strict=True):
        wished, weight = _wish(vertex, neighbours, bends, x)
        runs.append([wished - offset, weight, 1])
        while len(runs) > 1 and runs[-2][0] > runs[-1][0]:
            mean, more, count = runs.pop()
            last = runs[-1]
            last[0] = (last[0] * last[1] + mean * more) / (last[1] + more)
            last[1] += more
            last[2] += count
    index = 0
    for mean, _, count in runs:
        for _ in range(int(count)):
            x[row[index]] = mean + offsets[index]
            index += 1


def _wish(
    vertex: int, neighbours: Neighbours, bends: Sequence[bool], x: Sequence[float]
) -> tuple[float, float]:
    weight = wished = 0.0
    for neighbour in neighbours[vertex]:
        pull = STRAIGHT if bends[vertex] and bends[neighbour] else 1.0
        wished += pull * x[neighbour]
        weight += pull
    return (wished / weight, weight) if weight else (x[vertex], 0.1)
