"""Walks over a workflow: its edges, what reaches what, and which loops it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.workflows import step, unchecked, workflows

from flowrail.machines.definition.graph import (
    Edge,
    adjacency,
    chosen_outcomes,
    edges,
    leads_back,
    possible_edges,
    skip_outcome,
)
from flowrail.machines.definition.step import Outcome
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


def test_ways_that_rules_never_choose_are_not_possible() -> None:
    ways = {"ok": None, "iterate": "a", "fail": "a"}
    free, bound, limited = (
        step("a", next=ways),
        step("a", next=ways, rules=[("iterate", None)]),
        step("a", next=ways, rules=[("iterate", None)], limit=3),
    )

    assert chosen_outcomes(free) == {"ok", "iterate", "fail"}
    assert chosen_outcomes(bound) == {"iterate"}
    assert chosen_outcomes(limited) == {"ok", "iterate"}
    assert list(possible_edges(unchecked(bound))) == [Edge("a", Outcome.ITERATE, "a")]


@pytest.mark.parametrize(
    ("ways", "over"),
    [
        ({"ok": None, "skip": "b"}, Outcome.SKIP),
        ({"ok": None, "fail": "b"}, Outcome.OK),
        ({"_default": None}, Outcome.OK),
        ({"fail": None}, None),
    ],
)
def test_a_step_is_passed_over_by_skip_or_else_by_ok(
    ways: dict[str, str | None], over: Outcome | None
) -> None:
    assert skip_outcome(step(next=ways)) == over
