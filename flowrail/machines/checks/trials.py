"""Warnings about conditions, found by trying all combinations of values that make a difference.

More combinations are tried than can occur. A condition that is reported never holds; one that is not reported may
still never hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, product
from math import prod
from typing import Any

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.expressions import EVIDENCE, Expression, RuleError, parse
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import Outcome
from flowrail.machines.parts import conditions_of
from flowrail.machines.step import StepDef
from flowrail.machines.values import Arg
from flowrail.machines.walks.actions import values_to_try

MOST_TRIED = 20_000
"""Combinations of values for one step."""
MOST_EVALUATED = 2_000_000
"""Characters of the expressions of one workflow, counted once per evaluation. Then the search ends."""
_RESULTS = {"passed": (True, False), "verdict": tuple(map(str, Verdict))}
"""The possible values of each result of evidence."""
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


def never_true(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find rules that are never the first to hold, and conditions that never hold."""
    trial = _Trial(scope)
    for index, step in enumerate(scope.workflow.steps):
        path: Path = ("steps", index)
        if step.rules and all(rule.when is not None for rule in step.rules[:-1]):
            first = trial.first_to_hold(step, [rule.when for rule in step.rules])
            for number, rule in enumerate(step.rules):
                if first is not None and number not in first and rule.when is not None:
                    message = (
                        f"rule {number + 1} of step `{step.id}`, `{rule.when}`, is never the first that holds"
                    )
                    yield UnplacedFinding("FR177", (*path, "rules", number), message)
        for part in conditions_of(step):
            if part.kind == "function" or part.key == "rules":
                continue
            if trial.first_to_hold(step, [part.value]) == set():
                message = f"{part} of step `{step.id}`, `{part.quoted}`, never holds"
                hint = "fix the condition, or remove it"
                yield UnplacedFinding("FR177", (*path, *part.path), message, hint)


class _Trial:
    """Evaluates conditions over the values that every name may have."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.left = MOST_EVALUATED
        self.values = cache(self._values)
        self.declared: dict[str, list[Arg]] = defaultdict(list)
        for args in (scope.workflow.params, *(step.reports for step in scope.workflow.steps)):
            for name, arg in args.items():
                self.declared[name].append(arg)

    def first_to_hold(self, step: StepDef, sources: list[str | None]) -> set[int] | None:
        """Return which of *sources* can be the first that holds; `None` if that is unknown."""
        expressions = [parse(source if source is not None else "true") for source in sources]
        if any(_compares_names(expression.tree) for expression in expressions):
            return None
        names = sorted(frozenset[str]().union(*(expression.names for expression in expressions)))
        tried = [self._tried(step, name, expressions) for name in names]
        if not 0 < prod(map(len, tried)) <= MOST_TRIED:
            return None
        numbers: set[int] = set()
        for combined in product(*tried):
            values = dict(zip(names, combined, strict=True))
            for number, expression in enumerate(expressions):
                self.left -= len(expression.source) + 10
                if self.left < 0:
                    return None
                try:
                    if expression.holds(values):
                        numbers.add(number)
                        break
                except RuleError:
                    return None
            if len(numbers) == len(sources):
                break
        return numbers

    def _tried(self, step: StepDef, name: str, expressions: list[Expression]) -> Sequence[object]:
        if name == "visit":
            return self._attempts(step, expressions)
        if name.startswith(EVIDENCE):
            return _RESULTS[name.rpartition(".")[2]]
        values = self.values(name)
        always = not values or (name in step.reports and step.reports[name].required)
        return values if always or None in values else [None, *values]

    def _values(self, name: str) -> list[object]:
        """Return the values of a parameter or fact; none if they are unknown."""
        if self.scope.is_open or self.left < 0:
            return []
        lists = [values_to_try(self.scope.workflow, name, arg) for arg in self.declared[name]]
        self.left -= 10 * sum(map(len, lists))
        return [*dict.fromkeys(chain.from_iterable(lists))]

    def _attempts(self, step: StepDef, expressions: list[Expression]) -> Sequence[int]:
        """Return the possible attempts: up to the limit, if only `iterate` leads back to the step."""
        workflow = self.scope.workflow
        sources = self.scope.all_edges.before.get(step.id, ())
        back = {source for source in sources if graph.leads_back(workflow, source, step.id)}
        if not back:
            return [1, 2]  # FR164 reports a missing second attempt
        if step.limit is not None and back == {step.id} and Outcome.FAIL not in step.transitions:
            return range(1, min(step.limit, MOST_TRIED + 1) + 1)
        compared = [pair for expression in expressions for pair in expression.comparisons()]
        near = [
            literal + more
            for name, _, literal in compared
            if name == "visit" and isinstance(literal, int)
            for more in (-1, 0, 1)
        ]
        return sorted({1, 2, 3, *(attempt for attempt in near if attempt > 0)})


def _compares_names(node: Any) -> bool:
    """Return whether anything is compared with a value that is not a literal."""
    if node[0] in {"value", "name"}:
        return False
    if node[0] in _COMPARES:
        return sum(_has_name(child) for child in node[1:]) > 1
    return any(_compares_names(child) for child in node[1:])


def _has_name(node: Any) -> bool:
    if node[0] in {"value", "name"}:
        return bool(node[0] == "name")
    return any(_has_name(child) for child in node[1:])
