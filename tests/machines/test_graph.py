"""A workflow as a graph: its edges, reachability and loops."""

from __future__ import annotations

from hypothesis import given
from support.random_workflows import workflows

from flowrail.machines.graph import (
    adjacency,
    edges,
    leads_back,
)
from flowrail.machines.workflow import Workflow


def by_walking(start: str, graph: dict[str, list[str]]) -> set[str]:
    """Return the steps that can be reached from *start* by at least one transition."""
    reached: set[str] = set()
    stack = list(graph.get(start, []))
    while stack:
        current = stack.pop()
        if current not in reached:
            reached.add(current)
            stack += graph.get(current, [])
    return reached


@given(workflows())
def test_a_transition_leads_back_if_walking_comes_back(definition: Workflow) -> None:
    after, before, ends = adjacency(edges(definition))

    for source, _, target in edges(definition):
        back = target is not None and (target == source or source in by_walking(target, after))
        assert leads_back(definition, source, target) is back
        assert (source in ends) if target is None else (source in before[target])
