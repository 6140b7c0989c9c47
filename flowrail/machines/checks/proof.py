"""Prove the order rules of a workflow over all its paths, or find the shortest path that breaks one.

Facts, findings and answers are free: any outcome that a step can have may follow. Conditions over parameters alone are
fixed for a run. A limit matters only if it is 1. Tool calls may occur at every step whose `forbids` and guards allow them.
A rule about tool calls that is not proved is watched at run time: hooks deny the call that would break it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from math import prod

from flowrail.machines.checks.order_rules import allows_call
from flowrail.machines.checks.scope import Scope
from flowrail.machines.domains import BoundedInt, ChoiceSet, domain_of
from flowrail.machines.expressions import RuleError, parse
from flowrail.machines.findings import UnplacedFinding
from flowrail.machines.graph import decided_outcomes
from flowrail.machines.next_step import is_limited, transitions
from flowrail.machines.step import StepDef
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import OK_AT_LIMIT, Outcome
from flowrail.rules import tools
from flowrail.rules.order_rule import Event, Matched, OrderRule

MOST_CONDITIONS = 8
"""A workflow with more conditions over parameters alone is not decided."""
END = "end"
"""The last word of a path that completes the session."""
Truth = Mapping[str, bool]
"""Which conditions over parameters alone hold in a run."""
_Node = tuple[str, int]
"""A step, and the state of the rule there."""


class ProofVerdict(StrEnum):
    """What a proof found."""

    PROVED = "proved"
    BROKEN = "broken"
    WATCHED = "watched at run time only"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Proof:
    """The verdict about one order rule, and the shortest path that breaks it."""

    rule: str
    """The rule as it is written."""
    verdict: ProofVerdict
    """Whether it holds on every path."""
    path: tuple[str, ...] = ()
    """Steps with their outcomes, tool calls, and at last what breaks the rule."""


@dataclass(frozen=True)
class _Exit:
    """One way to leave a step."""

    outcome: Outcome
    """The outcome that counts: `ok` for an `iterate` at the limit."""
    target: str | None
    """The step that is entered, or the end."""
    completes: bool
    """Whether the session completes; it does not if it ends as failed."""


@lru_cache(maxsize=16)
def proofs(workflow: Workflow) -> tuple[Proof, ...]:
    """Return a proof for each order rule of a workflow without errors."""
    rules = workflow.order_rules
    conditions = _fixed_conditions(workflow) if rules else []
    if len(conditions) > MOST_CONDITIONS:
        return tuple(Proof(rule.text, ProofVerdict.UNDECIDED) for rule in rules)
    shortest: dict[str, tuple[str, ...]] = {}
    for truth in _truths(workflow, conditions) if rules else ():
        exits = {step.id: tuple(_exits(workflow, step, truth)) for step in workflow.steps}
        for rule in rules:
            path = _breaking_path(workflow, rule, exits)
            if path is not None and len(path) < len(shortest.get(rule.text, (*path, END))):
                shortest[rule.text] = path
    return tuple(
        Proof(rule.text, ProofVerdict.WATCHED if rule.patterns else ProofVerdict.BROKEN, shortest[rule.text])
        if rule.text in shortest
        else Proof(rule.text, ProofVerdict.PROVED)
        for rule in rules
    )


def _breaking_path(
    workflow: Workflow, rule: OrderRule, exits: Mapping[str, Iterable[_Exit]]
) -> tuple[str, ...] | None:
    """Return the shortest path that breaks *rule*, or `None`. Each step is looked at once for each state of the rule."""
    entry = str(workflow.entry)
    state, is_broken = rule.follow(0, rule.matched(Event(entry)))
    if is_broken:
        return (entry,)
    start: _Node = (entry, state)
    came_from: dict[_Node, tuple[_Node, str]] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for labels, after in _moves(workflow, rule, node, exits[node[0]]):
            if after is None:
                path = list(labels[::-1])
                while node != start:
                    node, label = came_from[node]
                    path.append(label)
                return tuple(reversed(path))
            if after != start and after not in came_from:
                came_from[after] = node, labels[0]
                waiting.append(after)
    return None


def _moves(
    workflow: Workflow, rule: OrderRule, node: _Node, exits: Iterable[_Exit]
) -> Iterator[tuple[tuple[str, ...], _Node | None]]:
    """Yield what can happen at a step, in words, and where it leads; to `None` if it breaks *rule*."""
    step_id, state = node
    for pattern, matched in _calls(workflow, rule, workflow.step(step_id)):
        after, is_broken = rule.follow(state, matched)
        yield (f'"{pattern}" at {step_id}',), None if is_broken else (step_id, after)
    for way in exits:
        label = f"{step_id} ({way.outcome})"
        after, is_broken = rule.follow(state, rule.matched(Event(step_id, way.outcome)))
        if is_broken:
            yield (label,), None
        elif way.target is None:
            if way.completes and rule.is_owed(after):
                yield (label, END), None
        else:
            after, is_broken = rule.follow(after, rule.matched(Event(way.target)))
            yield (label, way.target), None if is_broken else (way.target, after)


def _calls(workflow: Workflow, rule: OrderRule, step: StepDef) -> Iterator[tuple[str, Matched]]:
    """Yield the tool calls of *rule* that *step* allows, with the sides of the rule that they match."""
    for pattern in dict.fromkeys(rule.patterns):
        if allows_call(workflow, step, pattern):
            first, then, until, per = (
                side is not None and bool(side.pattern) and tools.covers(side.pattern, pattern)
                for side in rule.sides
            )
            yield pattern, (first, then, until, per)


def _exits(workflow: Workflow, step: StepDef, truth: Truth) -> Iterator[_Exit]:
    """Yield every way to leave *step* if these conditions over parameters hold."""
    decided = decided_outcomes(step, truth.get)
    if Outcome.FAIL in decided and not step.questions and is_limited(workflow, step, Outcome.FAIL):
        decided.add(Outcome.OK)  # the user accepts the risk
    for outcome in (outcome for outcome in step.transitions if outcome in decided):
        for transition in transitions(workflow, step, outcome):
            is_capped = outcome in OK_AT_LIMIT and not step.questions  # at a limit, it takes `ok`
            never_back = step.bound == 1 and is_capped and transition.at_limit is False
            target = workflow.get(transition.to)
            holds = None if target is None or not isinstance(target.when, str) else truth.get(target.when)
            passes = all(
                truth.get(str(workflow.step(skipped).when)) is not True for skipped in transition.skipped
            )
            if passes and holds is not False and not never_back and not transition.asks_user:
                effective = Outcome.OK if transition.capped else outcome
                yield _Exit(effective, transition.to, not transition.fails)


def _fixed_conditions(workflow: Workflow) -> list[str]:
    """Return the conditions that are the same throughout a run: those over parameters that no report changes."""
    fixed = workflow.params.keys() - workflow.reported - workflow.handler_params
    conditions = [step.when for step in workflow.steps if isinstance(step.when, str)]
    conditions += [rule.when for step in workflow.steps for rule in step.rules if rule.when is not None]
    return sorted({condition for condition in conditions if parse(condition).names <= fixed})


def _truths(workflow: Workflow, conditions: list[str]) -> Iterator[Truth]:
    """Yield what may hold together. If a parameter has too many values, every combination may."""
    names = sorted({name for condition in conditions for name in parse(condition).names})
    domains = [_values(workflow.params[name]) for name in names]
    seen: dict[tuple[bool | None, ...], None] = {}
    if all(domains) and prod(map(len, domains)) <= 2**MOST_CONDITIONS:
        for chosen in product(*domains):
            values = dict(zip(names, chosen, strict=True))
            seen[tuple(_holds(condition, values) for condition in conditions)] = None
    else:
        seen = dict.fromkeys(product((False, True), repeat=len(conditions)))
    for truth in seen:
        yield {
            condition: holds for condition, holds in zip(conditions, truth, strict=True) if holds is not None
        }


def _holds(condition: str, values: Mapping[str, object]) -> bool | None:
    """Return whether *condition* holds; `None` if it cannot compare the values, so that no report is accepted there."""
    try:
        return parse(condition).holds(values)
    except RuleError:
        return None


def _values(arg: Arg) -> tuple[object, ...]:
    """Return every value of a parameter; nothing if there are too many."""
    domain = domain_of(arg)
    if not isinstance(domain, (ChoiceSet, BoundedInt)):
        return ()
    return (*domain, *(() if arg.required or arg.has_default else (None,)))


def broken_rules(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find order rules that a path breaks."""
    for index, proof in enumerate(proofs(scope.workflow)):
        if proof.verdict is ProofVerdict.BROKEN:
            message = f"the rule `{proof.rule}` is broken on the path {' -> '.join(proof.path)}"
            yield UnplacedFinding("FR187", ("order", index), message)
