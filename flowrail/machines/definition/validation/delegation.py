"""Errors in dispatches, questions to the user, and review gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flowrail.machines.definition import graph
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import BUILT_IN, TEXT_NAMES, VALUE_NAME, Outcome, StepDef
from flowrail.machines.definition.step_parts import (
    MOST_DISPATCHES,
    POLICIES,
    Dispatch,
    GateConfig,
    needed_by,
    problems_in,
)
from flowrail.machines.definition.values import Arg
from flowrail.text import phrases, placeholders

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

LONGEST_LEASE = 7 * 24 * 3_600


class _Known:
    """The values that a workflow declares; ``open_ended`` is true if a handler may return others."""

    def __init__(self, workflow: Workflow) -> None:
        reported = {name: arg for step in workflow.steps for name, arg in step.reports.items()}
        self.values: dict[str, Arg] = {**workflow.params, **reported}
        self.open_ended = any(callable(step.handler) for step in workflow.steps)
        self.guesses = phrases.Suggestions()

    def missing(self, text: str, more: Iterable[str] = ()) -> list[str]:
        """Return the names of placeholders in *text* that are not declared."""
        if self.open_ended:
            return []
        return sorted(
            name for name in placeholders.placeholders(text) - {*TEXT_NAMES, *more} if name not in self.values
        )

    def near(self, name: str, more: Iterable[str] = ()) -> str:
        """Return a hint for a name that is not known."""
        return self.guesses.did_you_mean(
            name, [*self.values, *more], "declare it in `params`, or in the `reports` of a step"
        )


def _deciders(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        ways = {
            "gate": step.gate is not None,
            "questions": bool(step.questions),
            "rules": bool(step.rules),
            "handler": callable(step.handler),
        }
        named = [name for name, is_there in ways.items() if is_there]
        if len(named) > 1 and {"gate", "questions"} & set(named):
            what = f"the outcome of step `{step.id}` is decided by {phrases.listed(named)}"
            yield UnplacedFinding("FR124", ("steps", index, named[0]), what, "let one of them decide")


def _dispatches(workflow: Workflow) -> Iterator[UnplacedFinding]:
    known = _Known(workflow)
    for index, step in enumerate(workflow.steps):
        work = step.work
        if work is None:
            continue
        path: Path = ("steps", index, "dispatch")
        if step.dispatch is not None and step.handler is not None and not callable(step.handler):
            what = f"step `{step.id}` has a `dispatch` and a `Dispatch` for a handler"
            yield UnplacedFinding("FR154", path, what, "keep one of them")
        yield from _lease(path, step, work)
        yield from _over(path, step, work, known)
        yield from _join(path, step, work)
        yield from _told(path, step, work, known)


def _lease(path: Path, step: StepDef, work: Dispatch) -> Iterator[UnplacedFinding]:
    if not isinstance(work.lease, (int, float)) or not 1 <= work.lease <= LONGEST_LEASE:
        what = f"the lease of step `{step.id}` is `{work.lease}`"
        hint = f"give it in seconds, from 1 to {LONGEST_LEASE}"
        yield UnplacedFinding("FR153", (*path, "lease"), what, hint)


def _over(path: Path, step: StepDef, work: Dispatch, known: _Known) -> Iterator[UnplacedFinding]:
    over = work.over
    path = (*path, "over")
    if over is None or (isinstance(over, str) and over not in known.values and known.open_ended):
        return
    if isinstance(over, str):
        arg = known.values.get(over)
        if arg is None:
            what = f"step `{step.id}` goes over `{over}`, which is not declared"
            yield UnplacedFinding("FR140", path, what, known.near(over))
        elif arg.kind != "list":
            what = f"step `{step.id}` goes over `{over}`, which is a {arg.kind}, not a list"
            yield UnplacedFinding("FR140", path, what, "declare it with `type: list`")
    elif not isinstance(over, tuple) or not over:
        what = f"step `{step.id}` goes over {'an empty list' if over == () else f'`{over}`, which is not a list'}"
        yield UnplacedFinding("FR140", path, what, "list the items, or name a fact that is a list")
    elif len(over) > MOST_DISPATCHES:
        what = f"step `{step.id}` goes over {len(over)} items; at most {MOST_DISPATCHES} are allowed"
        yield UnplacedFinding("FR140", path, what, "give several to an agent")


def _join(path: Path, step: StepDef, work: Dispatch) -> Iterator[UnplacedFinding]:
    count = 1 if work.over is None else len(work.over) if isinstance(work.over, tuple) else None
    try:
        needed = needed_by(str(work.join), 0)
    except ValueError:
        what = f"step `{step.id}` has an invalid join `{work.join}`"
        yield UnplacedFinding("FR142", (*path, "join"), what, "write `all`, `any` or `at least 1`")
        return
    if count is not None and needed > count > 0:
        what = f"step `{step.id}` waits for {needed} of {count}"
        yield UnplacedFinding("FR142", (*path, "join"), what, f"write at most {count}, or `all`")


def _told(path: Path, step: StepDef, work: Dispatch, known: _Known) -> Iterator[UnplacedFinding]:
    more = {*work.context_vars, "item"} if work.over is not None else {*work.context_vars}
    for name, value in work.context_vars.items():
        at = (*path, "vars", name)
        if not VALUE_NAME.match(name) or name in BUILT_IN:
            what = f"`{name}` is not a valid name for a variable"
            yield UnplacedFinding("FR141", at, what, "use a lower-case word")
        for missing in known.missing(value, more & {"item"}) if isinstance(value, str) else ():
            what = f"variable `{name}` of step `{step.id}` has `${missing}`, unknown here"
            hint = "say what it goes `over`" if missing == "item" else known.near(missing)
            yield UnplacedFinding("FR141", at, what, hint)
    prompt = [text for text in work.prompt if str(text).strip()]
    for text in work.prompt:
        for missing in known.missing(str(text), more):
            what = f"the prompt of step `{step.id}` has `${missing}`, unknown here"
            hint = "say what it goes `over`" if missing == "item" else known.near(missing, more)
            yield UnplacedFinding("FR121", (*path, "prompt", f"${missing}"), what, hint)
    if work.run is not None or prompt:
        return
    if work.over is not None:
        what = f"step `{step.id}` does not give its agents their item"
        hint = "write a `prompt` that contains `$item`, or name a workflow to `run`"
        yield UnplacedFinding("FR144", path, what, hint)
    elif not callable(step.actions) and not any(str(text).strip() for text in step.actions):
        what = f"step `{step.id}` has no instructions for its agent"
        yield UnplacedFinding("FR144", path, what, "write a `prompt`, or the text of the step")


def _questions(workflow: Workflow) -> Iterator[UnplacedFinding]:
    known = _Known(workflow)
    for index, step in enumerate(workflow.steps):
        path: Path = ("steps", index, "questions")
        if not step.questions:
            continue
        for at, what in problems_in(step.questions):
            owner = "the questions" if not at else f"question {int(at[0]) + 1}"
            inside = ".".join(str(part) for part in at[1:])
            said = (
                f"{owner} of step `{step.id}`: {inside} {what}"
                if inside
                else f"{owner} of step `{step.id}`: {what}"
            )
            yield UnplacedFinding("FR146", (*path, *at), said, _AS_HOSTS_TAKE_THEM)
        yield from _answers(path, step)
        for number, question in enumerate(step.questions):
            for text in (
                question.text,
                *(part for each in question.options for part in (each.label, each.description)),
            ):
                for missing in known.missing(text):
                    what = f"question `{question.id}` of step `{step.id}` has `${missing}`, unknown here"
                    yield UnplacedFinding("FR121", (*path, number), what, known.near(missing))


def _answers(path: Path, step: StepDef) -> Iterator[UnplacedFinding]:
    for number, question in enumerate(step.questions):
        places: list[tuple[Path, str | None]] = [((number, "other"), question.other)]
        places += [
            ((number, "options", at, "outcome"), each.outcome) for at, each in enumerate(question.options)
        ]
        for at, outcome in places:
            if outcome is not None and outcome not in step.ways:
                what = (
                    f"an answer to `{question.id}` decides `{outcome}`, which leads nowhere from `{step.id}`"
                )
                hint = f"add `{outcome}` to `next`, or use one of {phrases.listed(step.ways)}"
                yield UnplacedFinding("FR147", (*path, *at), what, hint)
    said = {each.outcome for question in step.questions for each in question.options}
    if Outcome.OK in graph.answered_outcomes(step) - said and Outcome.OK not in step.ways:
        what = f"step `{step.id}` has no `ok` transition for when its questions are answered"
        yield UnplacedFinding("FR147", path, what, "add `ok` to `next`, or give the options an `outcome`")


def _gates(workflow: Workflow) -> Iterator[UnplacedFinding]:
    after, _, _ = graph.adjacency(graph.edges(workflow))
    targets = {target for leads_to in after.values() for target in leads_to}
    ahead = {step: [to for to in leads_to if to in workflow] for step, leads_to in after.items()}
    guesses = phrases.Suggestions()
    for index, step in enumerate(workflow.steps):
        if step.gate is None:
            continue
        path: Path = ("steps", index, "gate")
        missing = [outcome for outcome in (Outcome.OK, Outcome.FAIL) if outcome not in step.ways]
        for outcome in missing:
            what = f"gate `{step.id}` has no transition for `{outcome}`"
            yield UnplacedFinding("FR148", ("steps", index, "next"), what, f"add `{outcome}` to `next`")
        if step.gate.review in targets and step.gate.review not in workflow:
            continue  # reported as a transition to an unknown step
        if step.gate.review not in workflow or step.gate.review == step.id:
            ids = (each.id for each in workflow.steps if each.id != step.id)
            hint = guesses.did_you_mean(step.gate.review, ids, "name the step that reviews")
            what = f"the review `{step.gate.review}` of gate `{step.id}` is not a step before it"
            yield UnplacedFinding("FR148", (*path, "review"), what, hint)
        elif not missing:
            yield from _loop(("steps", index, "next", "fail"), step, step.gate, ahead)
        yield from _rounds(path, step, step.gate)


def _loop(path: Path, step: StepDef, gate: GateConfig, ahead: graph.Adjacency) -> Iterator[UnplacedFinding]:
    back = step.way(Outcome.FAIL)
    if back is None or gate.review not in graph.reach([back], ahead):
        what = f"`fail` of gate `{step.id}` does not lead back to its review `{gate.review}`"
        hint = "let it lead to the step that fixes the findings, which leads to the review again"
        yield UnplacedFinding("FR149", path, what, hint)
    elif step.id not in graph.reach([gate.review], ahead):
        what = f"no path leads from the review `{gate.review}` to its gate `{step.id}`"
        yield UnplacedFinding("FR149", path, what, "let the review lead to its gate")


def _rounds(path: Path, step: StepDef, gate: GateConfig) -> Iterator[UnplacedFinding]:
    if not isinstance(gate.limit, int) or isinstance(gate.limit, bool) or gate.limit < 1:
        what = f"gate `{step.id}` has `{gate.limit}` rounds"
        yield UnplacedFinding("FR150", (*path, "limit"), what, "use a whole number from 1")
    if gate.policy is not None and gate.policy not in POLICIES:
        what = f"gate `{step.id}` has an unknown policy `{gate.policy}`"
        hint = phrases.did_you_mean(gate.policy, POLICIES, f"use one of {phrases.listed(POLICIES)}")
        yield UnplacedFinding("FR150", (*path, "policy"), what, hint)


def _then(workflow: Workflow) -> Iterator[UnplacedFinding]:
    known = _Known(workflow)
    for missing in known.missing(workflow.then or ""):
        what = f"what comes after `{workflow.name}` has `${missing}`, unknown here"
        yield UnplacedFinding("FR151", ("then",), what, known.near(missing))


_AS_HOSTS_TAKE_THEM = "hosts take 3 questions, each with a header of 12 characters at most and 2 or 3 options"
DELEGATION_RULES = (_deciders, _dispatches, _questions, _gates, _then)
