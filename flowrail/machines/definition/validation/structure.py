"""Errors in the structure of a workflow: ids, transitions, ends, reachability, loops, limits, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowrail.machines.definition import graph, tool_rules
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import (
    LONGEST_NAME,
    NAMES,
    REPORTABLE,
    STEP_ID,
    UNWRITTEN,
    WORKFLOW_NAME,
    Outcome,
    StepDef,
)
from flowrail.text import phrases, placeholders

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

LARGEST_ACTIONS = 64_000
MOST_TRANSITIONS = 5_000


def _names(workflow: Workflow) -> Iterator[UnplacedFinding]:
    if not WORKFLOW_NAME.match(str(workflow.name)) or len(workflow.name) > 2 * LONGEST_NAME:
        what = f"`{workflow.name}` is not a valid name for a workflow"
        yield UnplacedFinding("FR107", ("name",), what, NAMES)
    seen: dict[str, int] = {}
    for index, step in enumerate(workflow.steps):
        if not isinstance(step.id, str) or not STEP_ID.match(step.id):
            what = f"`{step.id}` is not a valid id for a step"
            hint = "start with a letter; use letters, digits, `_` and `-`, at most 64"
            yield UnplacedFinding("FR107", ("steps", index, "id"), what, hint)
        if step.id in seen:
            what = f"step `{step.id}` is defined twice, first as step {seen[step.id] + 1}"
            yield UnplacedFinding("FR106", ("steps", index, "id"), what, "give one of them another id")
        seen.setdefault(step.id, index)


def _entry(workflow: Workflow) -> Iterator[UnplacedFinding]:
    if not workflow.steps:
        what = f"workflow `{workflow.name}` has no steps"
        yield UnplacedFinding("FR114", ("steps",), what, "add at least one step")
    elif workflow.entry_point not in workflow:
        names = workflow._step_order  # noqa: SLF001
        hint = phrases.did_you_mean(str(workflow.entry_point), names, "name one of the steps")
        yield UnplacedFinding("FR101", ("entry",), f"unknown entry point `{workflow.entry_point}`", hint)


def _targets(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find transitions that lead nowhere. A name that several transitions use is one finding."""
    guesses = phrases.Suggestions()
    unknown: dict[str, list[tuple[Path, str]]] = {}
    for index, step in enumerate(workflow.steps):
        if not step.next:
            what = f"step `{step.id}` has no transitions"
            hint = "say where it leads, `next: {ok: STEP}`, or that it ends the run, `next: {ok: null}`"
            yield UnplacedFinding("FR112", ("steps", index), what, hint)
        for outcome, target in step.next.items():
            path: Path = ("steps", index, "next", str(outcome))
            if not isinstance(outcome, Outcome):
                words = phrases.listed(Outcome)
                yield UnplacedFinding("FR113", path, f"unknown outcome `{outcome}`", f"use one of {words}")
            if target is not None and target not in workflow:
                unknown.setdefault(target, []).append((path, step.id))
        if Outcome.DEFAULT in step.next and all(outcome in step.next for outcome in REPORTABLE):
            what = f"step `{step.id}` names every outcome, so its default transition is never taken"
            hint = "remove `_default` or one of the others"
            yield UnplacedFinding("FR111", ("steps", index, "next", str(Outcome.DEFAULT)), what, hint)
    ids = [step.id for step in workflow.steps]
    for target, uses in unknown.items():
        first_path, source = uses[0]
        others = f", and so do {len(uses) - 1} other transitions" if len(uses) > 1 else ""
        what = f"step `{source}` leads to unknown step `{target}`{others}"
        hint = guesses.did_you_mean(target, ids, "use the id of a step; `null` ends the run")
        yield UnplacedFinding("FR102", first_path, what, hint)


def _shape(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Check ends, reachability, livelocks and loops, if all targets exist."""
    if not workflow.steps or workflow.entry_point not in workflow:
        return
    after, before, ends = graph.adjacency(graph.edges(workflow))
    known = {source: [to for to in targets if to in workflow] for source, targets in after.items()}
    unknown = {step.id for step in workflow.steps if not _all_lead(workflow, step)}
    if not ends and not unknown:
        what = "no step ends the workflow"
        yield UnplacedFinding("FR103", ("steps",), what, "end the run at the last step: `next: {ok: null}`")
    reached = graph.reach([str(workflow.entry_point)], known)
    is_misspelt = any(target not in workflow for targets in after.values() for target in targets)
    leaving, perhaps = graph.reach(ends, before), graph.reach(ends | unknown, before)
    for index, step in enumerate(workflow.steps):
        if step.id not in reached and not is_misspelt:
            what = f"no path leads from `{workflow.entry_point}` to step `{step.id}`"
            hint = "add a transition to it from another step, or remove it"
            yield UnplacedFinding("FR104", ("steps", index), what, hint)
        elif step.id in reached and ends and step.next and step.id not in perhaps:
            what = f"no path leads from step `{step.id}` to an end"
            hint = "add a transition that leads out of its loop"
            yield UnplacedFinding("FR108", ("steps", index), what, hint)
    yield from _loops(workflow, leaving)


def _all_lead(workflow: Workflow, step: StepDef) -> bool:
    """Return whether all transitions of *step* lead to an existing step or to the end."""
    ways = step.next.items()
    return bool(ways) and all(isinstance(o, Outcome) and (to is None or to in workflow) for o, to in ways)


def _loops(workflow: Workflow, leaving: set[str]) -> Iterator[UnplacedFinding]:
    possible = list(graph.possible_edges(workflow))
    after, _, ends = graph.adjacency(possible)
    place = {step.id: index for index, step in reversed(list(enumerate(workflow.steps)))}
    for members in graph.components(workflow._step_order, after):  # noqa: SLF001
        inside = set(members)
        out = any(to not in inside for member in members for to in after.get(member, ())) or inside & ends
        if not out and inside <= leaving:
            in_order = sorted(inside & place.keys(), key=lambda step_id: place[step_id])
            first = in_order[0]
            what = f"the loop of {phrases.listed(in_order)} is never left"
            hint = "add a `limit` to a step with an `ok` transition that leads out, or a rule whose outcome leads out"
            yield UnplacedFinding("FR109", ("steps", place[first]), what, hint)


def _texts(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        if not step.title:
            what = f"step `{step.id}` has no title"
            yield UnplacedFinding("FR115", ("steps", index), what, "add a title of a few words")
        if not callable(step.actions):
            if not any(isinstance(each, str) and each.strip() for each in step.actions):
                what = f"step `{step.id}` has no instructions"
                hint = f"write `actions` or the file `steps/{step.id}.md`"
                severity = "warning" if step.handler is not None else "error"
                yield UnplacedFinding("FR115", ("steps", index), what, hint, severity=severity)
            elif UNWRITTEN in step.actions:
                what = f"the instructions of step `{step.id}` contain `...`, which still has to be written"
                hint = "replace `...` by the instructions"
                yield UnplacedFinding("FR115", ("steps", index, "actions"), what, hint, severity="warning")
            size = sum(len(str(each)) for each in step.actions)
            if size > LARGEST_ACTIONS:
                what = f"the text of step `{step.id}` has {size} characters; at most {LARGEST_ACTIONS} are allowed"
                hint = "split the step, or move the long text to a file that the agent reads"
                yield UnplacedFinding("FR115", ("steps", index), what, hint)


def _ways_past(workflow: Workflow) -> Iterator[UnplacedFinding]:
    settled: dict[str, bool] = {}
    for index, step in enumerate(workflow.steps):
        if step.when is None:
            continue
        if step.id == workflow.entry_point:
            what = f"step `{step.id}` is the first step and may not apply"
            hint = "start with a step that always applies"
            yield UnplacedFinding("FR116", ("steps", index, "when"), what, hint)
        if not graph.settles(workflow, step.id, settled):
            what = f"if step `{step.id}` does not apply, no step follows it"
            hint = "add a `skip` transition to a step without `when`"
            yield UnplacedFinding("FR116", ("steps", index, "when"), what, hint)
    yield from _too_many_ways_past(workflow)


def _too_many_ways_past(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find the step at which a machine would have too many transitions to compile quickly."""
    lengths: dict[str | None, int] = {}
    total = 0
    for index, step in enumerate(workflow.steps):
        total += sum(_length(workflow, target, lengths) for target in step.ways.values())
        if total > MOST_TRANSITIONS:
            what = (
                f"up to step `{step.id}`, the machine would have more than {MOST_TRANSITIONS} transitions, because "
                "steps that may not apply follow each other"
            )
            hint = "split the workflow, or let `skip` lead past several steps at once"
            yield UnplacedFinding("FR116", ("steps", index), what, hint)
            return


def _length(workflow: Workflow, target: str | None, lengths: dict[str | None, int]) -> int:
    """Return how many consecutive steps from *target* on may not apply."""
    chain: list[str | None] = []
    step = workflow.get(target)
    while target not in lengths and step is not None and step.when is not None:
        lengths[target] = 0  # the answer for a circle, should it come back here
        chain.append(target)
        over = graph.skip_outcome(step)
        target = step.way(over) if over is not None else None
        step = workflow.get(target)
    length = lengths.get(target, 0)
    for each in reversed(chain):
        length += 1
        lengths[each] = length
    return lengths[chain[0]] if chain else length


def _limits(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        if step.limit is None:
            continue
        path = ("steps", index, "limit")
        if not isinstance(step.limit, int) or isinstance(step.limit, bool) or step.limit < 1:
            what = f"the limit of step `{step.id}` is `{step.limit}`"
            yield UnplacedFinding("FR117", path, what, "use a whole number from 1")
        elif Outcome.ITERATE in step.ways and Outcome.OK not in step.ways:
            what = f"step `{step.id}` has no `ok` transition for when its limit is reached"
            yield UnplacedFinding("FR117", path, what, "add `ok`; the last `iterate` follows it")


def _forbids(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        count = Counter(step.forbids[: tool_rules.MOST])
        wrong = {each: tool_rules.problem(each) for each in count}
        problems = [f"`{str(each)[:60]}` {what}" for each, what in wrong.items() if what]
        problems += [f"`{str(each)[:60]}` is listed twice" for each in wrong if count[each] > 1]
        if len(step.forbids) > tool_rules.MOST:
            problems.append(f"{len(step.forbids)} rules are more than {tool_rules.MOST}")
        for problem in problems:
            what = f"step `{step.id}` has an invalid rule in `forbids`: {problem}"
            hint = "name a tool, or a tool and its arguments: `Edit`, `Bash(git push*)`"
            yield UnplacedFinding("FR156", ("steps", index, "forbids"), what, hint)


def _work_folder(workflow: Workflow) -> Iterator[UnplacedFinding]:
    folder = workflow.work_folder
    if folder is None:
        return
    parts = folder.split("/") if isinstance(folder, str) else []
    is_inside = bool(parts) and parts[0] not in {"", "~"} and ".." not in parts
    if not is_inside or "$session" not in parts[-1] or placeholders.placeholders(folder) != {"session"}:
        what = f"`work_folder` is `{str(folder)[:80]}`"
        hint = (
            "write a path from the project root that ends in a folder for each session: `research/$session`"
        )
        yield UnplacedFinding("FR158", ("work_folder",), what, hint)


STRUCTURE_RULES = (
    _work_folder,
    _names,
    _entry,
    _targets,
    _shape,
    _texts,
    _ways_past,
    _limits,
    _forbids,
)
