"""The lifecycle of a handoff as a statechart. The engine decides on the next phase, and the journal records it.

    discovery ─select─▶ selection ─examine─▶ validation ─hand_on─▶ transfer ─invoke─▶ invocation
    invocation ─acknowledge─▶ acknowledgment        failed ─retry─▶ validation        transfer ─recheck─▶ validation
    refuse: to `rejected` if it cannot be fixed, else to `failed`; lose: the payload is gone; cancel; expire

Guards are conditions with a name. The caller passes the answers. If an event has two transitions, they are tried in the
order of the source. One record of the journal may cover several events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from statemachine import State, StateChart
from statemachine.exceptions import TransitionNotAllowed

from flowrail.errors import ConflictError
from flowrail.handoff import handoff

CHECKS: Mapping[str, str] = {
    "target_exists": "the target still exists",
    "target_unchanged": "the target's SKILL.md has not changed since the target was chosen",
    "session_readable": "the source's session can be read",
    "chain_allowed": "the rules of the chain allow the target",
    "source_accepted": "the target accepts work from the source",
    "version_supported": "the target can read the payload's version",
    "payload_valid": "the payload is complete, valid and not expired",
    "requirements_met": "the payload contains what the target requires",
    "health_check_passed": "the target's own health check passed, if it was requested",
}
"""What must hold before the payload is written."""

CONDITIONS: Mapping[str, str] = {
    "target_found": "the name identifies exactly one target",
    **CHECKS,
    "payload_written": "the payload's file exists and has the recorded digest",
    "payload_unchanged": "the received payload is the one that was sent",
    "received": "exactly one receiver has recorded its receipt",
    "not_fixable": "the problem cannot be fixed",
    "expired": "the payload has expired",
    "expiry_accepted": "the receiver accepts an expired payload",
    "payload_lost": "the payload's file is gone or has changed",
}

NO_ANSWERS: Mapping[str, bool] = MappingProxyType({})


class LifecycleModel:
    """The phase of a handoff and the answers of its guards. A guard without an answer does not hold."""

    def __init__(self, phase: str = handoff.DISCOVERY, answers: Mapping[str, bool] = NO_ANSWERS) -> None:
        self.phase: str | None = phase
        self.answers = answers


def _guard(name: str) -> Callable[..., bool]:
    def guard(model: LifecycleModel) -> bool:
        return model.answers.get(name, False)

    guard.__name__ = name
    guard.__doc__ = CONDITIONS[name]
    return guard


class HandoffMachine(StateChart[LifecycleModel]):
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
    expired = State(value=handoff.EXPIRED)

    select = discovery.to(selection, cond=_guard("target_found"))
    examine = selection.to(validation)
    hand_on = validation.to(transfer, cond=[_guard(name) for name in CHECKS])
    invoke = transfer.to(invocation, cond=_guard("payload_written"))
    recheck = transfer.to(validation)
    acknowledge = invocation.to(
        acknowledgment, cond=[_guard("payload_unchanged"), _guard("received")]
    ) | expired.to(
        acknowledgment, cond=[_guard("payload_unchanged"), _guard("received"), _guard("expiry_accepted")]
    )
    refuse = validation.to(rejected, cond=_guard("not_fixable")) | failed.from_(
        validation, discovery, selection, transfer
    )
    lose = invocation.to(failed, cond=_guard("payload_lost"))
    retry = failed.to(validation)
    cancel = rejected.from_(discovery, selection, validation, transfer, invocation, failed)
    expire = expired.from_(invocation, failed, cond=_guard("expired"))

    def __init__(self, model: LifecycleModel | None = None, **options: Any) -> None:
        super().__init__(model or LifecycleModel(), state_field="phase", **options)


@dataclass(frozen=True)
class LifecycleTransition:
    """A transition of the machine."""

    source: str
    event: str
    conditions: tuple[str, ...]
    target: str


TRANSITIONS = tuple(
    LifecycleTransition(
        str(state.value),
        str(transition.event),
        tuple(str(condition.func.__name__) for condition in transition.cond),
        str(transition.target.value),
    )
    for state in HandoffMachine().states
    for transition in state.transitions
)
"""Every transition of the machine, in order."""


def next_phase(phase: str, events: Sequence[str], answers: Mapping[str, bool]) -> str:
    """Return the phase that the machine enters after *events*; refused if one of them is not allowed."""
    if phase not in {edge.source for edge in TRANSITIONS} | handoff.ENDED:
        raise ConflictError(
            f"unknown phase `{phase}`",
            code="PHASE_NOT_OPEN",
            hint="update flowrail: a newer version wrote this record",
            phase=phase,
        )
    machine = HandoffMachine(LifecycleModel(phase, answers))
    for event in events:
        before = str(machine.current_state_value)
        try:
            machine.send(event)
        except TransitionNotAllowed:
            raise _refusal(before, event, answers) from None
    return str(machine.current_state_value)


def phases_after(phase: str, events: Sequence[str]) -> set[str]:
    """Return the phases that *events* can lead to, with any answers; empty if their order is illegal."""
    phases = {phase}
    for event in events:
        phases = {edge.target for edge in TRANSITIONS if edge.source in phases and edge.event == event}
    return phases


def _refusal(phase: str, event: str, answers: Mapping[str, bool]) -> ConflictError:
    transitions = [edge for edge in TRANSITIONS if edge.source == phase]
    failing = [
        name
        for edge in transitions
        for name in edge.conditions
        if edge.event == event and not answers.get(name)
    ]
    because = "; ".join(CONDITIONS[name] for name in dict.fromkeys(failing))
    events = ", ".join(sorted({edge.event for edge in transitions}))
    return ConflictError(
        f"a handoff in phase `{phase}` does not accept `{event}`"
        + (f", because this does not hold: {because}" if because else ""),
        code="PHASE_NOT_OPEN",
        hint=f"it accepts {events}" if events else "the handoff is over",
        phase=phase,
        event=event,
        conditions=list(dict.fromkeys(failing)),
    )
