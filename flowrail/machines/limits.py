"""What a limit counts: the attempts since a move entered the limit's loop from outside.

A limit governs the outcomes `iterate` and `fail` that lead back to its step. Its loop is the step and every step on a path
from their targets back to it. If a move enters the loop from outside, the attempts of the limited step, and of the steps in
the loop that have no limit of their own, are counted from 1 again. Without the governed outcomes of limited steps a workflow
has no cycle (FR163), so every run ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from flowrail.machines.graph import adjacency, edges, reach
from flowrail.machines.workflow import Workflow
from flowrail.outcome import GOVERNED


def loops_around(workflow: Workflow, step_id: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each limited step whose loop contains *step_id*, with that loop.

    Only steps on a common cycle are looked at, not the whole graph.
    """
    after, before, _ = adjacency(edges(workflow))
    cycle = reach([step_id], after) & reach([step_id], before)
    inside = {name: [target for target in after.get(name, ()) if target in cycle] for name in cycle}
    back = {name: [source for source in before.get(name, ()) if source in cycle] for name in cycle}
    for limited in (step for step in workflow.steps if step.bound is not None and step.id in cycle):
        targets = cycle & {limited.transitions.get(outcome) for outcome in GOVERNED}
        onward = reach(targets - {limited.id}, inside, past=limited.id)
        loop = frozenset(onward & reach([limited.id], back) | {limited.id}) if targets else frozenset()
        if step_id in loop:
            yield limited.id, loop


def counted_again(workflow: Workflow, path: Sequence[str]) -> frozenset[str]:
    """Return the steps whose attempts are counted from 1 again on *path*: the step that is left, those skipped, the next."""
    again: set[str] = set()
    if all(step.bound is None for step in workflow.steps):
        return frozenset()
    for left, entered in pairwise(path):
        for limited, loop in loops_around(workflow, entered):
            if left not in loop:
                again.add(limited)
                again |= {name for name in loop if workflow.step(name).bound is None}
    return frozenset(again)
