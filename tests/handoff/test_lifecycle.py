"""The machine of a handoff: which phases follow on which, and what each guard asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from statemachine.exceptions import TransitionNotAllowed
from support.golden import in_golden_block
from support.sandbox import flow

from flowrail.handoff import handoff
from flowrail.handoff.handoff import ENDED, PHASES
from flowrail.handoff.lifecycle.machine import (
    CHECKS,
    CONDITIONS,
    Case,
    Edge,
    HandoffMachine,
    PhaseNotOpenError,
    after,
    edges,
)

YES = lambda _: True  # noqa: E731 - the shortest of guards
NO = lambda _: False  # noqa: E731 - the same


def test_work_goes_through_all_phases() -> None:
    phase, seen = handoff.DISCOVERY, [handoff.DISCOVERY]
    for event in ("select", "examine", "hand_on", "invoke", "acknowledge"):
        phase = after(phase, event, YES)
        seen.append(phase)

    assert seen == list(PHASES[:6])
    assert {state.value for state in HandoffMachine().states} == set(PHASES)


@pytest.mark.parametrize("edge", [edge for edge in edges() if edge.conditions], ids=str)
def test_every_guard_stands_in_the_way_alone(edge: Edge) -> None:
    source, event, conditions, target = edge
    for missing in conditions:

        def holds(name: str, missing: str = missing) -> bool:
            return name != missing

        if (source, event) == ("validation", "refuse"):
            assert after(source, event, holds) == handoff.FAILED
            continue
        with pytest.raises(PhaseNotOpenError) as caught:
            after(source, event, holds)
        assert CONDITIONS[missing] in caught.value.message
        assert caught.value.details["conditions"] == [missing]
    assert after(source, event, YES) == target


def test_a_failure_can_be_tried_again_and_a_rejection_cannot() -> None:
    assert after(handoff.VALIDATION, "refuse", NO) == handoff.FAILED
    assert after(handoff.VALIDATION, "refuse", YES) == handoff.REJECTED
    assert after(handoff.FAILED, "retry", NO) == handoff.VALIDATION
    for phase in ENDED:
        with pytest.raises(PhaseNotOpenError) as caught:
            after(phase, "retry", YES)
        assert str(caught.value.hint) == "what can: nothing, it is over"


def test_everything_that_is_not_over_can_be_called_off() -> None:
    for phase in set(PHASES) - ENDED:
        assert after(phase, "cancel", NO) == handoff.REJECTED


def test_a_phase_that_nobody_knows_is_refused() -> None:
    with pytest.raises(PhaseNotOpenError):
        after("later", "retry", YES)


def test_the_machine_can_be_used_by_itself() -> None:
    machine = HandoffMachine()
    with pytest.raises(TransitionNotAllowed):
        machine.send("select")
    machine.model.holds = YES
    machine.send("select")

    assert machine.current_state_value == handoff.SELECTION
    assert HandoffMachine(Case(handoff.FAILED)).current_state_value == handoff.FAILED


def test_every_phase_can_reach_an_end() -> None:
    reached = set(ENDED)
    for _ in PHASES:
        reached |= {edge.source for edge in edges() if edge.target in reached}

    assert reached == set(PHASES)


def test_every_condition_is_asked_somewhere() -> None:
    assert {name for edge in edges() for name in edge.conditions} == set(CONDITIONS)
    assert set(CHECKS) < set(CONDITIONS)


def test_the_drawing_shows_every_transition() -> None:
    shown = json.loads(flow("handoff", "diagram", "--json").out)
    drawn = {(each["from"], each["to"]): each["outcomes"] for each in shown["edges"]}

    for edge in edges():
        assert any(said.startswith(edge.event.replace("_", " ")) for said in drawn[edge.source, edge.target])
    assert drawn["validation", "transfer"] == ["hand on [all checks hold]"]
    assert drawn["invocation", "acknowledgment"] == ["acknowledge [payload unchanged, claimed]"]
    assert drawn["validation", "rejected"] == ["refuse [beyond mending]", "cancel"]


def test_the_reference_shows_the_machine_as_it_is() -> None:
    file = Path(__file__).parents[2] / "docs" / "reference" / "handoff.md"
    page = file.read_text(encoding="utf-8")

    drawn = flow("handoff", "diagram").out.rstrip("\n")
    assert in_golden_block(file, "handoff-diagram", f"```mermaid\n{drawn}\n```")
    for name, told in CHECKS.items():
        assert f"| `{name}` | {told} |" in page
