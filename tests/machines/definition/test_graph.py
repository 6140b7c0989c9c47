"""Walks over a workflow: its edges, what reaches what, and which loops it has."""

from __future__ import annotations

from hypothesis import given
from support.random_workflows import workflows

from flowrail.machines.definition.graph import (
    adjacency,
    edges,
    leads_back,
)
from flowrail.machines.definition.workflow import Workflow


def by_walking(start: str, graph: dict[str, list[str]]) -> set[str]:
    """Return the steps that can be reached from *start* by at least one transition."""
    found: set[str] = set()
    ahead = list(graph.get(start, []))
    while ahead:
        here = ahead.pop()
        if here not in found:
            found.add(here)
            ahead += graph.get(here, [])
    return found


@given(workflows())
def test_a_way_leads_back_where_walking_comes_back(definition: Workflow) -> None:
    after, before, ends = adjacency(edges(definition))

    for source, _, target in edges(definition):
        back = target is not None and (target == source or source in by_walking(target, after))
        assert leads_back(definition, source, target) is back
        assert (source in ends) if target is None else (source in before[target])
