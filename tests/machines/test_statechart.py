"""A workflow as a statechart class: usable by itself, and out of every trap that the engine has.

The tests called `the engine …` show the trap on the engine alone, so that we notice when it changes.
"""

from __future__ import annotations

import pytest
from statemachine import StateChart
from support.random_workflows import NAMES
from support.workflows import linear, step, unchecked, workflow

from flowrail.machines.findings import WorkflowError
from flowrail.machines.session import Report
from flowrail.machines.statechart import (
    compile_workflow,
    event_name,
    position,
)
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow

# --- the class


def test_a_compiled_workflow_is_a_statechart_and_the_same_one_each_time() -> None:
    definition = linear("a", "b")

    machine = compile_workflow(definition)

    assert issubclass(machine, StateChart)
    assert compile_workflow(definition) is machine
    assert machine.workflow == definition
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
    for event, step_id in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        machine.send(event_name(event))
        assert position(machine) == step_id

    session = start(definition)
    for event, step_id in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        session = advance(definition, session, Report(event))
        assert session.step == step_id
