"""Compile a workflow to a statechart class of python-statemachine.

Every outcome is an event and every step a state. Names are prefixed, so that a step may be
called `send`, `class` or `model`: step `survey` is the state ``step_survey`` with the value
``survey``, outcome `ok` the event ``report_ok``. Ends are the states ``end_completed`` and
``end_failed``. Guards stand on two kinds of edges only, and are tried in a fixed order, the last
one open to everything: where a step's target may not apply (`when`), and where a step has a limit.

The class is public. Used by itself it keeps its own `MachineState`::

    machine = compile_workflow(workflow)()
    machine.send("report_ok")
    machine.current_state_value
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from flowrail.machines.definition.step import REPORTABLE, Outcome, StepContext, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import applies, in_context
from flowrail.machines.engine.reports import default_params
from flowrail.machines.engine.transitions import Transition, is_limit_reached, transitions

COMPLETED = ":completed"
FAILED = ":failed"
"""Values of the two ends; no step id can have a colon."""

EVENTS = {outcome: f"report_{outcome.value}" for outcome in REPORTABLE}
"""The event of each outcome."""

STOP = "report_stop"
"""The event by which the user ends a run at a limit, as failed."""

Guard = Callable[..., bool]


class MachineState:
    """The model of a compiled machine: the state of a session, which guards read."""

    workflow: Workflow
    """Set by the machine."""

    def __init__(self, params: Mapping[str, object] | None = None) -> None:
        self.step: str | None = None
        self.params: Mapping[str, object] = params or {}
        self.facts: Mapping[str, object] = {}
        self.visits: dict[str, int] = {}
        self.granted: Mapping[str, int] = {}

    def context(self, step: StepDef) -> StepContext:
        """Return the values that a condition of *step* can use."""
        return in_context(self.workflow, step, self.params, self.facts, self.visits.get(step.id, 0))


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

    def on_enter_state(self, target: State) -> None:
        """Count the attempt."""
        visits = self.model.visits
        visits[target.value] = visits.get(target.value, 0) + 1


def compile_workflow(workflow: Workflow) -> type[WorkflowMachine]:
    """Return the statechart class of *workflow*; the same class every time in one process.

    A workflow that was built without checks is checked here first.
    """
    machine: type[WorkflowMachine] | None = workflow.derived.get("machine")
    if machine is None:
        if not workflow.derived.get("checked"):
            workflow.check()
        machine = workflow.derived["machine"] = _build(workflow)
    return machine


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
    return [outcome for outcome in map(Outcome, step.ways) if EVENTS[outcome] in events]


def state_name(step_id: str) -> str:
    """Return the name of a step's state."""
    return f"step_{step_id}"


def event_name(outcome: Outcome | str) -> str:
    """Return the name of an outcome's event."""
    return EVENTS[Outcome(outcome)]


def position(machine: StateChart[Any]) -> str | None:
    """Return the current step of *machine*, or `None` at the end."""
    value = machine.current_state_value
    return None if value in {COMPLETED, FAILED} else str(value)


def _build(workflow: Workflow) -> type[WorkflowMachine]:
    states = {
        step.id: State(step.name, value=step.id, initial=step.id == workflow.entry_point)
        for step in workflow.steps
    }
    ends = {
        COMPLETED: State("completed", value=COMPLETED, final=True),
        FAILED: State("failed", value=FAILED, final=True),
    }
    events: dict[str, TransitionList] = {}
    used: set[str] = set()
    for step in workflow.steps:
        for event, target, guard in _transitions(workflow, step):
            used.add(target)
            to = ends[target] if target in ends else states[target]
            made = states[step.id].to(to, cond=guard)
            events.setdefault(event, TransitionList()).add_transitions(made)
    description = workflow.description.encode("utf-8", "replace").decode()  # Python refuses a lone surrogate
    body: dict[str, object] = {"__module__": __name__, "__doc__": description, "workflow": workflow}
    body.update({state_name(step_id): state for step_id, state in states.items()})
    body.update({f"end_{value[1:]}": state for value, state in ends.items() if value in used})
    body.update(events)
    name = "".join(part.title() for part in workflow.name.replace("/", "-").split("-"))
    machine: type[WorkflowMachine] = StateMachineMetaclass(name, (WorkflowMachine,), body)  # type: ignore[assignment]
    return machine


def _transitions(workflow: Workflow, step: StepDef) -> Iterator[tuple[str, str, Guard | None]]:
    """Yield the transitions of *step* as (event, target value, guard), in the order of trying."""
    for outcome in step.ways:
        for transition in transitions(workflow, step, outcome):
            event = STOP if transition.asks_user else EVENTS[outcome]
            target = transition.to or (FAILED if transition.fails else COMPLETED)
            yield event, target, _guard(workflow, step, transition)


def _guard(workflow: Workflow, step: StepDef, transition: Transition) -> Guard | None:
    """Return the guard of one transition: the limit allows it, and its target applies.

    The steps tried before it did not apply, so their conditions are not asked again.
    """
    limit = None if transition.at_limit is None else _limit_guard(step, at_limit=transition.at_limit)
    target = workflow.get(transition.to)
    if target is None or target.when is None:
        return limit
    conditional: StepDef = target

    def allowed(model: MachineState) -> bool:
        return (limit is None or limit(model)) and applies(conditional, model.context(conditional))

    return allowed


def _limit_guard(step: StepDef, *, at_limit: bool) -> Guard:
    def limit_reached(model: MachineState) -> bool:
        return is_limit_reached(step, model.visits.get(step.id, 0), model.granted.get(step.id, 0))

    def below_limit(model: MachineState) -> bool:
        return not limit_reached(model)

    return limit_reached if at_limit else below_limit
