"""The lifecycle of a handoff as a statechart: the engine judges, the journal remembers.

    discovery ─select─▶ selection ─examine─▶ validation ─hand_on─▶ transfer ─invoke─▶ invocation
    invocation ─acknowledge─▶ acknowledgment        failed ─retry─▶ validation
    refuse: to `rejected` where nothing can be mended, else to `failed`; cancel; expire

Guards are questions by name, answered when they are asked from the disk, the clock and what the target
declares (`guards`). Two transitions on one event are tried in the order in which they stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed

from flowrail.errors import ConflictError
from flowrail.handoff import handoff

Holds = Callable[[str], bool]
"""Answers whether a condition holds now, by its name."""

CHECKS: Mapping[str, str] = {
    "target_there": "the target is still there",
    "target_unchanged": "the target is the one that was chosen, byte for byte",
    "session_readable": "the session of the source can be read",
    "chain_allowed": "the chain may grow by the target",
    "source_admitted": "the target accepts work from the source",
    "schema_fits": "the target understands the version of the payload",
    "payload_fit": "the payload is whole, in time and without mistakes",
    "requires_met": "what the target requires is in the payload",
    "health_good": "the target's own check says that it can work, where that was asked for",
}
"""What has to hold before anything is written for the target to find."""

CONDITIONS: Mapping[str, str] = {
    "target_named": "the target is named without doubt",
    **CHECKS,
    "payload_written": "the payload stands on disk with the digest that is on record",
    "payload_unchanged": "the payload that is received is the one that was sent",
    "claimed": "one receiver has claimed it",
    "beyond_mending": "what is wrong cannot be mended",
    "past_expiry": "the payload has expired",
}


class PhaseNotOpenError(ConflictError):
    """That cannot happen to the handoff where it stands now."""

    code = "PHASE_NOT_OPEN"


class Case:
    """Where a handoff stands, and how its guards are answered: the model of the machine."""

    def __init__(self, phase: str = handoff.DISCOVERY, holds: Holds | None = None) -> None:
        self.phase: str | None = phase
        self.holds: Holds = holds or (lambda _: False)


def _if(name: str) -> Callable[..., bool]:
    def guard(model: Case) -> bool:
        return model.holds(name)

    guard.__name__ = name
    guard.__doc__ = CONDITIONS[name]
    return guard


class HandoffMachine(StateChart[Case]):
    """One handoff, one phase at a time."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True

    discovery = State(value=handoff.DISCOVERY, initial=True)
    selection = State(value=handoff.SELECTION)
    validation = State(value=handoff.VALIDATION)
    transfer = State(value=handoff.TRANSFER)
    invocation = State(value=handoff.INVOCATION)
    failed = State(value=handoff.FAILED)
    acknowledgment = State(value=handoff.ACKNOWLEDGMENT, final=True)
    rejected = State(value=handoff.REJECTED, final=True)
    expired = State(value=handoff.EXPIRED, final=True)

    select = discovery.to(selection, cond=_if("target_named"))
    examine = selection.to(validation)
    hand_on = validation.to(transfer, cond=[_if(name) for name in CHECKS])
    invoke = transfer.to(invocation, cond=_if("payload_written"))
    acknowledge = invocation.to(acknowledgment, cond=[_if("payload_unchanged"), _if("claimed")])
    refuse = (
        validation.to(rejected, cond=_if("beyond_mending"))
        | validation.to(failed)
        | discovery.to(failed)
        | selection.to(failed)
        | transfer.to(failed)
    )
    retry = failed.to(validation)
    cancel = (
        discovery.to(rejected)
        | selection.to(rejected)
        | validation.to(rejected)
        | transfer.to(rejected)
        | invocation.to(rejected)
        | failed.to(rejected)
    )
    expire = invocation.to(expired, cond=_if("past_expiry")) | failed.to(expired, cond=_if("past_expiry"))

    def __init__(self, model: Case | None = None, **options: Any) -> None:
        super().__init__(model or Case(), state_field="phase", **options)


class Edge(NamedTuple):
    """A transition: from where, by which event, under which conditions, to where."""

    source: str
    event: str
    conditions: tuple[str, ...]
    target: str


def after(phase: str, event: str, holds: Holds) -> str:
    """Return the phase that *event* leads to from *phase*; refused where no guard lets it pass."""
    if phase not in handoff.PHASES:
        raise PhaseNotOpenError(
            f"there is no phase `{phase}`", hint="the journal was written by a newer version", phase=phase
        )
    open_now = sorted({edge.event for edge in edges() if edge.source == phase})
    if event not in open_now:
        raise PhaseNotOpenError(
            f"`{event}` cannot happen to a handoff in its phase `{phase}`",
            hint=f"what can: {', '.join(open_now) or 'nothing, it is over'}",
            phase=phase,
            event=event,
        )
    machine = HandoffMachine(Case(phase, holds))
    try:
        machine.send(event)
    except TransitionNotAllowed:
        wanted = {
            name
            for edge in edges()
            if (edge.source, edge.event) == (phase, event)
            for name in edge.conditions
        }
        failing = [name for name in CONDITIONS if name in wanted and not holds(name)]
        wrong = "; that ".join(CONDITIONS[each] for each in failing)
        raise PhaseNotOpenError(
            f"`{event}` is not allowed: it does not hold that {wrong}",
            hint="mend that, then try again",
            phase=phase,
            event=event,
            conditions=failing,
        ) from None
    return str(machine.current_state_value)


def edges() -> tuple[Edge, ...]:
    """Return every transition of the machine, in the order in which they stand."""
    return _EDGES


def _edges() -> Iterator[Edge]:
    machine = HandoffMachine()
    for state in machine.states:
        for transition in state.transitions:
            conditions = tuple(str(each.func.__name__) for each in transition.cond)
            yield Edge(str(state.value), str(transition.event), conditions, str(transition.target.value))


_EDGES = tuple(_edges())
