"""What checks know about a whole workflow: its values, its edges, and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from flowrail.machines import graph, next_step
from flowrail.machines.step import TEXT_NAMES
from flowrail.machines.values import Arg
from flowrail.text import phrases, placeholders

if TYPE_CHECKING:
    from flowrail.machines.workflow import Workflow

_IN_BRACES = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")


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
        self.skips: dict[str, int | None] = {}
        """Answers of `next_step.skippable`."""

    @cached_property
    def all_edges(self) -> graph.Adjacency:
        """Every transition."""
        return graph.adjacency(graph.edges(self.workflow))

    @cached_property
    def possible_edges(self) -> graph.Adjacency:
        """The transitions that can be taken."""
        return graph.adjacency(next_step.possible_edges(self.workflow))

    @cached_property
    def unknown_targets(self) -> dict[str, list[graph.Edge]]:
        """The transitions to each step that does not exist."""
        unknown: dict[str, list[graph.Edge]] = {}
        for step in self.workflow.steps:
            for outcome, target in step.next.items():
                if target is not None and target not in self.workflow:
                    unknown.setdefault(target, []).append(graph.Edge(step.id, outcome, target))
        return unknown

    @cached_property
    def reached(self) -> set[str]:
        """The steps that a session can reach."""
        return graph.reach([str(self.workflow.entry)], self.all_edges.after)

    @cached_property
    def can_end(self) -> set[str]:
        """The steps from which a path leads to an end."""
        return graph.reach(self.all_edges.ends, self.all_edges.before)

    def loops(self, after: graph.Neighbours) -> Iterator[list[str]]:
        """Yield the loops along the edges *after*, each in the order of its steps."""
        for members in graph.components(self.index, after):
            yield sorted(members, key=lambda step_id: self.index.get(step_id, -1))

    def unfilled(self, text: str, names: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
        """Yield the placeholders in *text* that no value or name of *names* fills, each with the reason and a remedy."""
        known = {*self.values, *names, *TEXT_NAMES}
        for name in () if self.is_open else sorted(placeholders.placeholders(text) - known):
            yield f"${name}", "which is not declared", self.hint(name, names)
        for name in _IN_BRACES.findall(text.replace("$$", "")):
            if name in known:
                yield f"${{{name}}}", "which is not filled in", f"write `${name}`"

    def hint(self, name: str, names: Iterable[str] = ()) -> str:
        """Return a remedy for an undeclared *name*."""
        if name == "item":
            return "say what it goes `over`"
        known = chain(self.values, sorted(names))
        return self.did_you_mean(name, known, "declare it in `params`, or in the `reports` of a step")
