"""The evidence that a step demands, in words: listed beside its commands, and in the results of its checks."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from flowrail.command import Command
from flowrail.machines.definition.evidence import EvidenceCheck, EvidenceResult, Level
from flowrail.machines.definition.step import Outcome, Rule, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.questions import choices_for
from flowrail.machines.engine.transitions import effective_outcome
from flowrail.machines.sessions.session import Session
from flowrail.text.phrases import count, joined
from flowrail.text.placeholders import fill


class EvidenceView(NamedTuple):
    """A check of the current step. ``run`` is the line that the agent runs itself, ``command`` runs it for the agent.

    It counts for the ``outcomes``, and always if ``is_always``. If the step decides the outcome by rules, answers or
    findings, ``condition`` says when. ``verdict`` is the result now if the step was resumed, and empty if it was not
    or if a pass does not suffice.
    For a review, ``command`` records that it found nothing.
    """

    id: str
    outcomes: tuple[str, ...]
    kind: str
    level: str
    expected: str
    run: str | None
    command: Command | None
    verdict: str
    waived: bool
    is_always: bool
    condition: str


class StepEvidenceView(NamedTuple):
    """The evidence of a session's current step as it is now: the checks of each outcome, and a result for each check."""

    session: str
    step: str
    outcomes: Mapping[str, Sequence[str]]
    results: tuple[EvidenceResult, ...]
    refusals: int
    tries: int


def views(
    workflow: Workflow, step: StepDef, session: Session, values: Mapping[str, object], *, store: str | None
) -> Iterator[EvidenceView]:
    """Yield the checks of a step."""
    known = session.evidence.get(step.id)
    waived = (
        {confirmation.check for confirmation in known.confirmations if confirmation.waived}
        if known
        else set()
    )
    for check in step.checks.values():
        by_agent = bool(check.run) and check.lowest_level.rank <= Level.OBSERVED.rank
        command = None
        if "review" in check.records:
            command = Command("finding none", session.id, store=store)
        elif check.run and check.lowest_level is not Level.APPROVED:
            command = Command("evidence run", session.id, check.id, store=store)
        outcomes = tuple(outcome for outcome, checks in step.evidence.items() if check in checks)
        needed = {
            outcome
            for outcome in step.transitions
            if effective_outcome(workflow, step, session, outcome) in outcomes
        }
        yield EvidenceView(
            id=check.id,
            outcomes=outcomes,
            kind=check.kind,
            level=str(check.lowest_level),
            expected=expected(check, lambda path: fill(path, values), values),
            run=line_of(check.run) if by_agent else None,
            command=command if session.id else None,
            verdict="",
            waived=check.id in waived,
            is_always=needed == set(step.transitions),
            condition="" if needed == set(step.transitions) else _condition(step, needed),
        )


def _condition(step: StepDef, outcomes: AbstractSet[str]) -> str:
    """Return when *step* decides on one of *outcomes*, in words or as an expression."""
    if step.gate is not None:
        return "the gate passes" if Outcome.OK in outcomes else "the gate does not pass"
    if step.questions:
        return choices_for(step.questions, outcomes)
    return _ruled(step.rules, outcomes)


def _ruled(rules: Sequence[Rule], outcomes: AbstractSet[str]) -> str:
    """Return the condition under which the first rule that holds is one for *outcomes*."""
    conditions: list[str] = []
    earlier: list[str] = []
    for rule in rules:
        if rule.outcome not in outcomes:
            earlier += [rule.when] if rule.when is not None else []
            continue
        unless = " or ".join(earlier)
        if rule.when is None:
            conditions += [f"not ({unless})"] if unless else []
        else:
            conditions.append(f"{rule.when}, unless {unless}" if unless else rule.when)
    return " or ".join(conditions)


def line_of(command: Sequence[str]) -> str:
    """Return the line to type in a shell."""
    return shlex.join(command)


def expected(check: EvidenceCheck, show: Callable[[str], str], values: Mapping[str, object]) -> str:
    """Return what a check expects. *show* returns a path as it is printed; *values* fill the texts."""
    approval = ", and a person's approval" if check.lowest_level is Level.APPROVED else ""
    return f"{_expected(check, show, _conditions(check, values))}{approval}"


def _expected(check: EvidenceCheck, show: Callable[[str], str], conditions: str) -> str:
    if check.file is not None:
        return f"{show(check.file)}{conditions}"
    if check.files is not None:
        each = conditions.replace("(", "(each ", 1)
        return f"at least {count(check.at_least, 'file')} matching {show(check.files)}{each}"
    if check.json is not None:
        return f"{show(check.json)}, matching its JSON Schema{conditions}"
    if check.git is not None:
        paths = joined([show(pattern) for pattern in check.git.within])
        within = f", all of them in {paths}" if paths else ""
        return f"at least {count(check.git.changed_at_least, 'changed file')} in git{within}"
    if check.records:
        words = {"review": "a submitted review", "findings": "no open finding"}
        return " and ".join(words[name] for name in check.records)
    output = f", printing {joined(check.output)}" if check.output else ""
    return f"`{line_of(check.run)}` to succeed{output}"


def _conditions(check: EvidenceCheck, values: Mapping[str, object]) -> str:
    conditions = [
        *([f"changed in this {'attempt' if check.since == 'entry' else 'step'}"] if check.changed else []),
        *([f"at least {count(check.min_bytes, 'byte')}"] if check.min_bytes > 1 else []),
        *(
            [f"containing {joined([repr(fill(text, values)) for text in check.contains])}"]
            if check.contains
            else []
        ),
        *(["citing lines as FILE:LINE from the project root, all of which exist"] if check.citations else []),
        *(["with diffs that apply to the files as they are now"] if check.diffs else []),
    ]
    return f" ({', '.join(conditions)})" if conditions else ""
