"""Checks of loops: transitions never taken, unbounded loops, attempts that never happen, and texts that are too long.

All findings here are warnings: the workflow runs, but probably not as its author meant it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.expressions import EVIDENCE, parse
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import Outcome
from flowrail.machines.statechart import is_limited
from flowrail.machines.step import StepDef
from flowrail.machines.step_contents import instructions_of
from flowrail.text import phrases

LARGEST_INSTRUCTIONS = 6_000
"""Bytes. An agent does not follow all of a longer text."""


_LIMITED = (Outcome.ITERATE, Outcome.FAIL)


class Guard(NamedTuple):
    """What a condition guarantees: names that have a value, and that the step is entered again."""

    names: frozenset[str]
    again: bool


def guard_of(when: object) -> Guard:
    """Return what the condition *when* guarantees; nothing if it is a function."""
    if not isinstance(when, str):
        return Guard(frozenset(), again=False)
    expression = parse(when)
    again = any(
        name == "visit" and ((mark == ">" and value >= 1) or (mark == ">=" and value >= 2))  # noqa: PLR2004
        for name, mark, value in expression.comparisons()
        if isinstance(value, int)
    )
    return Guard(expression.names, again)


def _outcomes(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    """Find transitions that no rule, answer or gate chooses."""
    if not (step.rules or step.questions or step.gate):
        return
    skip = graph.skip_outcome(step) if step.when is not None else None
    taken = {*graph.chosen_outcomes(step), Outcome.DEFAULT, skip}
    for outcome in (outcome for outcome in step.next if outcome not in taken):
        message = f"step `{step.id}` never decides `{outcome}`, so that transition is never taken"
        yield UnplacedFinding("FR162", ("next", str(outcome)), message)


def _unbounded(scope: Scope) -> Iterator[UnplacedFinding]:
    workflow = scope.workflow
    unlimited = [
        edge
        for edge in graph.possible_edges(workflow)
        if not is_limited(workflow, workflow.step(edge.source), edge.outcome)
    ]
    for loop in scope.loops(graph.adjacency(unlimited).after):
        back = [
            edge
            for edge in unlimited
            if edge.source in loop
            and edge.target in loop
            and scope.index[edge.target] <= scope.index[edge.source]
        ]
        edge = next((edge for edge in back if edge.outcome in _LIMITED), back[0])
        message = f"`{edge.outcome}` of step `{edge.source}` leads back to `{edge.target}` without a limit"
        hint = f"add a `limit` to step `{edge.source}`, such as `limit: 3`"
        if edge.outcome not in _LIMITED:
            hint = f"let step `{edge.source}` lead back by `iterate` or `fail`, and give it a `limit`"
        yield UnplacedFinding(
            "FR163", ("steps", scope.index[edge.source], "next", str(edge.outcome)), message, hint
        )


def _attempts(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find limits without effect, and variants for attempts that never happen."""
    workflow = scope.workflow
    repeated = {step_id for loop in scope.loops(scope.possible_edges.after) for step_id in loop}
    for index, step in enumerate(workflow.steps):
        path = ("steps", index, "limit")
        if step.limit is not None and step.id not in repeated:
            message = f"step `{step.id}` has a limit, but no transition leads back to it"
            yield UnplacedFinding("FR164", path, message, "remove it, or add a transition back")
        elif step.limit is not None and not any(
            is_limited(workflow, step, outcome) for outcome in step.transitions
        ):
            message = f"step `{step.id}` has a limit without effect: neither `iterate` nor `fail` leads back"
            yield UnplacedFinding("FR164", path, message, "move the limit to the step that leads back")
        for number, variant in enumerate(() if step.id in repeated else step.variants):
            if guard_of(variant.when).again:
                message = (
                    f"variant {number + 1} of step `{step.id}` is for a second attempt, which never happens"
                )
                hint = "remove it, or add a transition back to the step"
                yield UnplacedFinding("FR164", ("steps", index, "variants", number), message, hint)


def _sizes(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    sizes: dict[tuple[str, Path], int] = defaultdict(int)
    for text in instructions_of(step):
        path = text.path[:2] if text.kind == "variants" else ()
        sizes[text.label, path] += len(text.text.encode("utf-8", "surrogatepass"))
    for (label, path), size in sizes.items():
        if size > LARGEST_INSTRUCTIONS:
            message = f"{label} of step `{step.id}` has {size} bytes; agents miss parts of texts above {LARGEST_INSTRUCTIONS}"
            yield UnplacedFinding("FR165", path, message)


def _defaults(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    for name, arg in step.reports.items():
        if arg.has_default:
            message = f"the default of fact `{name}` is never used: a fact that is not reported has no value"
            yield UnplacedFinding("FR180", ("reports", name), message)


def _unchanging(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find steps whose rules lead back depending on facts that no step of the loop reports."""
    if scope.is_open:
        return
    workflow = scope.workflow
    for loop in scope.loops(scope.possible_edges.after):
        steps = [workflow.step(step_id) for step_id in loop]
        changing = {name for step in steps for name in step.reports} | {"visit"}
        for step in steps:
            names = {name for rule in step.rules if rule.when for name in parse(rule.when).names}
            leads_back = any(step.next_step(Outcome(rule.outcome)) in loop for rule in step.rules)
            from_evidence = any(name.startswith(EVIDENCE) for name in names)
            if names and leads_back and names.isdisjoint(changing) and not from_evidence:
                decided = f"step `{step.id}` goes back by {phrases.listed(sorted(names))}"
                message = f"{decided}, which no step of the loop reports: every attempt has the same result"
                yield UnplacedFinding("FR173", ("steps", scope.index[step.id], "rules"), message)


WORKFLOW_RULES = (_unbounded, _attempts, _unchanging)
STEP_RULES = (_outcomes, _defaults, _sizes)
