"""Actions at a session's step: dispatches finished, findings recorded, questions answered, a report.

An act is plain data, so that acts can be planned or recorded, performed in memory, and run with commands. Which
values are tried follows from the comparisons in the workflow's expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from flowrail.machines import agents, asked_questions
from flowrail.machines import gate_verdict as engine_reviews
from flowrail.machines.domains import domain_of
from flowrail.machines.expressions import parse
from flowrail.machines.frozen import Frozen, freeze_deep
from flowrail.machines.graph import reviews
from flowrail.machines.parts import has_functions, parts_of
from flowrail.machines.session import Report, Session
from flowrail.machines.severities import Severity
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.transition import advance, current_step, reportable_outcomes
from flowrail.machines.values import Arg, kind_of, least_of
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.session_status import COMPLETED, FAILED

MOST_VALUES = 12
"""A name with more possible values is tried at its bounds and around the literals that it is compared with."""
MOST_COMBINED = 48
"""If there are more combinations, each value is tried once instead."""
OTHER = "other:something else"
FOUND = "a finding of a test"
REASON = "a test must show what follows"
"""The reason recorded with every answer: a limit accepts some answers only with a reason."""

Literals = Mapping[str, frozenset[object]]


class Act(NamedTuple):
    """Everything that is done at one step, and the report.

    ``findings`` are pairs of severity and text. ``agents`` has a result for each dispatch: `ok` or `fail`. ``answers``
    are pairs of a question's id and its label.
    """

    report: str
    facts: Mapping[str, Any] = Frozen()
    agents: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    answers: tuple[tuple[str, str], ...] = ()


def acts(workflow: Workflow, session: Session) -> Iterator[Act]:
    """Yield the possible acts in *session*: all of them, or a representative selection."""
    step = current_step(workflow, session)
    limit = session.limit_question
    answers = list(_answers(session))
    if limit is not None:
        yield from (Act("done", answers=answer) for answer in answers)
        return
    findings_to_try = [(), ((Severity.MUST.value, FOUND),)] if step.id in reviews(workflow) else [()]
    facts = list(_facts(workflow, session, step))
    for results, outcomes in _results(workflow, step, session):
        for outcome, answer, values, findings in product(outcomes, answers, facts, findings_to_try):
            yield Act(outcome, values, results, findings, answers=answer)


def starts(workflow: Workflow) -> Iterator[Frozen[str, object]]:
    """Yield the parameters to start with, the smallest sets first."""
    values = {
        name: sorted(values_to_try(workflow, name, arg), key=lambda value: value is not None)
        for name, arg in workflow.params.items()
    }
    yield from _combined(values)


def perform(workflow: Workflow, session: Session, act: Act) -> Session:
    """Perform *act* in memory and return the next session."""
    for severity, text in act.findings:
        session, _ = engine_reviews.record(workflow, session, severity=severity, text=text)
    answers = dict(act.answers)
    answered = [
        asked_questions.answer_question(question, [answers[question.id]], at="", by="", reason=REASON)
        if question.id in answers
        else question
        for question in session.questions
    ]
    session = asked_questions.with_questions(session, answered)
    children = ended_children(session, act.agents) if act.agents else {}
    return advance(workflow, session, Report(act.report, act.facts), children=children)


def ended_children(session: Session, results: Sequence[str]) -> dict[str, Session]:
    """Return the child sessions of the step's dispatches with these results, by id; none for an empty result."""
    return {
        dispatch.child: Session(
            dispatch.child, session.skill, None, status=COMPLETED if result == Outcome.OK else FAILED
        )
        for dispatch, result in zip(session.dispatches, results, strict=True)
        if result
    }


def values_to_try(workflow: Workflow, name: str, arg: Arg) -> list[object]:
    """Return the values of *name* that may make a difference, the simplest first; `None` means that it is left out.

    There is only one value if nothing depends on it.
    """
    compared = read_in(workflow)
    plain = freeze_deep(arg.sample())
    if name not in compared:
        return [plain if arg.required else None]
    values = [plain, *_others(arg, compared[name])]
    fitting = [value for value in dict.fromkeys(values) if arg.problem(value) is None]
    return fitting if arg.required else [*fitting, None]


@lru_cache(maxsize=64)
def read_in(workflow: Workflow) -> Literals:
    """Return every name that may affect a decision, with the literals that it is compared with.

    A function may read every name that is declared.
    """
    compared: dict[str, set[object]] = {name: set() for name in _asked_for(workflow)}
    for part in (part for part in parts_of(workflow) if part.kind == "condition"):
        expression = parse(part.value)
        for name in expression.names:
            compared.setdefault(name, set())
        for name, _, literal in expression.comparisons():
            compared[name].add(literal)
    for name in (*workflow.params, *workflow.reported) if has_functions(workflow) else ():
        compared.setdefault(name, set())
    return {name: frozenset(literals) for name, literals in compared.items()}


def _asked_for(workflow: Workflow) -> Iterator[str]:
    """Yield names that affect decisions without an expression: lists of dispatches, arguments of handlers."""
    for step in workflow.steps:
        if step.work is not None and isinstance(step.work.over, str):
            yield step.work.over
        if callable(step.handler):
            yield from fact_args(step)


def _facts(workflow: Workflow, session: Session, step: StepDef) -> Iterator[Frozen[str, object]]:
    declared = fact_args(step, session.params)
    values = {name: values_to_try(workflow, name, arg) for name, arg in declared.items()}
    yield from _combined(values)


def _others(arg: Arg, literals: Iterable[Any]) -> Iterator[object]:
    domain = domain_of(arg)
    if domain is not None and len(domain) <= MOST_VALUES:
        yield from domain
    yield from (bound for bound in (arg.min, arg.max) if bound is not None)
    for literal in sorted(literals, key=repr):
        if arg.kind == "list":
            yield (literal,) * max(1, least_of(arg))
        elif kind_of(literal) == "integer":
            yield from (literal - 1, literal, literal + 1)
        elif literal is not None:
            yield literal
    if arg.kind == "list":
        yield ()


def _combined(tried: Mapping[str, list[object]]) -> Iterator[Frozen[str, object]]:
    """Yield combinations of values, the first values first; all of them only if there are few."""
    combinations: Iterable[Mapping[str, object]]
    if prod(map(len, tried.values())) <= MOST_COMBINED:
        combinations = (dict(zip(tried, values, strict=True)) for values in product(*tried.values()))
    else:
        first = {name: values[0] for name, values in tried.items()}
        variations = ({**first, name: value} for name, values in tried.items() for value in values[1:])
        combinations = (first, *variations)
    for combination in combinations:
        yield Frozen({name: value for name, value in combination.items() if value is not None})


def _answers(session: Session) -> Iterator[tuple[tuple[str, str], ...]]:
    waiting = session.open_questions
    choices = [
        [*(option.label for option in question.options), *([OTHER] if question.other else [])]
        for question in waiting
    ]
    for labels in product(*choices):
        yield tuple((question.id, label) for question, label in zip(waiting, labels, strict=True))


def _results(
    workflow: Workflow, step: StepDef, session: Session
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the possible results of the step's agents, each with the outcomes that are then open."""
    outcomes = reportable_outcomes(workflow, step, session)
    count = len(session.dispatches)
    if not count:
        yield (), outcomes
        return
    ok, fail = str(Outcome.OK), str(Outcome.FAIL)
    needed = agents.join_of(workflow, step, session, {}).needed
    tries = [(ok,) * count, (ok,) * needed + (fail,) * (count - needed), (fail,) * count]
    for results in dict.fromkeys(tries):
        join = agents.join_of(workflow, step, session, ended_children(session, results))
        yield results, agents.open_outcomes(join, outcomes)
