"""Errors in guards and order rules: misspelt, repeated, or about something that never happens."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.rules import tools
from flowrail.rules.order_rule import OrderSyntaxError, Side, parse_rule


def allows_call(workflow: Workflow, step: StepDef, pattern: str) -> bool:
    """Return whether calls that *pattern* matches are possible at *step*, as far as `forbids` and guards say it."""
    is_guarded = any(
        step.id not in steps and tools.covers(guard, pattern) for guard, steps in workflow.guards.items()
    )
    return not is_guarded and not any(tools.covers(rule, pattern) for rule in step.forbids)


def guards(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find guards that are misspelt."""
    for pattern, steps in scope.workflow.guards.items():
        path: Path = ("guards", pattern)
        problem = tools.problem(pattern)
        if problem is not None:
            yield UnplacedFinding("FR158", path, f"the guard `{pattern[:60]}` {problem}")
        for number, step_id in enumerate(steps):
            if step_id not in scope.workflow:
                message = f"the guard `{pattern}` names `{step_id}`, which is not a step"
                hint = scope.did_you_mean(step_id, scope.index, "name a step")
                yield UnplacedFinding("FR158", (*path, number), message, hint)


def order(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find order rules that are misspelt, repeated, or about something that never happens."""
    seen: set[str] = set()
    for index, text in enumerate(scope.workflow.order):
        path, normal = ("order", index), " ".join(text.split())
        try:
            rule = parse_rule(text, scope.index)
        except OrderSyntaxError as error:
            yield UnplacedFinding("FR153", path, f"the rule `{text[:80]}` {error}", error.hint)
            continue
        never = [side for side in rule.sides if side is not None and not _can_happen(scope, side)]
        if normal in seen:
            yield UnplacedFinding("FR153", path, f"the rule `{text[:80]}` is listed twice", "remove one")
        elif never:
            message = f"the rule `{text[:80]}` is about {never[0]}, which never happens"
            yield UnplacedFinding("FR153", path, message, "correct the rule or the transitions")
        seen.add(normal)


def _can_happen(scope: Scope, side: Side) -> bool:
    """Return whether *side* can happen at all; steps that cannot be reached are findings of their own."""
    if side.pattern:
        return any(allows_call(scope.workflow, step, side.pattern) for step in scope.workflow.steps)
    if not side.outcome:
        return True
    step = scope.workflow.step(side.step)
    chosen = graph.chosen_outcomes(step)
    accepted_risk = side.outcome == Outcome.OK and step.bound is not None and Outcome.FAIL in chosen
    return side.outcome in step.transitions and (side.outcome in chosen or accepted_risk)
