"""The values and edges of a workflow that rules use, and how rules run: once for the workflow, or once for each step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from flowrail.machines import graph
from flowrail.machines.findings import UnplacedFinding, first, step_index
from flowrail.machines.step import TEXT_NAMES, StepDef
from flowrail.machines.values import Arg
from flowrail.text import phrases, placeholders

if TYPE_CHECKING:
    from flowrail.machines.workflow import Workflow


class Scope:
    """A workflow with its values. ``is_open`` is true if a handler may return values that are not declared."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        reported = {name: arg for step in workflow.steps for name, arg in step.reports.items()}
        self.values: dict[str, Arg] = {**workflow.params, **reported}
        self.is_open = any(callable(step.handler) for step in workflow.steps)
        self.index: dict[str, int] = {}
        for index, step in enumerate(workflow.steps):
            self.index.setdefault(step.id, index)
        self.did_you_mean = phrases.Suggestions().did_you_mean

    @cached_property
    def all_edges(self) -> graph.Adjacency:
        """Every transition."""
        return graph.adjacency(graph.edges(self.workflow))

    @cached_property
    def possible_edges(self) -> graph.Adjacency:
        """The transitions that can be taken."""
        return graph.adjacency(graph.possible_edges(self.workflow))

    def loops(self, after: graph.Neighbours) -> Iterator[list[str]]:
        """Yield the loops along the edges *after*, each in the order of its steps."""
        for members in graph.components(self.index, after):
            yield sorted(members, key=lambda step_id: self.index.get(step_id, -1))

    def undeclared(self, text: str, names: Collection[str] = ()) -> list[str]:
        """Return the placeholders in *text* that are neither values nor among *names*."""
        if self.is_open:
            return []
        used = placeholders.placeholders(text) - TEXT_NAMES
        return sorted(name for name in used if name not in self.values and name not in names)

    def hint(self, name: str, names: Iterable[str] = ()) -> str:
        """Return a remedy for an undeclared *name*."""
        if name == "item":
            return "say what it goes `over`"
        known = chain(self.values, sorted(names))
        return self.did_you_mean(name, known, "declare it in `params`, or in the `reports` of a step")


WorkflowRule = Callable[[Scope], Iterable[UnplacedFinding]]
"""Finds problems of a workflow; the paths begin at the workflow."""
StepRule = Callable[[StepDef, Scope], Iterable[UnplacedFinding]]
"""Finds problems of one step; the paths begin at the step."""


def findings_of(
    workflow: Workflow, workflow_rules: Iterable[WorkflowRule], step_rules: Iterable[StepRule]
) -> list[UnplacedFinding]:
    """Return the findings of the rules in *workflow*, in the order of its steps, each with the id of its step."""
    scope = Scope(workflow)

    def in_steps(rule: StepRule) -> Iterator[UnplacedFinding]:
        for index, step in enumerate(workflow.steps):
            for raw in rule(step, scope):
                yield replace(raw, path=("steps", index, *raw.path))

    rules = [*(rule(scope) for rule in workflow_rules), *map(in_steps, step_rules)]
    ids = [step.id for step in workflow.steps] + [None]  # the last one is for findings about the workflow
    findings = sorted(first(rules), key=step_index)
    return [replace(raw, step=ids[step_index(raw)]) for raw in findings]
