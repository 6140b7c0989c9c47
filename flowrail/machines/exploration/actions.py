"""Actions at a session's step: dispatches finished, findings recorded, questions answered, a report.

An act is plain data, so that acts can be planned or recorded, performed in memory, and run with commands. Which
values are tried follows from the comparisons in the workflow's expressions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from flowrail.errors import UsageError
from flowrail.machines.definition.expressions import EVIDENCE, RuleError, parse
from flowrail.machines.definition.graph import reviews
from flowrail.machines.definition.parts import Frozen, freeze_deep
from flowrail.machines.definition.step import Outcome, StepDef, accepts_any_fact, fact_args
from flowrail.machines.definition.step_parts import Severity
from flowrail.machines.definition.values import Arg, kind_of, least_of
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import dispatched_work, questions
from flowrail.machines.engine import reviews as engine_reviews
from flowrail.machines.engine.advance import advance, assumed_evidence, current_step, reportable_outcomes
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.exploration.reads import reads_of
from flowrail.machines.sessions.session import CANCELLED, FINISHED, Dispatched, Report, Session

MOST_VALUES = 12
"""A value with more than so many is tried at its bounds and around what it is compared with."""
MOST_COMBINED = 48
"""Beyond so many combinations each value is tried once instead."""
OTHER = "other:something else"
FOUND = "a finding of a test"
REASON = "a test wants to see what follows"
"""What is recorded beside every answer: a limit takes some answers only with a reason."""

Literals = Mapping[str, frozenset[object]]


class Act(NamedTuple):
    """Everything that is done at one step, and the report.

    ``findings`` are pairs of severity and text, ``resolved`` the ids of resolved findings. ``agents`` has a result for
    each dispatch: an outcome, `cancelled`, or nothing if it has not finished. ``answers`` are pairs of a question's id
    and its labels. ``lacks_evidence`` says that the checks of the step have not passed.
    """

    report: str
    facts: Mapping[str, Any] = Frozen()
    agents: tuple[str, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    resolved: tuple[str, ...] = ()
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lacks_evidence: bool = False


class ChangedStepError(UsageError):
    """An act has results or answers for dispatches or questions that the step does not have."""

    code = "CHANGED_STEP"


def acts(workflow: Workflow, session: Session) -> Iterator[Act]:
    """Yield the possible acts in *session*: all of them, or a representative selection."""
    step = current_step(workflow, session)
    limit = session.limit_question
    answers = list(_answers(session))
    if limit is not None:
        yield from (Act("done", answers=given) for given in answers)
        return
    found = [(), ((Severity.MUST.value, FOUND),)] if step.id in reviews(workflow) else [()]
    facts = list(_facts(workflow, session, step))
    lacks = [False, True] if step.evidence and _reads_evidence(step) else [False]
    for agents, outcomes in _results(workflow, step, session):
        for outcome, given, values, findings, lacking in product(outcomes, answers, facts, found, lacks):
            yield Act(outcome, values, agents, findings, answers=given, lacks_evidence=lacking)


def _reads_evidence(step: StepDef) -> bool:
    """Return whether the step decides by its evidence, as a handler may."""
    names = (name for rule in step.rules if rule.when for name in parse(rule.when).names)
    return callable(step.handler) or any(name.startswith(EVIDENCE) for name in names)


def starts(workflow: Workflow) -> Iterator[Frozen[str, object]]:
    """Yield the parameters to start with, the smallest sets first."""
    seen = read_in(workflow)
    tried = {
        name: sorted(_tried(arg, seen, name), key=lambda value: value is not _LEFT_OUT)
        for name, arg in workflow.params.items()
    }
    for values in _combined(tried):
        yield Frozen({name: value for name, value in values.items() if value is not _LEFT_OUT})


def perform(workflow: Workflow, session: Session, act: Act, *, call: Call = call_plainly) -> Session:
    """Perform *act* in memory and return the next session."""
    for severity, text in act.findings:
        session, _ = engine_reviews.record(workflow, session, severity=severity, text=text)
    for finding in act.resolved:
        session, _ = engine_reviews.resolve(workflow, session, finding)
    if act.agents:
        session = with_results(session, act.agents)
    if act.answers:
        session = with_answers(session, dict(act.answers))
    evidence = None
    if act.lacks_evidence:
        evidence = assumed_evidence(current_step(workflow, session), passed=False)
    return advance(workflow, session, Report(act.report, act.facts), call=call, evidence=evidence)


def with_results(session: Session, results: Sequence[str]) -> Session:
    """Return *session* with a result for each dispatch; see `Act`."""
    if len(session.dispatches) != len(results):
        raise ChangedStepError(
            f"the step has {len(session.dispatches)} dispatches, and {len(results)} results were given",
            hint="give one result for each dispatch",
        )
    pairs = zip(session.dispatches, results, strict=True)
    return session._replace(dispatches=tuple(_finished(dispatch, result) for dispatch, result in pairs))


def with_answers(session: Session, answers: Mapping[str, Sequence[str]]) -> Session:
    """Return *session* with answers to its open questions: labels by the id of the question."""
    unknown = answers.keys() - {question.id for question in session.questions}
    if unknown:
        raise ChangedStepError(
            f"the step does not ask `{min(unknown)}`", hint="answer only questions of the step"
        )
    answered = [
        questions.answer_question(question, answers[question.id], at="", by="", reason=REASON)
        if question.id in answers and question.is_open
        else question
        for question in session.questions
    ]
    return questions.with_questions(session, answered)


def _finished(dispatch: Dispatched, result: str) -> Dispatched:
    if not result:
        return dispatch
    if result == CANCELLED:
        return dispatch._replace(status=CANCELLED)
    return dispatch._replace(status=FINISHED, outcome=result)


def values_to_try(workflow: Workflow, name: str, arg: Arg) -> list[object]:
    """Return the values of *name* that may make a difference; `None` means that no value is given."""
    return [None if value is _LEFT_OUT else value for value in _tried(arg, read_in(workflow), name)]


def read_in(workflow: Workflow) -> Literals:
    """Return every name that affects a decision, with the literals that it is compared with."""
    reads = reads_of(workflow)
    cached: tuple[int, Literals] | None = workflow.derived.get("literals")
    if cached is None or cached[0] != reads.size:
        found: dict[str, set[object]] = {name: set() for name in _asked_for(workflow)}
        for source in _expressions(workflow):
            try:
                expression = parse(source)
            except RuleError:
                continue
            for name in expression.names:
                found.setdefault(name, set())
            for names, literals in _compared(expression.tree):
                for name in names:
                    found[name].update(literals)
        for name, values in reads.literals.items():
            found.setdefault(name, set()).update(values)
        cached = reads.size, {name: frozenset(literals) for name, literals in found.items()}
        workflow.derived["literals"] = cached
    return cached[1]


def _asked_for(workflow: Workflow) -> Iterator[str]:
    """Yield names that affect decisions without an expression: lists of dispatches, arguments of handlers."""
    for step in workflow.steps:
        if step.work is not None and isinstance(step.work.over, str):
            yield step.work.over
        if callable(step.handler):
            yield from fact_args(step)


def _expressions(workflow: Workflow) -> Iterator[str]:
    for step in workflow.steps:
        conditions = [step.when, *(rule.when for rule in step.rules), *(each.when for each in step.variants)]
        yield from (each for each in conditions if isinstance(each, str))


def _compared(node: object) -> Iterator[tuple[Collection[str], Collection[object]]]:
    """Yield the names and literals that are compared with each other."""
    if not isinstance(node, tuple) or node[0] in {"value", "name"}:
        return
    if node[0] in {"and", "or", "not"}:
        for child in node[1:]:
            yield from _compared(child)
        return
    leaves = list(_leaves(node))
    names, values = (
        dict.fromkeys(each for kind, each in leaves if kind == what) for what in ("name", "value")
    )
    yield names, values


def _leaves(node: Any) -> Iterator[tuple[str, Any]]:
    if node[0] in {"value", "name"}:
        yield node
        return
    for child in node[1:]:
        yield from _leaves(child)


class _LeftOut:
    """The mark of a value that is not given."""


_LEFT_OUT = _LeftOut()


def _facts(workflow: Workflow, session: Session, step: StepDef) -> Iterator[Frozen[str, object]]:
    seen = read_in(workflow)
    tried = {name: _tried(arg, seen, name) for name, arg in fact_args(step, session.params).items()}
    if accepts_any_fact(step):
        tried |= _undeclared(workflow, session, step)
    for values in _combined(tried):
        yield Frozen({name: value for name, value in values.items() if value is not _LEFT_OUT})


def _undeclared(workflow: Workflow, session: Session, step: StepDef) -> dict[str, list[object]]:
    """Return the texts to try for each undeclared fact that the handler of *step* reads."""
    facts = reads_of(workflow).facts.get(step.id, {})
    return {
        name: [*([] if fact.required else [_LEFT_OUT]), *(fact.texts or ("x",))]
        for name, fact in facts.items()
        if name not in session.params or name in workflow.reported
    }


def _tried(arg: Arg, seen: Literals, name: str) -> list[object]:
    """Return the values to try, the simplest first; only one if nothing depends on it."""
    plain = freeze_deep(arg.sample())
    if name not in seen:
        return [plain if arg.required else _LEFT_OUT]
    values = [plain, *_others(arg, seen[name])]
    fitting = [value for value in dict.fromkeys(values) if arg.problem(value) is None]
    return fitting if arg.required else [*fitting, _LEFT_OUT]


def _others(arg: Arg, literals: Iterable[Any]) -> Iterator[object]:
    domain = arg.domain
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


def _combined(tried: Mapping[str, list[object]]) -> Iterator[dict[str, object]]:
    """Yield combinations, the first values first; all of them only if there are few."""
    count = 1
    for values in tried.values():
        count *= len(values)
    if count <= MOST_COMBINED:
        yield from (dict(zip(tried, values, strict=True)) for values in product(*tried.values()))
        return
    first = {name: values[0] for name, values in tried.items()}
    yield first
    for name, values in tried.items():
        yield from ({**first, name: value} for value in values[1:])


def _answers(session: Session) -> Iterator[tuple[tuple[str, tuple[str, ...]], ...]]:
    waiting = [question for question in session.questions if question.is_open]
    choices = [
        [*(option.label for option in question.options), *([OTHER] if question.other else [])]
        for question in waiting
    ]
    for labels in product(*choices):
        yield tuple((question.id, (label,)) for question, label in zip(waiting, labels, strict=True))


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
    needed = dispatched_work.join_of(step, session.dispatches).needed
    tries = [(ok,) * count, (ok,) * needed + (fail,) * (count - needed), (fail,) * count]
    for results in dict.fromkeys(tries):
        join = dispatched_work.join_of(step, with_results(session, results).dispatches)
        yield results, dispatched_work.open_outcomes(join, outcomes)
