"""The outcomes that can be reported: a command for each, the facts to append, and where it leads if that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from flowrail.command import Command, value_text
from flowrail.machines import asked_questions
from flowrail.machines.agents import Join
from flowrail.machines.expressions import RuleError, parse
from flowrail.machines.frozen import Frozen
from flowrail.machines.gate_verdict import decide_gate
from flowrail.machines.graph import decided_outcomes
from flowrail.machines.limits import counted_again
from flowrail.machines.next_step import effective_outcome, find_transition
from flowrail.machines.outcome_decision import HandlerError, applies, names_at, session_context
from flowrail.machines.reported_values import ReviewPendingError
from flowrail.machines.session import AskedQuestion, Session
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.transition import reportable_outcomes
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import DONE, Outcome
from flowrail.text.phrases import count, listed
from flowrail.text.safe_text import is_shown

MOST_CHOICES, MOST_CASES = 3, 12
"""A required fact with at most this many choices gives a command for each; all facts together at most 12 commands."""


class OfferedTransition(NamedTuple):
    """An outcome that can be reported, and where that leads."""

    to: str | None = None
    """The next step. Without `ends`, `None` means that the report decides it, or at the limit (`capped`) the user."""
    ends: bool = False
    capped: bool = False
    """Whether the limit is reached and changes where it leads."""
    outcome: str = ""
    facts: Mapping[str, Any] = Frozen()
    """The facts that the command reports."""
    wants: Mapping[str, Arg] = Frozen()
    """The facts to append to it: `-s NAME=VALUE`, or in a file given by `--facts`."""
    waits_for: tuple[str, ...] = ()
    """What must happen before it can be reported."""
    command: Command | None = None
    """Reports this outcome; `None` in a preview."""

    @property
    def is_known(self) -> bool:
        """Whether it is known where the report leads, or that the user decides."""
        return self.to is not None or self.ends or self.capped


def offers(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    join: Join | None,
    asked: Iterable[AskedQuestion],
    store: str | None,
) -> Iterator[OfferedTransition]:
    """Yield the outcomes that can be reported. A join that can no longer be met does not allow `ok`.

    *asked* are the questions that wait for the user.
    """
    at_limit = session.limit_question is not None
    declared = {} if at_limit else fact_args(step, session.params)
    named = _in_commands(declared)
    appended = {name: arg for name, arg in declared.items() if name not in named}
    wants = {name: _with_example(arg) for name, arg in appended.items() if arg.source is None}
    answers = [question.id for question in asked]
    for outcome in reportable_outcomes(workflow, step, session):
        for values in product(*(arg.choices or () for arg in named.values())):
            facts = dict(zip(named, values, strict=True))
            report = _Report(workflow, step, session, facts, frozenset(appended))
            decided = None if at_limit else report.outcome(outcome)
            is_ok = decided and effective_outcome(workflow, step, session, decided) is Outcome.OK
            if is_ok and join is not None and join.hopeless:
                continue
            waits_for = [f"the user's answer to {listed(answers)}"] if answers else []
            if join is not None and join.open and not (join.met or at_limit):
                waits_for.append(_agents_to_wait_for(join, decided))
            yield report.transition(decided)._replace(
                outcome=outcome,
                facts=facts,
                wants=wants,
                waits_for=tuple(waits_for),
                command=step_command(session, outcome, facts, store),
            )


def step_command(session: Session, outcome: str, facts: Mapping[str, object], store: str | None) -> Command:
    """Return the command that reports *outcome* of the current step and nothing else."""
    expect = session.revision
    return Command(
        "step", session.skill, outcome, facts=facts, session=session.id, expect=expect, store=store
    )


def _in_commands(declared: Mapping[str, Arg]) -> dict[str, Arg]:
    """Return the facts that have a command for each choice."""
    named: dict[str, Arg] = {}
    cases = 1
    for name, arg in declared.items():
        choices = len(arg.choices or ())
        is_small = arg.required and choices <= MOST_CHOICES and cases * choices <= MOST_CASES
        if is_small and arg.source is None and arg.kind != "list" and _fits_command(arg):
            named[name] = arg
            cases *= choices
    return named


def _fits_command(arg: Arg) -> bool:
    """Return whether a fact has choices that fit into a command."""
    try:
        texts = {choice: value_text(choice) for choice in arg.choices or ()}
        return bool(texts) and all(
            is_shown(text) and arg.read(text) == choice for choice, text in texts.items()
        )
    except (TypeError, ValueError):
        return False


def _with_example(arg: Arg) -> Arg:
    """Return a fact with an example. Only the author knows what the items of a list look like."""
    is_open_list = arg.kind == "list" and not (arg.choices or arg.has_default)
    if arg.example is None and not is_open_list:
        arg = replace(arg, example=arg.sample())  # type: ignore[arg-type]
    return arg.as_written()


def _agents_to_wait_for(join: Join, decided: Outcome | None) -> str:
    """Return what the agents must do before the outcome *decided* can be reported; `None` if the report decides it.

    An outcome other than `ok` can also be reported once so many agents have failed that the step cannot succeed.
    """
    missing, can_fail = join.needed - join.succeeded, decided is not None and decided is not Outcome.OK
    if join.hopeless or (can_fail and missing == len(join.open)):
        return "all agents to end"
    return f"{count(missing, 'more agent')} to succeed{', or all agents to end' if can_fail else ''}"


class _UndecidedError(Exception):
    """The target of a transition depends on something that is not reported yet."""


class _Report(NamedTuple):
    """A report with some facts; the `unknown` ones are still to be appended, or measured by a command of the step."""

    workflow: Workflow
    step: StepDef
    session: Session
    facts: Mapping[str, object]
    unknown: frozenset[str]

    def outcome(self, reported: str) -> Outcome | None:
        """Return the outcome of the report, or `None` if it is still open."""
        step = self.step
        if reported != DONE:
            return Outcome(reported)
        if step.gate is not None:
            try:
                return decide_gate(step, self.session)
            except ReviewPendingError:
                return None
        if step.questions:
            if self.session.open_questions:
                return None
            return Outcome(asked_questions.decided_by_answers(self.session.questions))
        decided = decided_outcomes(step, self._holds)
        return Outcome(*decided) if len(decided) == 1 else None

    def transition(self, outcome: Outcome | None) -> OfferedTransition:
        """Return where *outcome* leads, without how to report it. A limit that asks the user leads nowhere yet."""
        if outcome is None:
            return OfferedTransition()
        try:
            transition = find_transition(self.workflow, self.step, self.session, outcome, self._applies)
        except (_UndecidedError, HandlerError):  # the engine decides when the outcome is reported
            return OfferedTransition()
        if transition.asks_user:
            return OfferedTransition(capped=True)
        return OfferedTransition(transition.to, transition.to is None, transition.capped)

    def _applies(self, target: StepDef, path: Sequence[str]) -> bool:
        condition = target.when
        if self.unknown and (callable(condition) or parse(str(condition)).names & self.unknown):
            raise _UndecidedError
        visit = 0 if target.id in counted_again(self.workflow, path) else None
        return applies(target, session_context(self.workflow, self.session, target, self.facts, visit=visit))

    def _holds(self, condition: str) -> bool | None:
        """Return whether a rule holds; `None` if that depends on a fact that is still to be reported."""
        expression = parse(condition)
        if expression.names & self.unknown:
            return None
        try:
            return expression.holds(names_at(self.workflow, self.session, self.step, self.facts))
        except RuleError:
            return None
