"""Warnings about conditions, found by trying all combinations of values that make a difference.

More combinations are tried than can occur. A condition that is reported never holds; one that is not reported may
still never hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, product
from typing import Any

from flowrail.machines.definition import graph
from flowrail.machines.definition.evidence import Level, Verdict
from flowrail.machines.definition.expressions import EVIDENCE, Expression, RuleError, parse
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.actions import values_to_try
from flowrail.text.safe_text import in_quotes

MOST_TRIED = 20_000
"""Beyond so many combinations nothing is said."""
MOST_READ, EACH_COSTS = 2_000_000, 10
"""So many characters of conditions are tried in one workflow, each as often as it is; then nothing more is said.
A combination takes the time of ten."""
_RESULTS = {"passed": (True, False), "verdict": tuple(map(str, Verdict)), "level": tuple(map(str, Level))}
"""The values of each result of evidence."""
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "not in"})


def _never(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find rules that are never the first to hold, and conditions that never hold."""
    if not any(step.rules or step.when or step.variants for step in workflow.steps):
        return
    values = _Values(workflow)
    for index, step in enumerate(workflow.steps):
        at: Path = ("steps", index)
        yield from _rules(at, step, values)
        conditions: list[tuple[Path, str, object]] = [((*at, "when"), "`when`", step.when)]
        conditions += [
            ((*at, "variants", number, "when"), f"variant {number + 1}", variant.when)
            for number, variant in enumerate(step.variants)
        ]
        for path, what, source in conditions:
            first = values.first_to_hold(step, [source]) if isinstance(source, str) else {0}
            if first is not None and not first:
                said = f"{what} of step `{step.id}`, `{in_quotes(str(source))}`, never holds"
                yield UnplacedFinding("FR177", path, said, "fix the condition, or remove it")


def _rules(at: Path, step: StepDef, values: _Values) -> Iterator[UnplacedFinding]:
    if not step.rules or any(rule.when is None for rule in step.rules[:-1]):
        return
    first = values.first_to_hold(step, [rule.when for rule in step.rules])
    for number, rule in enumerate(step.rules):
        if first is None or number in first or rule.when is None:  # the last one for the rest has to be there
            continue
        what = f"rule {number + 1} of step `{step.id}`, `{rule.when}`, is never the first that holds"
        hint = "the rules are tried in order: move it up, or fix the condition"
        yield UnplacedFinding("FR177", (*at, "rules", number), what, hint)


class _Values:
    """The values that every name may have when a condition is evaluated."""

    def __init__(self, workflow: Workflow) -> None:

        self.workflow = workflow
        self.tries = values_to_try
        self.handled = any(callable(step.handler) for step in workflow.steps)
        after, _, _ = graph.adjacency(graph.edges(workflow))
        circles = [set(members) for members in graph.components([s.id for s in workflow.steps], after)]
        self.back = {each: circle for circle in circles for each in circle}
        self.after = after
        self.left = MOST_READ
        self.declared: dict[str, list[Arg]] = {}
        for name, arg in (
            *workflow.params.items(),
            *(each for step in workflow.steps for each in step.reports.items()),
        ):
            self.declared.setdefault(name, []).append(arg)
        self.known: dict[str, list[object]] = {}

    def first_to_hold(self, step: StepDef, sources: list[str | None]) -> set[int] | None:
        """Return which of *sources* can be the first that holds; `None` if that is unknown."""
        try:
            expressions = [parse(source) if source is not None else None for source in sources]
        except RuleError:
            return None
        if any(each is not None and _compares_names(each.tree) for each in expressions):
            return None
        names = sorted({name for each in expressions if each is not None for name in each.names})
        tried = [self._of(step, name, expressions) for name in names]
        count = 1
        for values in tried:
            count *= len(values)
        if not count or count > MOST_TRIED:
            return None
        found: set[int] = set()
        read = [*accumulate(len(source or "") + 1 for source in sources)]
        for combined in product(*tried):
            first = _first(expressions, dict(zip(names, combined, strict=True)))
            self.left -= EACH_COSTS + read[-1 if first is None else first]
            if first is None or self.left < 0:
                return None
            found.add(first)
            if len(found - {-1}) == len(sources):
                break
        return found - {-1}

    def _of(self, step: StepDef, name: str, expressions: list[Expression | None]) -> Sequence[object]:
        if name == "limit":
            return [step.bound]
        if name == "visit":
            return self._visits(step, expressions)
        if name.startswith(EVIDENCE):
            return _RESULTS[name.rpartition(".")[2]]
        if name not in self.declared or self.handled:
            return []
        if name not in self.known:
            self.known[name] = self._tried(name)
        values = self.known[name]
        always = not values or (name in step.reports and step.reports[name].required)
        return values if always or None in values else [None, *values]

    def _tried(self, name: str) -> list[object]:
        values: dict[object, None] = {}
        for arg in self.declared[name]:
            found = self.tries(self.workflow, name, arg)
            self.left -= 10 * len(found)
            if self.left < 0:
                return []
            values.update(dict.fromkeys(found))
        return [*values]

    def _visits(self, step: StepDef, expressions: list[Expression | None]) -> Sequence[int]:
        """Return the possible attempts: up to the limit, if nothing else leads back to the step."""
        circle = self.back.get(step.id, set())
        others = any(step.id in self.after.get(other, ()) for other in circle - {step.id})
        if not circle:
            return [1, 2]  # that there is no second visit is told by another rule
        if step.limit is not None and not others and "fail" not in step.ways:
            return range(1, min(step.limit, MOST_TRIED + 1) + 1)  # one too many is told apart by nobody
        asked = [
            value
            for each in expressions
            if each is not None
            for name, _, value in each.comparisons()
            if name == "visit" and isinstance(value, int)
        ]
        return sorted(
            {1, 2, 3, *(near for value in asked for near in (value - 1, value, value + 1) if near > 0)}
        )


def _first(expressions: list[Expression | None], values: dict[str, object]) -> int | None:
    """Return the index of the first that holds, -1 if none does, `None` if one cannot be evaluated."""
    for place, each in enumerate(expressions):
        try:
            if each is None or each.holds(values):
                return place
        except RuleError:
            return None
    return -1


def _compares_names(node: Any) -> bool:
    """Return whether anything is compared with a value that is not a literal."""
    if node[0] in {"value", "name"}:
        return False
    if node[0] in _COMPARES:
        return sum(_has_name(child) for child in node[1:]) > 1
    return any(_compares_names(child) for child in node[1:] if isinstance(child, tuple))


def _has_name(node: Any) -> bool:
    if node[0] in {"value", "name"}:
        return bool(node[0] == "name")
    return any(_has_name(child) for child in node[1:] if isinstance(child, tuple))


def _gates(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find gates that a session can reach without their review."""
    after, _, _ = graph.adjacency(graph.possible_edges(workflow))
    for index, step in enumerate(workflow.steps):
        gate = step.gate
        if gate is None or gate.review not in workflow:
            continue
        starts = [str(workflow.entry_point), *after.get(step.id, ())]
        around = [each for each in starts if each not in {gate.review, step.id}]
        if step.id in graph.reach(around, after, past=gate.review):
            failed = graph.reach(_failed(step, around), after, past=gate.review)
            way = "after it failed" if step.id in failed else "on some path"
            what = f"{way} a run comes to gate `{step.id}` without its review `{gate.review}`, and is refused there"
            hint = f"let the transition lead to `{gate.review}`"
            yield UnplacedFinding("FR178", ("steps", index, "gate"), what, hint)


def _failed(step: StepDef, around: list[str]) -> list[str]:
    return [
        target for outcome, target in step.ways.items() if outcome == "fail" and target in around and target
    ]


TRIED_RULES = (_never, _gates)
