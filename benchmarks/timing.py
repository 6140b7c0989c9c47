"""Compare times within one run: each round calls every contestant, and the best time of each counts.

Other programs on the machine slow down all contestants. The best of many rounds is the cost of the work itself.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping


def best_of(
    contestants: Mapping[str, Callable[[], object]], *, rounds: int, calls: int = 1
) -> dict[str, float]:
    """Return the best time of one call of each contestant, in seconds, over *rounds* of *calls*."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, call in contestants.items():
            start = time.perf_counter()
            for _ in range(calls):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    gc.enable()
    return best


def report(title: str, best: Mapping[str, float], base: str, aims: Mapping[str, float]) -> None:
    """Print each contestant's time and its ratio to *base*, with its aim if it has one."""
    print(f"\n{title}")
    width = max(map(len, best))
    for name, seconds in best.items():
        ratio = seconds / best[base]
        aim = (
            f"  (aim: at most {aims[name]:g}{'' if ratio <= aims[name] else ', missed'})"
            if name in aims
            else ""
        )
        print(f"  {name:<{width}}  {seconds * 1e3:9.3f} ms  x{ratio:6.2f}{aim}")
