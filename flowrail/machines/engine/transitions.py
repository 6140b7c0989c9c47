"""Where an outcome leads: the step's limit, steps that do not apply, and the question to the user.

This is the only place that knows. The compiled machine has one transition for each that is listed here,
and guidance, checks and diagrams ask the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flowrail.machines.definition.graph import leads_back, outcome_at_limit, possible_edges, skip_outcome
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow

if TYPE_CHECKING:
    from flowrail.machines.sessions.session import Move, Session

_OF_THE_STEP = r"\b(?:visit|limit)\b"
"""Names that have a different value in each step, so that equal conditions may differ in their result."""


TransitionKey = tuple[str, str]
"""A step, and the outcome by which it is left: `stop` if the user ended the session at its limit."""


class Landing(NamedTuple):
    """A step where a transition can end, or `None` for the end of the run, and the steps skipped before it."""

    step: str | None
    passed: tuple[str, ...] = ()


class Transition(NamedTuple):
    """One possible transition of an outcome. The first whose conditions hold is taken.

    ``to`` is `None` if it ends the run. ``at_limit`` is `None` if the limit of the step does not matter;
    otherwise the limit must be reached, or must not be. A transition that ``asks_user`` does not move the
    session.
    """

    to: str | None
    skipped: tuple[str, ...] = ()
    at_limit: bool | None = None
    capped: bool = False
    asks_user: bool = False
    fails: bool = False


def is_limited(workflow: Workflow, step: StepDef, outcome: Outcome) -> bool:
    """Return whether the limit of *step* changes where *outcome* leads once it is reached."""
    if step.bound is None:
        return False
    if outcome_at_limit(outcome) != outcome:
        return True
    return outcome is Outcome.FAIL and leads_back(workflow, step.id, step.way(outcome))


def is_limit_reached(step: StepDef, visits: int, granted: int = 0) -> bool:
    """Return whether *step* was entered as often as its limit and the user's grants allow."""
    return step.bound is not None and visits >= step.bound + granted


def transitions(workflow: Workflow, step: StepDef, outcome: Outcome) -> Iterator[Transition]:
    """Yield every possible transition of *outcome*, in the order in which they are tried.

    At the limit, `iterate` takes the transitions of `ok`, and a `fail` that leads back asks the user.
    """
    limited = is_limited(workflow, step, outcome)
    for landing in landings(workflow, step.way(outcome)):
        fails = outcome is Outcome.FAIL and landing.step is None and not landing.passed
        yield Transition(*landing, at_limit=False if limited else None, fails=fails)
    if limited and outcome is Outcome.FAIL:
        yield Transition(None, at_limit=True, asks_user=True, fails=True)
    elif limited:
        for landing in landings(workflow, step.way(Outcome(outcome_at_limit(outcome)))):
            yield Transition(*landing, at_limit=True, capped=True)


def find_transition(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    outcome: Outcome,
    applies: Callable[[StepDef], bool],
) -> Transition:
    """Return the transition that *outcome* takes from *step*, given which steps apply."""
    for transition in _at_limit_of(workflow, step, session, outcome):
        target = workflow.get(transition.to)
        if target is None or target.when is None or applies(target):
            return transition
    raise ValueError(f"no transition from step {step.id!r} for {outcome.value!r}")


def taken_transition(
    workflow: Workflow, step: StepDef, session: Session, outcome: Outcome, to: str | None
) -> Transition:
    """Return the transition by which *outcome* led from *step* to the step *to*, or to the end."""
    possible = _at_limit_of(workflow, step, session, outcome)
    return next(transition for transition in possible if transition.to == to)


def declared_transitions(workflow: Workflow) -> Iterator[TransitionKey]:
    """Yield every transition of the definition that can be taken; those that skip a step come first."""
    for step in workflow.steps:
        skip = skip_outcome(step) if step.when is not None else None
        if skip is not None:
            yield step.id, str(skip)
    for edge in possible_edges(workflow):
        yield edge.source, str(edge.outcome)


def followed_transitions(workflow: Workflow, move: Move) -> tuple[TransitionKey, ...]:
    """Return the transitions of the definition that *move* took, with those of the steps that it skipped."""
    outcome = outcome_at_limit(move.outcome) if move.capped else move.outcome
    skipped = ((step, str(skip_outcome(workflow.step(step)))) for step in move.skipped)
    return ((move.step, str(outcome)), *skipped)


def effective_outcome(step: StepDef, session: Session, outcome: Outcome) -> Outcome:
    """Return the outcome whose transition is taken: `ok` for an `iterate` at the limit."""
    return Outcome(outcome_at_limit(outcome)) if _has_reached_limit(step, session) else outcome


def asks_user(workflow: Workflow, step: StepDef, session: Session, outcome: Outcome) -> bool:
    """Return whether *outcome* is a `fail` that leads back at the limit, which the user decides."""
    if outcome is not Outcome.FAIL or not _has_reached_limit(step, session):
        return False
    return is_limited(workflow, step, outcome)


def with_extra_round(step: StepDef, session: Session, *, must_only: bool) -> Session:
    """Return *session* with the round that the user allowed at the limit of *step*.

    Other steps may have led here beyond the limit already. The round is added to those.
    """
    before = session.granted(step.id)
    grant = before._replace(
        rounds=max(before.rounds, session.visit - (step.bound or 0)) + 1,
        another=before.another + (not must_only),
        must_only=must_only or before.must_only,
    )
    return session._replace(grants=Frozen({**session.grants, step.id: grant}))


def landings(workflow: Workflow, target: str | None) -> Iterator[Landing]:
    """Yield every step where a transition to *target* can end, in the order in which they are tried.

    The last one always applies. It is missing if the chain of steps that may not apply is a circle, or ends
    in a step without a transition to skip it. A step with the same condition as an earlier one of the chain
    is left out: if it applied, the run would have stopped at the earlier one.
    """
    passed: list[str] = []
    failed: set[str] = set()
    while True:
        step = workflow.get(target)
        when = step.when if step is not None else None
        if not isinstance(when, str) or when not in failed:
            yield Landing(target, tuple(passed))
        if step is None or when is None:
            return
        over = skip_outcome(step)
        if over is None or step.id in passed:
            return
        if isinstance(when, str) and not re.search(_OF_THE_STEP, when):
            failed.add(when)
        passed.append(step.id)
        target = step.way(over)


def _has_reached_limit(step: StepDef, session: Session) -> bool:
    return is_limit_reached(step, session.visit, session.granted(step.id).rounds)


def _at_limit_of(
    workflow: Workflow, step: StepDef, session: Session, outcome: Outcome
) -> Iterator[Transition]:
    at_limit = _has_reached_limit(step, session)
    for transition in transitions(workflow, step, outcome):
        if transition.at_limit in {None, at_limit}:
            yield transition
