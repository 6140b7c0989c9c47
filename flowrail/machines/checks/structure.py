"""Errors in the structure of a workflow: ids, transitions, ends, reachability, loops, limits, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import Outcome
from flowrail.machines.step import LONGEST_NAME, NAMES, STEP_ID, UNWRITTEN, WORKFLOW_NAME, StepDef
from flowrail.rules import tools
from flowrail.text import phrases

LARGEST_ACTIONS = 64_000
MOST_TRANSITIONS = 5_000


def _workflow_keys(scope: Scope) -> Iterator[UnplacedFinding]:
    workflow = scope.workflow
    if not WORKFLOW_NAME.match(workflow.name) or len(workflow.name) > 2 * LONGEST_NAME:
        message = f"`{workflow.name}` is not a valid name for a workflow"
        yield UnplacedFinding("FR107", ("name",), message, NAMES)
    if not workflow.steps:
        message = f"workflow `{workflow.name}` has no steps"
        yield UnplacedFinding("FR114", ("steps",), message, "add at least one step")
    elif workflow.entry not in workflow:
        hint = phrases.did_you_mean(str(workflow.entry), scope.index, "name one of the steps")
        yield UnplacedFinding("FR101", ("entry",), f"unknown entry point `{workflow.entry}`", hint)
    for name in scope.undeclared(workflow.then or ""):
        message = f"what comes after `{workflow.name}` has `${name}`, which is not declared"
        yield UnplacedFinding("FR151", ("then",), message, scope.hint(name))


def _repeated_ids(scope: Scope) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(scope.workflow.steps):
        if scope.index[step.id] != index:
            message = f"step `{step.id}` is defined twice, first as step {scope.index[step.id] + 1}"
            yield UnplacedFinding("FR106", ("steps", index, "id"), message)


def _targets(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find transitions to unknown steps. A name that several transitions use is one finding."""
    unknown: dict[str, list[tuple[str, Path]]] = {}
    for index, step in enumerate(scope.workflow.steps):
        for outcome, target in step.next.items():
            if target is not None and target not in scope.workflow:
                path: Path = ("steps", index, "next", str(outcome))
                unknown.setdefault(target, []).append((step.id, path))
    for target, [(source, first_path), *others] in unknown.items():
        more = f", as {phrases.count(len(others), 'other transition')} do" if others else ""
        message = f"step `{source}` leads to unknown step `{target}`{more}"
        hint = scope.did_you_mean(target, scope.index, "use the id of a step; `null` ends the run")
        yield UnplacedFinding("FR102", first_path, message, hint)


def _ends(scope: Scope) -> Iterator[UnplacedFinding]:
    """Check ends, reachability, livelocks and loops."""
    workflow = scope.workflow
    if workflow.entry not in workflow:
        return
    after, before, ends = scope.all_edges
    unknown = {step.id for step in workflow.steps if not _has_valid_targets(scope, step)}
    if not ends and not unknown:
        message = "no step ends the workflow"
        yield UnplacedFinding(
            "FR103", ("steps",), message, "end the run at the last step: `next: {ok: null}`"
        )
    reached = graph.reach([str(workflow.entry)], after)
    is_misspelt = any(step not in workflow for step in before)
    can_end, may_end = graph.reach(ends, before), graph.reach(ends | unknown, before)
    for index, step in enumerate(workflow.steps):
        if step.id not in reached and not is_misspelt:
            message = f"no path leads from `{workflow.entry}` to step `{step.id}`"
            hint = "add a transition to it from another step, or remove it"
            yield UnplacedFinding("FR104", ("steps", index), message, hint)
        elif step.id in reached and ends and step.next and step.id not in may_end:
            message = f"no path leads from step `{step.id}` to an end"
            hint = "add a transition that leads out of its loop"
            yield UnplacedFinding("FR108", ("steps", index), message, hint)
    after, _, ends = scope.possible_edges
    for loop in scope.loops(after):
        inside = set(loop)
        is_left = inside & ends or any(target not in inside for step_id in loop for target in after[step_id])
        if not is_left and inside <= can_end:
            message = f"the loop of {phrases.listed(loop)} is never left"
            hint = "add a `limit` to a step with an `ok` transition that leads out, or a rule whose outcome leads out"
            yield UnplacedFinding("FR109", ("steps", scope.index[loop[0]]), message, hint)


def _has_valid_targets(scope: Scope, step: StepDef) -> bool:
    """Return whether all transitions of *step* lead to an existing step or to the end."""
    return bool(step.next) and all(
        isinstance(outcome, Outcome) and (target is None or target in scope.workflow)
        for outcome, target in step.next.items()
    )


def _compiled_size(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find the step at which a machine would have too many transitions to compile quickly."""
    workflow = scope.workflow
    known: dict[str, int | None] = {}
    total = 0
    for index, step in enumerate(workflow.steps):
        total += sum(graph.skippable(workflow, target, known) or 0 for target in step.transitions.values())
        if total > MOST_TRANSITIONS:
            message = (
                f"up to step `{step.id}`, the machine would have more than {MOST_TRANSITIONS} transitions, because "
                "steps that may not apply follow each other"
            )
            hint = "split the workflow, or let `skip` lead past several steps at once"
            yield UnplacedFinding("FR116", ("steps", index), message, hint)
            return


def _transitions(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    if not STEP_ID.match(step.id):
        hint = "start with a letter; use letters, digits, `_` and `-`, at most 64"
        yield UnplacedFinding("FR107", ("id",), f"`{step.id}` is not a valid id for a step", hint)
    if not step.next:
        message = f"step `{step.id}` has no transitions"
        hint = "say where it leads, `next: {ok: STEP}`, or that it ends the run, `next: {ok: null}`"
        yield UnplacedFinding("FR112", (), message, hint)
    for outcome in step.next:
        if not isinstance(outcome, Outcome):
            outcomes = [known for known in Outcome if known is not Outcome.DEFAULT]
            hint = f"use one of {phrases.listed(outcomes)}, or `{Outcome.DEFAULT}` for all others"
            hint = phrases.did_you_mean(str(outcome), map(str, outcomes), hint)
            yield UnplacedFinding("FR113", ("next", outcome), f"unknown outcome `{outcome}`", hint)
    if all(outcome in step.next for outcome in Outcome):
        message = f"step `{step.id}` names every outcome, so its default transition is never taken"
        hint = "remove `_default` or one of the others"
        yield UnplacedFinding("FR111", ("next", str(Outcome.DEFAULT)), message, hint)
    if step.limit is not None and Outcome.ITERATE in step.transitions and Outcome.OK not in step.transitions:
        message = f"step `{step.id}` has no `ok` transition for when its limit is reached"
        yield UnplacedFinding("FR117", ("limit",), message, "add `ok`; the last `iterate` follows it")


def _instructions(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    if not step.title:
        message = f"step `{step.id}` has no title"
        yield UnplacedFinding("FR115", (), message, "add a title of a few words")
    if callable(step.actions):
        return
    if step.actions and not any(text.strip() for text in step.actions):
        message = f"step `{step.id}` has no instructions"
        hint = f"write `actions` or the file `steps/{step.id}.md`"
        yield UnplacedFinding("FR115", (), message, hint)
    elif UNWRITTEN in step.actions:
        message = f"the instructions of step `{step.id}` contain `...`, which still has to be written"
        hint = "replace `...` by the instructions"
        yield UnplacedFinding("FR115", ("actions",), message, hint, severity="warning")
    size = sum(map(len, step.actions))
    if size > LARGEST_ACTIONS:
        message = f"the text of step `{step.id}` has {size} characters; at most {LARGEST_ACTIONS} are allowed"
        hint = "split the step, or move the long text to a file that the agent reads"
        yield UnplacedFinding("FR115", (), message, hint)


def _skipping(scope: Scope) -> Iterator[UnplacedFinding]:
    known: dict[str, int | None] = {}
    for index, step in enumerate(scope.workflow.steps):
        path = ("steps", index, "when")
        if step.when is not None and step.id == scope.workflow.entry:
            message = f"step `{step.id}` is the first step and may not apply"
            yield UnplacedFinding("FR116", path, message, "start with a step that always applies")
        if graph.skippable(scope.workflow, step.id, known) is None:
            message = f"if step `{step.id}` does not apply, no step follows it"
            yield UnplacedFinding("FR116", path, message, "add a `skip` transition to a step without `when`")


def _forbids(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    problems = [(rule, tools.problem(rule)) for rule in dict.fromkeys(step.forbids)]
    problems += [(rule, "is listed twice") for rule, count in Counter(step.forbids).items() if count > 1]
    for rule, problem in problems:
        if problem is not None:
            message = f"step `{step.id}` has an invalid rule in `forbids`: `{rule[:60]}` {problem}"
            yield UnplacedFinding("FR156", ("forbids",), message)


WORKFLOW_RULES = (_workflow_keys, _repeated_ids, _targets, _ends, _compiled_size, _skipping)
STEP_RULES = (_transitions, _instructions, _forbids)
