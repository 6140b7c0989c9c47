"""A workflow as a statechart class: usable by itself, and out of every trap that the engine has.

The tests called `the engine …` show the trap on the engine alone, so that we notice when it changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest
from statemachine import StateChart
from support.random_workflows import NAMES
from support.workflows import linear, long, step, unchecked, workflow

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.transitions import (
    compile_workflow,
    event_name,
    position,
)
from flowrail.machines.sessions.session import Report

# --- the class


def test_a_compiled_workflow_is_a_statechart_and_the_same_one_each_time() -> None:
    definition, other = linear("a", "b"), linear("a", "b")

    machine = compile_workflow(definition)

    assert issubclass(machine, StateChart)
    assert compile_workflow(definition) is machine
    assert compile_workflow(other) is not machine
    assert machine.workflow is definition
    assert (machine.allow_event_without_transition, machine.catch_errors_as_events) == (False, False)
    assert machine.atomic_configuration_update


def test_an_unchecked_workflow_is_checked_before_it_is_compiled() -> None:
    for broken in (
        unchecked(step(next={"ok": "nowhere"})),
        Workflow("dull", step(next={"ok": "nowhere"}), validate=False),
    ):
        with pytest.raises(WorkflowError):
            compile_workflow(broken)

    assert compile_workflow(Workflow("dull", step(), validate=False))().current_state_value == "only"


# --- names


@pytest.mark.parametrize("name", sorted({*NAMES, "send", "class", "model", "ok", "current_state_value"}))
def test_a_step_may_be_called_anything(name: str) -> None:
    definition = workflow(
        step("first", next={"ok": name}), step(name, next={"ok": "other", "iterate": name}), step("other")
    )

    machine = compile_workflow(definition)()
    for event, stands in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        machine.send(event_name(event))
        assert position(machine) == stands

    session = start(definition)
    for event, stands in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        session = advance(definition, session, Report(event))
        assert session.step == stands


# --- size


def _all_limited(count: int) -> Workflow:
    last = count - 1
    return workflow(
        *(
            step(
                f"s{each}",
                limit=3,
                next={
                    "ok": f"s{each + 1}" if each < last else None,
                    "fail": f"s{max(each - 1, 0)}",
                    "iterate": f"s{each}",
                },
            )
            for each in range(count)
        )
    )


def calls_of(work: Callable[[], object]) -> int:
    """Return how many Python functions *work* calls."""
    events: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: events.append(event))
    try:
        work()
    finally:
        sys.setprofile(before)
    return events.count("call")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(long, id="linear"),
        pytest.param(_all_limited, id="limited"),
    ],
)
def test_checking_and_compiling_is_linear(make: Callable[[int], Workflow]) -> None:
    small, large = make(100), make(500)
    compile_workflow(make(2))  # what happens once has happened

    checks = [calls_of(partial(check_workflow, each)) for each in (small, large)]
    compiles = [calls_of(partial(compile_workflow, each)) for each in (small, large)]

    assert checks[1] < 5.5 * checks[0]
    assert compiles[1] < 5.5 * compiles[0]
