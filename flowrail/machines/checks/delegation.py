"""Dispatches, questions to the user, and review gates: errors, and warnings about what is probably not meant."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.dispatch import MOST_DISPATCHES, AgentRole, Dispatch, needed_by
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import Outcome
from flowrail.machines.question import problems_in
from flowrail.machines.severities import DEFAULT_POLICY, POLICIES
from flowrail.machines.step import BUILT_IN, VALUE_NAME, StepDef
from flowrail.machines.step_contents import texts_of
from flowrail.text import phrases, placeholders

_AS_HOSTS_TAKE_THEM = "hosts take 3 questions, each with a header of 12 characters at most and 2 or 3 options"


def _dispatch(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    work = step.work
    if work is None:
        return
    if step.dispatch is not None and isinstance(step.handler, Dispatch):
        message = f"step `{step.id}` has a `dispatch` and a `Dispatch` for a handler"
        yield UnplacedFinding("FR154", ("dispatch",), message)
    for name in work.vars:
        if not VALUE_NAME.match(name) or name in BUILT_IN:
            message = f"`{name}` is not a valid name for a variable"
            yield UnplacedFinding("FR141", ("dispatch", "vars", name), message, "use a lower-case word")
    yield from _over(step, work, scope)
    yield from _join(step, work)
    if work.workflow is None and not any(text.strip() for text in work.prompt):
        if work.over is not None:
            message = f"step `{step.id}` does not give its agents their item"
            hint = "name a file with `$item` in it as `prompt`, or a workflow to `run`"
            yield UnplacedFinding("FR144", ("dispatch",), message, hint)
        elif not callable(step.actions) and not any(text.strip() for text in step.actions):
            message = f"step `{step.id}` has no instructions for its agent"
            hint = "name a file with its instructions as `prompt`, or write those of the step"
            yield UnplacedFinding("FR144", ("dispatch",), message, hint)


def _over(step: StepDef, work: Dispatch, scope: Scope) -> Iterator[UnplacedFinding]:
    over = work.over
    problem: tuple[str, str] | None = None
    if isinstance(over, str):
        arg = scope.values.get(over)
        if arg is None and not scope.is_open:
            problem = f"`{over}`, which is not declared", scope.hint(over)
        elif arg is not None and arg.kind != "list":
            problem = f"`{over}`, which is a {arg.kind}, not a list", "declare it with `type: list`"
    elif over is not None and not over:
        problem = "an empty list", "list the items, or name a fact that is a list"
    elif over is not None and len(over) > MOST_DISPATCHES:
        problem = (
            f"{len(over)} items; at most {MOST_DISPATCHES} are allowed",
            "give several to an agent",
        )
    if problem is not None:
        message = f"step `{step.id}` goes over {problem[0]}"
        yield UnplacedFinding("FR140", ("dispatch", "over"), message, problem[1])


def _join(step: StepDef, work: Dispatch) -> Iterator[UnplacedFinding]:
    path = ("dispatch", "join")
    count = 1 if work.over is None else len(work.over) if isinstance(work.over, tuple) else None
    try:
        needed = needed_by(work.join, 0)
    except ValueError:
        message = f"step `{step.id}` has an invalid join `{work.join}`"
        yield UnplacedFinding("FR142", path, message, "write `all`, `any` or `at least 1`")
        return
    if count is not None and needed > count > 0:
        message = f"step `{step.id}` waits for {needed} of {count}"
        yield UnplacedFinding("FR142", path, message, f"write at most {count}, or `all`")


def _questions(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    if not step.questions:
        return
    for path, problem in problems_in(step.questions):
        owner = f"question {int(path[0]) + 1}" if path else "the questions"
        inside = "".join(f"{part}." for part in path[1:]).rstrip(".")
        message = f"{owner} of step `{step.id}`: {inside} {problem}".replace(":  ", ": ")
        yield UnplacedFinding("FR146", ("questions", *path), message, _AS_HOSTS_TAKE_THEM)
    for number, question in enumerate(step.questions):
        outcomes: list[tuple[Path, str | None]] = [(("other",), question.other)]
        outcomes += [
            (("options", position, "outcome"), option.outcome)
            for position, option in enumerate(question.options)
        ]
        for path, outcome in outcomes:
            if outcome is not None and outcome not in step.transitions:
                message = (
                    f"an answer to `{question.id}` decides `{outcome}`, which leads nowhere from `{step.id}`"
                )
                hint = f"add `{outcome}` to `next`, or use one of {phrases.listed(step.transitions)}"
                yield UnplacedFinding("FR147", ("questions", number, *path), message, hint)
    named = {option.outcome for question in step.questions for option in question.options}
    if Outcome.OK in graph.answered_outcomes(step) - named and Outcome.OK not in step.transitions:
        message = f"step `{step.id}` has no `ok` transition for when its questions are answered"
        hint = "add `ok` to `next`, or give the options an `outcome`"
        yield UnplacedFinding("FR147", ("questions",), message, hint)


def _gate(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    if step.gate is None:
        return
    review = step.gate.review
    yield from _policy(step.id, step.gate.policy or DEFAULT_POLICY, scope)
    after, before, _ = scope.all_edges
    missing = [outcome for outcome in (Outcome.OK, Outcome.FAIL) if outcome not in step.transitions]
    for outcome in missing:
        message = f"gate `{step.id}` has no transition for `{outcome}`"
        yield UnplacedFinding("FR148", ("next",), message, f"add `{outcome}` to `next`")
    if review not in scope.workflow and review in before:
        return  # reported as a transition to an unknown step
    if review not in scope.workflow or review == step.id:
        ids = (step_id for step_id in scope.index if step_id != step.id)
        hint = scope.did_you_mean(review, ids, "name the step that reviews")
        message = f"the review `{review}` of gate `{step.id}` is not a step before it"
        yield UnplacedFinding("FR148", ("gate", "review"), message, hint)
    elif not missing:
        target = step.next_step(Outcome.FAIL)
        if target is None or review not in graph.reach([target], after):
            message = f"`fail` of gate `{step.id}` does not lead back to its review `{review}`"
            hint = "let it lead to the step that fixes the findings, which leads to the review again"
            yield UnplacedFinding("FR149", ("next", "fail"), message, hint)
        elif step.id not in graph.reach([review], after):
            message = f"no path leads from the review `{review}` to its gate `{step.id}`"
            yield UnplacedFinding("FR149", ("next", "fail"), message, "let the review lead to its gate")


def _policy(step_id: str, policy: str, scope: Scope) -> Iterator[UnplacedFinding]:
    param = scope.workflow.params.get(policy[1:]) if policy.startswith("$") else None
    if policy not in POLICIES and not (param and set(param.choices or ("",)) <= POLICIES.keys()):
        message = f"gate `{step_id}` has the unknown policy `{policy[:60]}`"
        hint = f"use {phrases.listed(POLICIES)}, or a parameter with these choices"
        yield UnplacedFinding("FR148", ("gate", "policy"), message, hint)


STEP_RULES = (_dispatch, _questions, _gate)


def _unclear_dispatch(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    work = step.work
    if work is None:
        return
    if not step.decides and Outcome.OK not in step.transitions:
        message = f"step `{step.id}` has no `ok` transition for when its agents succeed"
        yield UnplacedFinding("FR176", ("next",), message)
    texts = [text for text in texts_of(step) if text.kind in {"vars", "prompt"}]
    uses_item = any("item" in placeholders.placeholders(text.text) for text in texts)
    if work.over is not None and not uses_item and (work.workflow or work.prompt):
        key = "vars" if work.workflow else "prompt"
        message = f"step `{step.id}` goes over a list, but no agent gets its `$item`: all do the same"
        hint = f"put `$item` into its `{key}`, or leave `over` out"
        yield UnplacedFinding("FR179", ("dispatch", key), message, hint)
    guess = phrases.did_you_mean(work.agent, AgentRole, "")
    if guess and work.agent not in list(AgentRole):
        message = f"step `{step.id}` gives work to `{work.agent}`, which looks like a misspelt role"
        yield UnplacedFinding("FR145", ("dispatch", "agent"), message, guess)


_REFUSING = (Outcome.FAIL, Outcome.ITERATE)


def _refusals(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    """Find answers after which a session continues as if the user had agreed."""
    agreed = step.transitions.get(Outcome.OK, Outcome.OK)
    for number, question in enumerate(step.questions):
        for position, option in enumerate(question.options):
            outcome = option.outcome
            if outcome in _REFUSING and step.transitions.get(Outcome(outcome), "") == agreed:
                message = (
                    f"the answer `{option.label}` to `{question.id}` decides `{outcome}`, "
                    "which leads where `ok` leads"
                )
                path = ("questions", number, "options", position)
                yield UnplacedFinding(
                    "FR185", path, message, f"let `{outcome}` lead elsewhere, or decide `ok`"
                )


STEP_WARNINGS = (_unclear_dispatch, _refusals)
