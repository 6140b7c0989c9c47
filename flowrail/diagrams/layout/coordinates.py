"""Where in its row each vertex of a layered drawing stands: Brandes and Köpf's linear method.

Four times vertices are chained to the median of their neighbours, upwards and downwards, from the left and
from the right, and the chains packed; each vertex stands at the middle of the four. Lines through many rows
come out straight, and no two vertices of a row come closer than asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from flowrail.diagrams.layout.crossings import Neighbours

Rows = Sequence[Sequence[int]]
Room = Callable[[int, int], float]
"""How far apart two vertices that stand side by side must be, the left one first."""


def coordinates(
    rows: Rows, above: Neighbours, below: Neighbours, bends: Sequence[bool], room: Room
) -> list[float]:
    """Return the x of every vertex; *bends* tells which are points of a line and no boxes."""
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
    """Return the lines that cross one between two bends: those stay straight, these give way."""
    clashes: set[tuple[int, int]] = set()
    for upper, lower in pairwise(rows):
        place = {vertex: number for number, vertex in enumerate(upper)}
        left, start = -1, 0
        for at, vertex in enumerate(lower):
            inner = next((each for each in above[vertex] if bends[vertex] and bends[each]), None)
            if inner is None and at < len(lower) - 1:
                continue
            right = place[inner] if inner is not None else len(upper)
            for each in lower[start : at + 1]:
                for neighbour in above[each]:
                    crosses = not left <= place[neighbour] <= right
                    if crosses and not (bends[each] and bends[neighbour]):
                        clashes.add((neighbour, each))
            left, start = right, at + 1
    return clashes


def _chained(rows: Rows, neighbours: Neighbours, clashes: set[tuple[int, int]], count: int) -> list[int]:
    """Return for every vertex the head of the chain it stands in."""
    root, follower = list(range(count)), list(range(count))
    before: Sequence[int] = ()
    for row in rows:
        place = {vertex: number for number, vertex in enumerate(before)}
        last = -1
        for vertex in row:
            known = sorted((each for each in neighbours[vertex] if each in place), key=place.__getitem__)
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
    """Return the x of every vertex with chains as far left as they can be, then drawn together."""
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
        x[chain] = max((x[each] + far for each, far in before.get(chain, {}).items()), default=0.0)
    for chain in reversed(order):
        room_left = min((x[each] - far for each, far in after.get(chain, {}).items()), default=None)
        if room_left is not None:
            x[chain] = max(x[chain], room_left)
    return [x[root[vertex]] for vertex in range(count)]


def _sorted(
    chains: set[int], after: dict[int, dict[int, float]], before: dict[int, dict[int, float]]
) -> list[int]:
    """Return *chains* so that what stands left comes first."""
    open_ones = {chain: len(before.get(chain, {})) for chain in chains}
    ready = sorted((chain for chain, number in open_ones.items() if not number), reverse=True)
    order: list[int] = []
    while ready:
        chain = ready.pop()
        order.append(chain)
        for each in sorted(after.get(chain, {}), reverse=True):
            open_ones[each] -= 1
            if not open_ones[each]:
                ready.append(each)
    return order


def _lined_up(found: list[list[float]]) -> None:
    """Shift the four so that they lie over the narrowest: two by their left ends, two by their right."""
    if not found[0]:
        return
    narrowest = min(found, key=lambda xs: max(xs) - min(xs))
    low, high = min(narrowest), max(narrowest)
    for number, xs in enumerate(found):
        shift = high - max(xs) if number % 2 else low - min(xs)
        found[number] = [x + shift for x in xs]


def _middle(four: Sequence[float]) -> float:
    return (four[1] + four[2]) / 2
