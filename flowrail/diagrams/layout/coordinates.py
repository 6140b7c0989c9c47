"""Compute the x coordinates of vertices with the linear method of Brandes and Köpf.

Vertices are chained to the median of their neighbours four times: upwards and downwards, from the left and from the
right. Each vertex gets the middle of the four results. Long lines are straight, and vertices of a row keep their
distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from flowrail.diagrams.layout.crossings import Neighbours

Rows = Sequence[Sequence[int]]
Room = Callable[[int, int], float]
"""The distance that two adjacent vertices need, the left one first."""


def coordinates(
    rows: Rows, above: Neighbours, below: Neighbours, bends: Sequence[bool], room: Room
) -> list[float]:
    """Return the x of every vertex; *bends* says which are points of lines."""
    count = len(above)
    clashes = _clashes(rows, above, bends)
    found: list[list[float]] = []
    for upwards in (True, False):
        for mirrored in (False, True):
            turned = [list(reversed(row)) if mirrored else list(row) for row in rows]
            if not upwards:
                turned.reverse()
            root = _chained(turned, above if upwards else below, clashes, count)
            apart = (lambda left, right: room(right, left)) if mirrored else room
            xs = _packed(turned, root, apart, count)
            found.append([-x for x in xs] if mirrored else xs)
    _lined_up(found)
    return [_middle(sorted(xs[vertex] for xs in found)) for vertex in range(count)]


def _clashes(rows: Rows, above: Neighbours, bends: Sequence[bool]) -> set[tuple[int, int]]:
    """Return the lines that cross a line between two bends, which has priority."""
    clashes: set[tuple[int, int]] = set()
    for upper, lower in pairwise(rows):
        place = {vertex: number for number, vertex in enumerate(upper)}
        left, start = -1, 0
        for at, vertex in enumerate(lower):
            inner = next(
                (neighbour for neighbour in above[vertex] if bends[vertex] and bends[neighbour]), None
            )
            if inner is None and at < len(lower) - 1:
                continue
            right = place[inner] if inner is not None else len(upper)
            for lower_vertex in lower[start : at + 1]:
                for neighbour in above[lower_vertex]:
                    crosses = not left <= place[neighbour] <= right
                    if crosses and not (bends[lower_vertex] and bends[neighbour]):
                        clashes.add((neighbour, lower_vertex))
            left, start = right, at + 1
    return clashes


def _chained(rows: Rows, neighbours: Neighbours, clashes: set[tuple[int, int]], count: int) -> list[int]:
    """Return the head of the chain of every vertex."""
    root, follower = list(range(count)), list(range(count))
    before: Sequence[int] = ()
    for row in rows:
        place = {vertex: number for number, vertex in enumerate(before)}
        last = -1
        for vertex in row:
            known = sorted(
                (neighbour for neighbour in neighbours[vertex] if neighbour in place), key=place.__getitem__
            )
            for middle in sorted({(len(known) - 1) // 2, len(known) // 2}) if known else ():
                chosen = known[middle]
                free = follower[vertex] == vertex and last < place[chosen]
                if free and (chosen, vertex) not in clashes and (vertex, chosen) not in clashes:
                    follower[chosen] = vertex
                    root[vertex] = root[chosen]
                    follower[vertex] = root[vertex]
                    last = place[chosen]
        before = row
    return root


def _packed(rows: Rows, root: Sequence[int], room: Room, count: int) -> list[float]:
    """Return the x of every vertex, with chains first as far left as possible and then moved together."""
    after: dict[int, dict[int, float]] = {}
    before: dict[int, dict[int, float]] = {}
    for row in rows:
        for left, right in pairwise(row):
            one, two, far = root[left], root[right], room(left, right)
            if far > after.setdefault(one, {}).get(two, 0.0):
                after[one][two] = before.setdefault(two, {})[one] = far
    order = _sorted({root[vertex] for row in rows for vertex in row}, after, before)
    x: dict[int, float] = {}
    for chain in order:
        x[chain] = max((x[left] + far for left, far in before.get(chain, {}).items()), default=0.0)
    for chain in reversed(order):
        room_left = min((x[right] - far for right, far in after.get(chain, {}).items()), default=None)
        if room_left is not None:
            x[chain] = max(x[chain], room_left)
    return [x[root[vertex]] for vertex in range(count)]


def _sorted(
    chains: set[int], after: dict[int, dict[int, float]], before: dict[int, dict[int, float]]
) -> list[int]:
    """Return *chains* from left to right."""
    open_ones = {chain: len(before.get(chain, {})) for chain in chains}
    ready = sorted((chain for chain, number in open_ones.items() if not number), reverse=True)
    order: list[int] = []
    while ready:
        chain = ready.pop()
        order.append(chain)
        for right in sorted(after.get(chain, {}), reverse=True):
            open_ones[right] -= 1
            if not open_ones[right]:
                ready.append(right)
    return order


def _lined_up(found: list[list[float]]) -> None:
    """Align the four results with the narrowest: two at its left end, two at its right."""
    if not found[0]:
        return
    narrowest = min(found, key=lambda xs: max(xs) - min(xs))
    low, high = min(narrowest), max(narrowest)
    for number, xs in enumerate(found):
        shift = high - max(xs) if number % 2 else low - min(xs)
        found[number] = [x + shift for x in xs]


def _middle(four: Sequence[float]) -> float:
    return (four[1] + four[2]) / 2
