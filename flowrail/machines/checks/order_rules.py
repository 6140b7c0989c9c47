"""Guards and order rules that are misspelt, repeated, impossible, always kept, or about something that never happens."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.next_step import chosen_outcomes
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.rules import tools
from flowrail.rules.order_rule import Form, OrderRule, OrderSyntaxError, Side, parse_rule


def allows_call(workflow: Workflow, step: StepDef, pattern: str) -> bool:
    """Return whether calls that *pattern* matches are possible at *step*, as far as the step and guards say it."""
    is_guarded = any(
        step.id not in steps and tools.covers(guard, pattern) for guard, steps in workflow.guards.items()
    )
    return not is_guarded and not tools.denies_all(step, pattern)


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
        contradiction = _contradiction(rule)
        if contradiction:
            message = f"the rule `{text[:80]}` {contradiction}"
            yield UnplacedFinding("FR153", path, message, "name two different events")
        elif normal in seen:
            yield UnplacedFinding("FR153", path, f"the rule `{text[:80]}` is listed twice", "remove one")
        elif never:
            message = f"the rule `{text[:80]}` is about {never[0]}, which never happens"
            yield UnplacedFinding("FR153", path, message, "correct the rule or the transitions")
        seen.add(normal)


def misspelt_tools(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find patterns that name a tool of no known host, if such a tool has a similar name. Other tools are custom ones."""
    workflow = scope.workflow
    patterns: list[tuple[str, Path, str, str]] = [
        ("FR156", ("steps", index, key), f"the rule `{rule[:60]}` in `{key}`", rule)
        for index, step in enumerate(workflow.steps)
        for key, rules in tools.step_patterns(step).items()
        for rule in rules
    ]
    patterns += (
        ("FR158", ("guards", guard), f"the guard `{guard[:60]}`", guard) for guard in workflow.guards
    )
    patterns += (
        ("FR153", ("order", index), f"the rule `{text[:80]}`", pattern)
        for index, text in enumerate(workflow.order)
        for pattern in tools.patterns_in(text)
    )
    for code, path, what, pattern in patterns:
        tool = pattern.partition("(")[0]
        meant = _misspelt(tool)
        if meant:
            message = f"{what} names the tool `{tool[:60]}`, which no known host has"
            yield UnplacedFinding(code, path, message, f"did you mean `{meant}`?", severity="warning")


def always_kept(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find guards and order rules that deny nothing once the workflow has started."""
    workflow = scope.workflow
    for pattern, steps in workflow.guards.items():
        if len(workflow.steps) > 1 and {step.id for step in workflow.steps} <= {*steps}:
            message = (
                f"the guard `{pattern[:60]}` names every step, so that starting the workflow allows the call"
            )
            hint = "name the steps to which the call belongs"
            yield UnplacedFinding("FR158", ("guards", pattern), message, hint, severity="warning")
    repeated = {step for loop in scope.loops(scope.possible_edges.after) for step in loop}
    for index, rule in enumerate(workflow.order_rules):
        first, then = rule.first, rule.then
        if rule.form is Form.AT_MOST and rule.per == first:
            reason = f"each attempt of `{first.step}` has one entry"
        elif not first.step or first.step in repeated:
            continue
        elif rule.form is Form.AT_MOST or (rule.form is Form.NEVER and then == Side(first.step)):
            reason = f"no path leads back to `{first.step}`"
        else:
            continue
        message = f"the rule `{rule.text[:80]}` is always kept: {reason}"
        hint = "remove it, or name what may be repeated, such as a tool call"
        yield UnplacedFinding("FR153", ("order", index), message, hint, severity="warning")


_KNOWN_TOOLS = sorted(
    tools.SHELLS | tools.EDITS | tools.READS | tools.AGENT_TOOLS | tools.QUESTIONS | tools.SKILL_TOOLS
)
_SIMILAR = 0.75
"""`Bahs` is as similar to `Bash`; `TodoWrite` is less similar to `Write`."""


def _misspelt(tool: str) -> str | None:
    """Return the known tool that is probably meant by an unknown one."""
    if tool in _KNOWN_TOOLS or "*" in tool or tool.startswith("mcp__"):
        return None
    from difflib import get_close_matches  # 4 ms, and nearly all tools are known

    folded = {known.casefold(): known for known in _KNOWN_TOOLS if len(known) > len("LS")}
    close = get_close_matches(tool.casefold()[: tools.LONGEST], folded, 1, _SIMILAR)
    return folded[close[0]] if close else None


def _contradiction(rule: OrderRule) -> str:
    """Return why no run can keep a rule, or why its `until` has no effect; empty if neither is so."""
    first, then, until = rule.first, rule.then, rule.until
    is_own_entry = then is not None and bool(then.step) and then == Side(first.step)
    if rule.form is Form.BEFORE and is_own_entry:
        return f"cannot be kept: {first} comes after the first entry"
    if rule.form is Form.AFTER and is_own_entry and first.outcome == Outcome.OK:
        return f"cannot be kept: no entry follows the last {first}"
    if rule.form is Form.BEFORE and then is not None and _covers(then, first):
        return f"cannot be kept: each call that matches {first} also matches {then}"
    if until is not None and until in {first, then}:
        return f"names {until} on both sides of `until`"
    return ""


def _covers(wide: Side, narrow: Side) -> bool:
    return bool(wide.pattern and narrow.pattern) and tools.covers(wide.pattern, narrow.pattern)


def _can_happen(scope: Scope, side: Side) -> bool:
    """Return whether *side* can happen at all; steps that cannot be reached are findings of their own."""
    if side.pattern:
        return any(allows_call(scope.workflow, step, side.pattern) for step in scope.workflow.steps)
    if not side.outcome:
        return True
    step = scope.workflow.step(side.step)
    chosen = chosen_outcomes(step)
    accepted_risk = side.outcome == Outcome.OK and step.bound is not None and Outcome.FAIL in chosen
    return side.outcome in step.transitions and (side.outcome in chosen or accepted_risk)
