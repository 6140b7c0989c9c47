"""Errors in guards and order rules: misspelt, impossible, or without effect."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import Outcome
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.rules import tools
from flowrail.rules.order_rule import Form, OrderRule, OrderSyntaxError, Side, parse_rule
from flowrail.text.phrases import listed


def allows_call(workflow: Workflow, step: StepDef, pattern: str) -> bool:
    """Return whether calls that *pattern* matches are possible at *step*, as far as `forbids` and guards say it."""
    is_guarded = any(
        step.id not in steps and tools.covers(guard, pattern) for guard, steps in workflow.guards.items()
    )
    return not is_guarded and not any(tools.covers(rule, pattern) for rule in step.forbids)


def guards(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find guards that are misspelt or without effect."""
    workflow = scope.workflow
    for pattern, steps in workflow.guards.items():
        path: Path = ("guards", pattern)
        problem = tools.problem(pattern)
        if problem is not None:
            yield UnplacedFinding("FR158", path, f"the guard `{pattern[:60]}` {problem}")
            continue
        for number, step_id in enumerate(steps):
            step = workflow.get(step_id)
            if step is None:
                message = f"the guard `{pattern}` names `{step_id}`, which is not a step"
                yield UnplacedFinding(
                    "FR158", (*path, number), message, scope.did_you_mean(step_id, scope.index, "name a step")
                )
            elif any(tools.covers(rule, pattern) for rule in step.forbids):
                message = (
                    f"the guard `{pattern}` allows the call at step `{step_id}`, whose `forbids` denies it"
                )
                yield UnplacedFinding(
                    "FR158",
                    (*path, number),
                    message,
                    "remove the step from the guard, or the rule from `forbids`",
                )
        if len(set(steps)) < len(steps):
            yield UnplacedFinding("FR158", path, f"the guard `{pattern}` names a step twice", "remove one")
        elif steps and {step.id for step in workflow.steps} <= set(steps):
            message = f"the guard `{pattern}` allows the call at every step"
            yield UnplacedFinding(
                "FR158", path, message, "name only the steps that need it", severity="warning"
            )


def order(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find order rules that are misspelt, repeated or without effect."""
    workflow = scope.workflow
    seen: dict[str, int] = {}
    for index, text in enumerate(workflow.order):
        path: Path = ("order", index)
        try:
            rule = parse_rule(text, scope.index)
        except OrderSyntaxError as error:
            yield UnplacedFinding("FR153", path, f"the rule `{text[:80]}` {error}", error.hint)
            continue
        if seen.setdefault(" ".join(text.split()), index) != index:
            yield UnplacedFinding("FR153", path, f"the rule `{text[:80]}` is listed twice", "remove one")
            continue
        yield from _without_effect(scope, rule, path)


def _without_effect(scope: Scope, rule: OrderRule, path: Path) -> Iterator[UnplacedFinding]:
    """Find a rule that can never be broken or never be kept, because one of its sides never happens."""
    never = [side for side in rule.sides if side is not None and not _can_happen(scope, side)]
    if not never:
        return
    needed = {Form.BEFORE: rule.first, Form.AFTER: rule.then}.get(rule.form)
    side = next((side for side in never if side is not needed), never[0])
    because = f"the rule `{rule.text}` {{}}, because {side} never happens{_reason(scope, side)}"
    if side is needed:
        yield UnplacedFinding(
            "FR153", path, because.format("can never be kept"), "correct the rule or the transitions"
        )
    elif side is rule.until:
        yield UnplacedFinding("FR153", path, because.format("never ends"), "correct `until`, or leave it out")
    else:
        yield UnplacedFinding(
            "FR153", path, because.format("can never be broken"), "correct the rule, or remove it"
        )


def _can_happen(scope: Scope, side: Side) -> bool:
    """Return whether *side* can happen at all; steps that cannot be reached are findings of their own."""
    if side.pattern:
        return any(allows_call(scope.workflow, step, side.pattern) for step in scope.workflow.steps)
    step = scope.workflow.step(side.step)
    if not side.outcome:
        return True
    chosen = graph.chosen_outcomes(step)
    is_accepted = (
        side.outcome == Outcome.OK and step.bound is not None and Outcome.FAIL in chosen
    )  # at the limit
    return side.outcome in step.transitions and (side.outcome in chosen or is_accepted)


def _reason(scope: Scope, side: Side) -> str:
    if side.pattern:
        return ": no step allows it"
    outcomes = [str(outcome) for outcome in scope.workflow.step(side.step).transitions]
    return f": step `{side.step}` ends with {listed(outcomes)}" if side.outcome not in outcomes else ""
