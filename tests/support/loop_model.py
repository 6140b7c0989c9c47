"""What a limit counts, as naively as it can be said: the model that both models of runs use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

Table = Mapping[str, Mapping[str, str | None]]
"""The transitions of each step, as they are written."""


def reached_from(table: Table, target: str | None) -> set[str]:
    """Return every step on the ways from *target* on."""
    reached: set[str] = set()
    ahead = [target]
    while ahead:
        here = ahead.pop()
        if here is not None and here not in reached:
            reached.add(here)
            ahead += table[here].values()
    return reached


def loop_of(table: Table, limited: str) -> set[str]:
    """Return the steps on the ways back to *limited* that its limit governs."""
    ways = table[limited]
    ahead = [ways.get(outcome, ways.get("_default")) for outcome in ("iterate", "fail")]
    loop: set[str] = set()
    seen: set[str] = set()
    while ahead:
        here = ahead.pop()
        if here is None or here in seen:
            continue
        seen.add(here)
        if limited in reached_from(table, here):
            loop |= {here, limited}
        if here != limited:
            ahead += table[here].values()
    return loop


def counted(
    loops: Mapping[str, Collection[str]], path: Sequence[str], counts: Mapping[str, int]
) -> dict[str, int]:
    """Return the counts without those of each loop that *path* enters from outside. *loops* has one for each limit."""
    left_over = dict(counts)
    for limited, loop in loops.items():
        for left, entered in pairwise(path):
            if entered in loop and left not in loop:
                for name in loop:
                    if name == limited or name not in loops:
                        left_over.pop(name, None)
    return left_over
