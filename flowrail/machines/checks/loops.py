"""Checks of loops: transitions never taken, unbounded loops, attempts that never happen, and texts that are too long.

All findings here are warnings: the workflow runs, but probably not as its author meant it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flowrail.machines.definition import graph
from flowrail.machines.definition.expressions import EVIDENCE, RuleError, parse
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.transitions import is_limited
from flowrail.text import phrases

LARGEST_TOLD = 6_000
"""Bytes. An agent does not follow all of a longer text."""
Names = frozenset[str]


class Guard(NamedTuple):
    """What a condition guarantees: names that have a value, and that the step is entered again."""

    names: Names
    again: bool


def guard_of(when: object) -> Guard:
    """Return what the condition *when* guarantees."""
    try:
        expression = parse(when) if isinstance(when, str) else None
    except RuleError:
        expression = None
    if expression is None:
        return Guard(frozenset(), again=False)
    again = any(
        name == "visit" and ((mark == ">" and value >= 1) or (mark == ">=" and value >= 2))  # noqa: PLR2004
        for name, mark, value in expression.comparisons()
        if isinstance(value, int)
    )
    return Guard(expression.names, again)


def _outcomes(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        if not (step.rules or step.questions or step.gate):
            continue
        chosen = graph.chosen_outcomes(step) if step.gate is None else {Outcome.OK, Outcome.FAIL}
        used = {graph.skip_outcome(step)} if step.when is not None else set()
        for outcome in step.next:
            if outcome in {*chosen, *used, Outcome.DEFAULT} or outcome not in step.ways:
                continue
            what = f"step `{step.id}` never decides `{outcome}`, so that transition is never taken"
            hint = "let a rule or an answer decide it, or remove it from `next`"
            yield UnplacedFinding("FR162", ("steps", index, "next", str(outcome)), what, hint)


def _rounds(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find unbounded loops, and limits and texts for attempts that never happen."""
    ways = [each for each in graph.possible_edges(workflow) if each.target in workflow]
    after, _, _ = graph.adjacency(ways)
    ids = [step.id for step in workflow.steps]
    circling = {member for group in graph.components(ids, after) for member in group}
    loose, _, _ = graph.adjacency(
        way for way in ways if not is_limited(workflow, workflow.step(way.source), way.outcome)
    )
    place = {step.id: index for index, step in reversed(list(enumerate(workflow.steps)))}
    for members in graph.components(ids, loose):
        first = min(members, key=lambda each: place[each])
        in_order = sorted(members, key=lambda each: place[each])
        what = f"the loop of {phrases.listed(in_order)} has no limit: an agent may repeat it forever"
        hint = "add a `limit` to a step that leads back by `iterate` or `fail`"
        yield UnplacedFinding("FR163", ("steps", place[first]), what, hint)
    for index, step in enumerate(workflow.steps):
        if step.limit is not None and step.id in circling:
            yield from _idle(workflow, index, step)
        if step.id in circling:
            continue
        if step.limit is not None:
            what = f"step `{step.id}` has a limit, but no transition leads back to it"
            hint = "remove it, or add a transition back"
            yield UnplacedFinding("FR164", ("steps", index, "limit"), what, hint)
        for number, variant in enumerate(step.variants):
            if guard_of(variant.when).again:
                what = (
                    f"variant {number + 1} of step `{step.id}` is for a second attempt, which never happens"
                )
                path: Path = ("steps", index, "variants", number)
                yield UnplacedFinding("FR164", path, what, "remove it, or add a transition back to the step")


def _idle(workflow: Workflow, index: int, step: StepDef) -> Iterator[UnplacedFinding]:
    """Find limits that no transition of their step can reach, though the step is in a loop."""
    if not any(is_limited(workflow, step, outcome) for outcome in step.ways):
        what = f"step `{step.id}` has a limit without effect: neither `iterate` nor `fail` leads back"
        hint = "move the limit to the step that leads back"
        yield UnplacedFinding("FR164", ("steps", index, "limit"), what, hint)


def _sizes(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        texts: list[tuple[Path, str, Iterable[object]]] = []
        if not callable(step.actions):
            texts.append((("steps", index), "the text", step.actions))
        texts += [
            (("steps", index, "variants", at), f"variant {at + 1}", each.actions)
            for at, each in enumerate(step.variants)
        ]
        for path, what, lines in texts:
            size = sum(len(str(each).encode("utf-8", "surrogatepass")) for each in lines)
            if size > LARGEST_TOLD:
                said = f"{what} of step `{step.id}` has {size} bytes; agents miss parts of texts above {LARGEST_TOLD}"
                hint = "split the step, or move reference material to a resource"
                yield UnplacedFinding("FR165", path, said, hint)


def _defaults(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        for name, arg in step.reports.items():
            if arg.has_default:
                what = f"the default of fact `{name}` is never used: a fact that is not reported has no value"
                hint = "make it required, or write a rule for the case without it"
                yield UnplacedFinding("FR180", ("steps", index, "reports", name), what, hint)


def _changes(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find steps whose rules lead back depending on facts that no step of the loop reports."""
    if any(callable(step.handler) for step in workflow.steps):
        return
    after, _, _ = graph.adjacency(each for each in graph.possible_edges(workflow) if each.target in workflow)
    place = {step.id: index for index, step in reversed(list(enumerate(workflow.steps)))}
    for members in graph.components([step.id for step in workflow.steps], after):
        inside = set(members)
        known = {name for each in members for name in workflow.step(each).reports} | {"visit"}
        for step in (workflow.step(each) for each in members):
            names = _names_of(step)
            back = [rule.outcome for rule in step.rules if _way(step, rule.outcome) in inside]
            from_evidence = any(name.startswith(EVIDENCE) for name in names)
            if names and back and not names & known and not from_evidence:
                said = f"step `{step.id}` goes back by {phrases.listed(sorted(names))}"
                what = f"{said}, which no step of the loop reports: every attempt has the same result"
                hint = "report it in the loop, or decide by what is reported there"
                path: Path = ("steps", place[step.id], "rules")
                yield UnplacedFinding("FR173", path, what, hint)


def _names_of(step: StepDef) -> Names:
    try:
        return frozenset[str]().union(*(parse(rule.when).names for rule in step.rules if rule.when))
    except RuleError:
        return frozenset()


def _way(step: StepDef, outcome: str) -> str | None:
    return step.ways.get(Outcome(outcome)) if outcome in step.ways else None


ROUND_RULES = (_outcomes, _rounds, _defaults, _changes, _sizes)
