"""Measure checking, compiling and proving workflows of 10 to 10,000 steps, each in a process of its own.

Run: python benchmarks/size.py
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time

from timing import report

from flowrail.machines.checks.check import check
from flowrail.machines.checks.proof import proofs
from flowrail.machines.statechart import compile_workflow
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow

SIZES = (10, 100, 1_000, 10_000)


def steps_of(size: int) -> list[StepDef]:
    """Return linear steps, every tenth with a loop back."""
    return [
        StepDef(
            id=f"s{number}",
            title=f"Step {number}",
            actions=("Do it.",),
            next={
                "ok": f"s{number + 1}" if number < size - 1 else None,
                **({"fail": f"s{number - 5}"} if number % 10 == 9 else {}),
            },
        )
        for number in range(size)
    ]


def main(rounds: int = 5) -> None:
    """Print the ratios."""
    for what in ("check", "compile", "prove"):
        best = dict.fromkeys(SIZES, float("inf"))
        for _ in range(rounds):
            for size in SIZES:
                answer = subprocess.run(
                    [sys.executable, __file__, what, str(size)], check=True, capture_output=True, text=True
                )
                best[size] = min(best[size], float(answer.stdout))
        times = {f"{size:>6} steps": seconds for size, seconds in best.items()}
        report(f"To {what}, compared with 1,000 steps", times, "  1000 steps", {" 10000 steps": 12})


def once(what: str, size: int) -> float:
    """Return the seconds of one check, of one compilation, or of the proof of two rules."""
    steps = steps_of(size)
    gc.disable()
    start = time.perf_counter()
    if what == "check":
        assert not check(Workflow("line", *steps, validate=False))
    elif what == "compile":
        compile_workflow(Workflow("line", *steps, validate=False))
    else:
        order = [f"s0 before s{size - 1}", f'never "Bash(git push*)" after fail of s{size - 1}']
        assert len(proofs(Workflow("line", *steps, order=order, validate=False))) == len(order)
    return time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1:]:
        print(once(sys.argv[1], int(sys.argv[2])))
    else:
        main()
