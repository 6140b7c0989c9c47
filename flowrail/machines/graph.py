"""A workflow as a graph: its edges, reachability and loops.

Everything here takes time in proportion to the size of the workflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from flowrail.machines.step import StepDef
from flowrail.outcome import Outcome

if TYPE_CHECKING:
    from flowrail.machines.workflow import Workflow

Neighbours = Mapping[str, list[str]]


class Edge(NamedTuple):
    """A transition of the definition: from a step, by an outcome, to a step or to the end."""

    source: str
    outcome: Outcome
    target: str | None


class Adjacency(NamedTuple):
    """The steps after and before each step, and the steps that can end the workflow."""

    after: dict[str, list[str]]
    before: dict[str, list[str]]
    ends: set[str]


def edges(workflow: Workflow) -> Iterator[Edge]:
    """Yield every transition of every step in order, with ``DEFAULT`` expanded."""
    for step in workflow.steps:
        for outcome, target in step.transitions.items():
            yield Edge(step.id, outcome, target)


def decided_outcomes(step: StepDef, holds: Callable[[str], bool | None] = lambda _: None) -> set[str]:
    """Return the outcomes that a report, rules, a gate or answers can decide.

    *holds* says of a condition whether it is true in the runs that are looked at; `None` if it may be.
    """
    if step.gate is not None:
        return {Outcome.OK, Outcome.FAIL}
    if step.questions:
        return answered_outcomes(step)
    if not step.rules:
        return {*step.transitions}
    decided = set()
    for rule in step.rules:
        is_met = True if rule.when is None else holds(rule.when)
        decided |= {rule.outcome} if is_met is not False else set()
        if is_met:
            break
    return decided


def answered_outcomes(step: StepDef) -> set[str]:
    """Return the outcomes that can follow from the answers to a step's questions.

    The first outcome that is not `ok` counts, so `ok` is possible if every question allows it.
    """
    answers = [
        {option.outcome for option in question.options} | ({question.other} - {None})
        for question in step.questions
    ]
    others = {
        str(outcome) for outcomes in answers for outcome in outcomes if outcome not in {None, Outcome.OK}
    }
    allows_ok = all({None, str(Outcome.OK)} & outcomes or not outcomes for outcomes in answers)
    return others | ({str(Outcome.OK)} if allows_ok else set())


def adjacency(transitions: Iterable[Edge]) -> Adjacency:
    """Return the neighbours of each step along *transitions*."""
    neighbours = Adjacency({}, {}, set())
    for source, _, target in transitions:
        if target is None:
            neighbours.ends.add(source)
        else:
            neighbours.after.setdefault(source, []).append(target)
            neighbours.before.setdefault(target, []).append(source)
    return neighbours


def reach(starts: Iterable[str], neighbours: Neighbours, *, past: str | None = None) -> set[str]:
    """Return every step that can be reached from *starts*, these included, without entering *past*."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        for step in neighbours.get(stack.pop(), ()):
            if step not in seen and step != past:
                seen.add(step)
                stack.append(step)
    return seen


@lru_cache(maxsize=64)
def reviews(workflow: Workflow) -> frozenset[str]:
    """Return the steps that a gate names as its review."""
    return frozenset(step.gate.review for step in workflow.steps if step.gate is not None)


def leads_back(workflow: Workflow, source: str, target: str | None) -> bool:
    """Return whether *source* can be reached again after its transition to *target*."""
    cycles = _cycles(workflow)
    return target is not None and source in cycles and cycles[source] == cycles.get(target)


@lru_cache(maxsize=64)
def _cycles(workflow: Workflow) -> dict[str, int]:
    """Return the number of the cycle of each step that is in one."""
    after, _, _ = adjacency(edges(workflow))
    groups = enumerate(components([step.id for step in workflow.steps], after))
    return {step: number for number, group in groups for step in group}


def components(nodes: Iterable[str], after: Neighbours) -> Iterator[list[str]]:
    """Yield the strongly connected components that contain a cycle (Kosaraju's algorithm, without recursion)."""
    before: dict[str, list[str]] = {}
    for node, following in after.items():
        for step in following:
            before.setdefault(step, []).append(node)
    seen: set[str] = set()
    for root in reversed(_postorder(nodes, after)):
        if root not in seen:
            seen.add(root)
            members = [root]
            for node in members:  # grows while it is read
                fresh = [step for step in dict.fromkeys(before.get(node, ())) if step not in seen]
                seen.update(fresh)
                members += fresh
            if len(members) > 1 or root in after.get(root, ()):
                yield members


def _postorder(nodes: Iterable[str], after: Neighbours) -> list[str]:
    """Return every node that can be reached from *nodes*, each after the nodes that only it leads to."""
    order: list[str] = []
    seen: set[str] = set()
    stack = [(node, False) for node in nodes]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(step, False) for step in after.get(node, ())]
    return order
