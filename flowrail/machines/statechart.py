"""The statechart that a workflow is compiled to, with one transition for each of the table of transitions.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from flowrail.machines.limits import counted_again
from flowrail.machines.next_step import Transition, is_limit_reached, path_of, transitions
from flowrail.machines.outcome_decision import applies, in_context
from flowrail.machines.reported_values import default_params
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import REPORTABLE, Outcome
from flowrail.session_status import COMPLETED, FAILED

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


def _action(step: StepDef, transition: Transition) -> Action:
    """Return what a transition does: it counts again what it enters from outside."""

    def count_again(model: MachineState) -> None:
        model.count_again(path_of(step, transition))

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
            conditional, model.context(conditional, path_of(step, transition))
        )

    return allowed
