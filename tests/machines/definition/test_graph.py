"""Walks over a workflow: its edges, what reaches what, and which loops it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workflows import loop, step, unchecked, workflow, workflows

from flowrail.machines.definition.graph import (
    Edge,
    adjacency,
    chosen_outcomes,
    components,
    edges,
    leads_back,
    passing_over,
    possible_edges,
    reach,
    settles,
)
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow

GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=4), max_size=6
)


def by_walking(start: str, graph: dict[str, list[str]]) -> set[str]:
    """Return what can be got to from *start* by one way on or more."""
    found: set[str] = set()
    ahead = list(graph.get(start, []))
    while ahead:
        here = ahead.pop()
        if here not in found:
            found.add(here)
            ahead += graph.get(here, [])
    return found


@given(GRAPHS)
def test_components_are_the_steps_that_lead_to_each_other(graph: dict[str, list[str]]) -> None:
    found = list(components("abcdef", graph))

    together = {
        frozenset(
            other
            for other in "abcdef"
            if other in by_walking(each, graph) and each in by_walking(other, graph)
        )
        for each in "abcdef"
    }
    assert {frozenset(group) for group in found} == together - {frozenset()}
    assert all(len(group) == len(set(group)) for group in found)


@given(GRAPHS, st.sets(st.sampled_from("abcdef")))
def test_reach_is_where_walking_comes_to(graph: dict[str, list[str]], starts: set[str]) -> None:
    assert reach(starts, graph) == starts.union(*(by_walking(each, graph) for each in starts))


@given(workflows())
def test_a_way_leads_back_where_walking_comes_back(definition: Workflow) -> None:
    after, before, ends = adjacency(edges(definition))

    for source, _, target in edges(definition):
        back = target is not None and (target == source or source in by_walking(target, after))
        assert leads_back(definition, source, target) is back
        assert (source in ends) if target is None else (source in before[target])


def test_a_walk_takes_no_recursion() -> None:
    ids = [str(each) for each in range(20_000)]
    ring = {here: [after] for here, after in zip(ids, [*ids[1:], "0"], strict=True)}

    (group,) = components(ids, ring)

    assert len(group) == 20_000


def test_edges_spell_out_the_default_way() -> None:
    definition = workflow(step("a", next={"ok": None, "_default": "a"}))

    assert list(edges(definition)) == [
        Edge("a", Outcome.OK, None),
        Edge("a", Outcome.FAIL, "a"),
        Edge("a", Outcome.SKIP, "a"),
        Edge("a", Outcome.ITERATE, "a"),
    ]


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
    assert passing_over(step(next=ways)) == over


def chain() -> Workflow:
    return workflow(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 5", next={"ok": "a", "skip": "c"}),
        step("c", when="visit > 5", next={"ok": "d"}),
        step("d"),
    )


def circle() -> Workflow:
    return unchecked(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 5", next={"ok": "c", "fail": None}),
        step("c", when="visit > 5", next={"ok": "b"}),
        step("d", when="visit > 5", next={"fail": None}),
        step("e", when="visit > 5", next={"ok": "d"}),
        step("f", when="visit > 5", next={"ok": None}),
    )


def test_where_no_step_may_apply_nothing_settles() -> None:
    known: dict[str, bool] = {}

    assert {each: settles(circle(), each, known) for each in "bcdef"} == {
        "b": False,
        "c": False,
        "d": False,
        "e": False,
        "f": True,
    }
    assert {each: settles(circle(), each, {}) for each in "af"} == {"a": True, "f": True}
    assert {each: settles(chain(), each, {}) for each in "abcd"} == dict.fromkeys("abcd", True)


def test_a_step_that_goes_to_itself_leads_back() -> None:
    assert leads_back(loop(), "look", "look")
    assert not leads_back(loop(), "look", "last")
    assert not leads_back(loop(), "last", None)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)),
    st.sampled_from("abcdef"),
    st.sampled_from("abcdef"),
)
def test_what_is_reached_past_a_step_is_what_is_reached_without_the_ways_to_it(
    after: dict[str, list[str]], start: str, past: str
) -> None:
    without = {source: [to for to in targets if to != past] for source, targets in after.items()}

    assert reach([start], after, past=past) == reach([start], without)
