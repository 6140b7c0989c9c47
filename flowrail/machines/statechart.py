"""The transitions of each outcome, with limits, skipped steps and the user's choice, and the statechart compiled from them.

No other module decides which transition is taken. The compiled machine has one transition for each that
`transitions` returns, and guidance, checks and diagrams call the functions below.

In the statechart class of python-statemachine every outcome is an event and every step a state. Names are prefixed, so
that a step may be called `send`, `class` or `model`: step `survey` is the state ``step_survey`` with the value
``survey``, outcome `ok` the event ``report_ok``. Ends are the states ``end_completed`` and ``end_failed``. Only two
kinds of transitions have guards: those to a step that may not apply (`when`), and those of a step with a limit. They are
tried in a fixed order, and the last one has no condition. The class is public and can be used alone, with its own
`MachineState`::

    machine = compile_workflow(workflow)()
    machine.send("report_ok")
    machine.current_state_value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from flowrail.machines.graph import leads_back, outcome_at_limit, possible_edges, skip_outcome
from flowrail.machines.limits import GOVERNED, counted_again
from flowrail.machines.outcome_decision import applies, in_context
from flowrail.machines.reported_values import default_params
from flowrail.machines.session import Move, Session
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import REPORTABLE, Outcome
from flowrail.session_status import COMPLETED, FAILED

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


def is_limited(workflow: Workflow, step: StepDef, outcome: Outcome) -> bool:
    """Return whether the limit of *step* changes where *outcome* leads once it is reached."""
    if step.bound is None:
        return False
    return outcome in GOVERNED and leads_back(workflow, step.id, step.transitions.get(outcome))


def is_limit_reached(step: StepDef, visits: int, granted: int = 0) -> bool:
    """Return whether *step* was entered as often as its limit and the user's grants allow."""
    return step.bound is not None and visits >= step.bound + granted


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
        if target is None or target.when is None or does_apply(target, _path(step, transition)):
            return transition
    raise ValueError(f"no transition from step {step.id!r} for {outcome.value!r}")


def effective_outcome(workflow: Workflow, step: StepDef, session: Session, outcome: Outcome) -> Outcome:
    """Return the outcome whose transition is taken: `ok` for an `iterate` that leads back at the limit."""
    is_capped = any(transition.capped for transition in open_transitions(workflow, step, session, outcome))
    return Outcome.OK if is_capped else outcome


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


END_COMPLETED, END_FAILED = f":{COMPLETED}", f":{FAILED}"
"""Values of the two ends; no step id can have a colon."""

EVENTS = {outcome: f"report_{outcome.value}" for outcome in REPORTABLE}
"""The event of each outcome."""

STOP = "report_stop"
"""The event by which the user ends a run at a limit, as failed."""

Guard = Callable[..., bool]
Action = Callable[..., None]


class MachineState:
    """The model of a compiled machine: the state of a session, which guards read.

    The engine writes ``step`` once whenever it enters a step, which counts the attempt. A callback for entering
    would do the same, but costs a tenth of the time of an event.
    """

    workflow: Workflow
    """Set by the machine."""

    def __init__(self, params: Mapping[str, object] | None = None) -> None:
        self._step: str | None = None
        self.params: Mapping[str, object] = params or {}
        self.facts: Mapping[str, object] = {}
        self.visits: dict[str, int] = {}
        self.granted: Mapping[str, int] = {}

    @property
    def step(self) -> str | None:
        """The current step, or one of the two ends."""
        return self._step

    @step.setter
    def step(self, step: str | None) -> None:
        self._step = step
        if step is not None:
            self.visits[step] = self.visits.get(step, 0) + 1

    def context(self, step: StepDef, path: Sequence[str] = ()) -> StepContext:
        """Return the values that a condition of *step* can use if it is entered on *path*."""
        visit = 0 if step.id in counted_again(self.workflow, path) else self.visits.get(step.id, 0)
        return in_context(self.workflow, step, self.params, self.facts, visit)

    def count_again(self, path: Sequence[str]) -> None:
        """Forget the attempts of the steps whose loop is entered on *path*, and the rounds that the user allowed."""
        again = counted_again(self.workflow, path)
        self.visits = {name: count for name, count in self.visits.items() if name not in again}
        self.granted = {name: rounds for name, rounds in self.granted.items() if name not in again}


class WorkflowMachine(StateChart[MachineState]):
    """The base class of compiled workflows: one state at a time, and no event without a transition."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True
    validate_final_reachability = False  # the engine's own check is quadratic; ours is linear
    workflow: ClassVar[Workflow]

    def __init__(self, model: MachineState | None = None, **options: Any) -> None:
        if model is None:
            model = MachineState(default_params(self.workflow))
        model.workflow = self.workflow
        super().__init__(model, state_field="step", **options)

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the engine's own refuses names that are values of states


@lru_cache(maxsize=64)
def compile_workflow(workflow: Workflow) -> type[WorkflowMachine]:
    """Return the statechart class of *workflow*; the same class every time in one process.

    A workflow that was built without checks is checked here first.
    """
    if not workflow.is_checked:
        workflow.check()
    return _build(workflow)


def is_accepted(machine: WorkflowMachine, event: str) -> bool:
    """Send *event* to *machine* and return whether it took a transition; a refused event changes nothing."""
    try:
        machine.send(event)
    except TransitionNotAllowed:
        return False
    return True


def accepted_outcomes(workflow: Workflow, step: StepDef) -> list[Outcome]:
    """Return the outcomes for which the compiled class has a transition from *step*, in the order of the step."""
    state = compile_workflow(workflow).states_map[step.id]
    events = {str(event) for transition in state.transitions for event in transition.events}
    return [outcome for outcome in map(Outcome, step.transitions) if EVENTS[outcome] in events]


def event_name(outcome: Outcome | str) -> str:
    """Return the name of an outcome's event."""
    return EVENTS[Outcome(outcome)]


def position(machine: StateChart[Any]) -> str | None:
    """Return the current step of *machine*, or `None` at the end."""
    value = machine.current_state_value
    return None if value in {END_COMPLETED, END_FAILED} else str(value)


def _build(workflow: Workflow) -> type[WorkflowMachine]:
    states = {
        step.id: State(step.name, value=step.id, initial=step.id == workflow.entry) for step in workflow.steps
    }
    ends = {value: State(value[1:], value=value, final=True) for value in (END_COMPLETED, END_FAILED)}
    events: dict[str, TransitionList] = {}
    used: set[str] = set()
    for step in workflow.steps:
        for event, target, guard, action in _compiled_transitions(workflow, step):
            used.add(target)
            to = ends[target] if target in ends else states[target]
            compiled = states[step.id].to(to, cond=guard, on=action)
            events.setdefault(event, TransitionList()).add_transitions(compiled)
    description = workflow.description.encode("utf-8", "replace").decode()  # Python refuses a lone surrogate
    body: dict[str, object] = {"__module__": __name__, "__doc__": description, "workflow": workflow}
    body.update({f"step_{step_id}": state for step_id, state in states.items()})
    body.update({f"end_{value[1:]}": state for value, state in ends.items() if value in used})
    body.update(events)
    name = "".join(part.title() for part in workflow.name.replace("/", "-").split("-"))
    machine: type[WorkflowMachine] = StateMachineMetaclass(name, (WorkflowMachine,), body)  # type: ignore[assignment]
    return machine


def _compiled_transitions(
    workflow: Workflow, step: StepDef
) -> Iterator[tuple[str, str, Guard | None, Action | None]]:
    """Yield the transitions of *step* as (event, target value, guard, action), in the order of trying."""
    for outcome in step.transitions:
        for transition in transitions(workflow, step, outcome):
            event = STOP if transition.asks_user else EVENTS[outcome]
            target = transition.to or (END_FAILED if transition.fails else END_COMPLETED)
            guard = _guard(workflow, step, transition)
            yield event, target, guard, None if transition.to is None else _action(step, transition)


def _path(step: StepDef, transition: Transition) -> tuple[str, ...]:
    return (step.id, *transition.skipped, str(transition.to))


def _action(step: StepDef, transition: Transition) -> Action:
    """Return what a transition does: it counts again what it enters from outside."""

    def count_again(model: MachineState) -> None:
        model.count_again(_path(step, transition))

    return count_again


def _guard(workflow: Workflow, step: StepDef, transition: Transition) -> Guard | None:
    """Return the guard of one transition: the limit allows it, and its target applies.

    The steps tried before it did not apply, so their conditions are not evaluated again.
    """
    target = workflow.get(transition.to)
    conditional = target if target is not None and target.when is not None else None
    if transition.at_limit is None and conditional is None:
        return None

    def allowed(model: MachineState) -> bool:
        if transition.at_limit is not None:
            visits, granted = model.visits.get(step.id, 0), model.granted.get(step.id, 0)
            if is_limit_reached(step, visits, granted) != transition.at_limit:
                return False
        return conditional is None or applies(
            conditional, model.context(conditional, _path(step, transition))
        )

    return allowed
