"""Which step comes next: the transitions of each outcome, with limits, skipped steps and the user's choice.

No other module decides which transition is taken. `statechart` compiles one transition for each that `transitions` returns;
guidance, checks, walks and diagrams call the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from flowrail.machines.graph import Edge, decided_outcomes, leads_back
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import GOVERNED, OK_AT_LIMIT, Outcome

if TYPE_CHECKING:
    from flowrail.machines.session import Move, Session  # checks need no session

_OF_THE_STEP = r"\b(?:visit|limit)\b"
"""Names that have a different value in each step, so that equal conditions may differ in their result."""


TransitionKey = tuple[str, str]
"""A step, and the outcome by which it is left: `stop` if the user ended the session at its limit."""


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


def path_of(step: StepDef, transition: Transition) -> tuple[str, ...]:
    """Return the steps of a transition: its first, those that it skips, and its last."""
    return (step.id, *transition.skipped, str(transition.to))


def is_limited(workflow: Workflow, step: StepDef, outcome: Outcome) -> bool:
    """Return whether the limit of *step* changes where *outcome* leads once it is reached."""
    if step.bound is None:
        return False
    return outcome in GOVERNED and leads_back(workflow, step.id, step.transitions.get(outcome))


def is_limit_reached(step: StepDef, visits: int, granted: int) -> bool:
    """Return whether *step* was entered as often as its limit and the user's grants allow."""
    return step.bound is not None and visits >= step.bound + granted


def outcome_at_limit(step: StepDef, outcome: str) -> str:
    """Return the outcome whose transitions are taken once the limit is reached: `ok` for `iterate`.

    The answer of a person is never changed: if questions decide, the limit raises a question instead.
    """
    return Outcome.OK if outcome in OK_AT_LIMIT and not step.questions else outcome


def transitions(workflow: Workflow, step: StepDef, outcome: Outcome) -> tuple[Transition, ...]:
    """Return every possible transition of *outcome*, in the order in which they are tried.

    At the limit, an `iterate` that leads back takes the transitions of `ok`, and a `fail` that leads back asks the user. So
    does an `iterate` that a person's answer decided: an answer is never changed.
    """
    limited = is_limited(workflow, step, outcome)
    fails = outcome is Outcome.FAIL
    possible = [
        Transition(to, skipped, False if limited else None, fails=fails and to is None and not skipped)
        for to, skipped in landings(workflow, step.next_step(outcome))
    ]
    at_limit = outcome_at_limit(step, outcome)
    if limited and at_limit == outcome:
        possible.append(Transition(None, at_limit=True, asks_user=True, fails=True))
    elif limited:
        possible += [
            Transition(to, skipped, at_limit=True, capped=True)
            for to, skipped in landings(workflow, step.next_step(Outcome(at_limit)))
        ]
    return tuple(possible)


def open_transitions(
    workflow: Workflow, step: StepDef, session: Session, outcome: Outcome
) -> tuple[Transition, ...]:
    """Return the possible transitions of *outcome* that the limit of *step* leaves in *session*."""
    at_limit = is_limit_reached(step, session.visit, session.granted(step.id).rounds)
    possible = transitions(workflow, step, outcome)
    return tuple(transition for transition in possible if transition.at_limit in {None, at_limit})


def find_transition(
    workflow: Workflow,
    step: StepDef,
    session: Session,
    outcome: Outcome,
    does_apply: Callable[[StepDef, Sequence[str]], bool],
) -> Transition:
    """Return the transition that *outcome* takes from *step*, given which steps apply if they are entered on a path."""
    for transition in open_transitions(workflow, step, session, outcome):
        target = workflow.get(transition.to)
        if target is None or target.when is None or does_apply(target, path_of(step, transition)):
            return transition
    raise ValueError(f"no transition from step {step.id!r} for {outcome.value!r}")


def effective_outcome(workflow: Workflow, step: StepDef, session: Session, outcome: Outcome) -> Outcome:
    """Return the outcome whose transition is taken: `ok` for an `iterate` that leads back at the limit."""
    is_capped = any(transition.capped for transition in open_transitions(workflow, step, session, outcome))
    return Outcome.OK if is_capped else outcome


def chosen_outcomes(step: StepDef) -> set[str]:
    """Return the outcomes whose transitions a step can take, at its limit included."""
    decided = decided_outcomes(step)
    return decided | ({outcome_at_limit(step, outcome) for outcome in decided} if step.limit else set())


def possible_edges(workflow: Workflow) -> Iterator[Edge]:
    """Yield the transitions that can be taken: without those that a step's own rules never choose."""
    for step in workflow.steps:
        chosen = chosen_outcomes(step)
        for outcome, target in step.transitions.items():
            if outcome in chosen:
                yield Edge(step.id, outcome, target)


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
    outcome = outcome_at_limit(workflow.step(move.step), move.outcome) if move.capped else move.outcome
    skipped = ((step, str(skip_outcome(workflow.step(step)))) for step in move.skipped)
    return ((move.step, str(outcome)), *skipped)


def landings(workflow: Workflow, target: str | None) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    """Yield every step where a transition to *target* can end, and the steps skipped before it, in the order of trying.

    `None` is the end of the run.

    The last step always applies. It is missing if the steps that may not apply form a circle, or if one of them cannot
    be skipped. A step with the same condition as an earlier one of the chain
    is left out: if it applied, the run would have stopped at the earlier one.
    """
    passed: list[str] = []
    failed: set[str] = set()
    while True:
        step = workflow.get(target)
        when = step.when if step is not None else None
        if not isinstance(when, str) or when not in failed:
            yield target, tuple(passed)
        if step is None or when is None:
            return
        over = skip_outcome(step)
        if over is None or step.id in passed:
            return
        if isinstance(when, str) and not re.search(_OF_THE_STEP, when):
            failed.add(when)
        passed.append(step.id)
        target = step.next_step(over)


def skip_outcome(step: StepDef) -> Outcome | None:
    """Return the outcome whose transition is taken if *step* does not apply, or `None` if it has none."""
    if Outcome.SKIP in step.next:
        return Outcome.SKIP
    return Outcome.OK if Outcome.OK in step.transitions else None


def skippable(workflow: Workflow, step_id: str | None, known: dict[str, int | None]) -> int | None:
    """Return how many steps from *step_id* on may be skipped one after the other; `None` if no step follows them.

    *known* holds earlier answers, so that a chain is followed once, even if this is called for each of its steps.
    """
    chain: list[str] = []
    step = workflow.get(step_id)
    while step is not None and step.when is not None and step.id not in known:
        known[step.id] = None  # the answer if the chain leads back to this step
        chain.append(step.id)
        outcome = skip_outcome(step)
        if outcome is None:
            break
        step = workflow.get(step.next_step(outcome))
    count = 0 if step is None or step.when is None else known[step.id]
    for skipped in reversed(chain):
        count = known[skipped] = None if count is None else count + 1
    return count
