"""What tests of one's own get from `flowrail.testing`."""

from __future__ import annotations

import os
from typing import Annotated, Any

import pytest
from support.workflows import linear, step, workflow

from flowrail.machines.loading import workflow_source
from flowrail.machines.step import StepContext
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.skills.catalog import find, workflow_file
from flowrail.testing import generate_inputs, run_skill_invocation


def bundled(address: str) -> Workflow:
    return workflow_source.read(workflow_file(address, find(address, ()))).definition


def test_an_invocation_is_one_process_and_its_exit_status() -> None:
    analysis = bundled("problem-analysis")
    inputs = [values for values in generate_inputs(analysis) if values["step"] == 3][:1]

    assert [run_skill_invocation(analysis, values) for values in inputs] == [0]
    assert run_skill_invocation(analysis, {"step": 1, "total_steps": 5, "confidence": "sure"}) == 2
    assert run_skill_invocation(linear("a"), {"step": 1, "total_steps": 1}) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"step": 0}, "`step` is at least 1, not 0"),
        ({"step": 99}, "`step` is at most 2, not 99"),
        ({"step": True}, "`step` takes a whole number, not True"),
        ({}, "`step` is missing"),
        ({"step": 1, "total_steps": 3}, "`total_steps` is at most 2, not 3"),
        ({"step": 1, "iteration": 0}, "`iteration` is at least 1, not 0"),
        ({"step": 1, "colour": "red"}, "`colour` is not known"),
    ],
)
def test_an_invocation_with_invalid_input_is_refused(
    values: dict[str, Any], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_skill_invocation(linear("a", "b"), values) == 2
    assert message in capfd.readouterr().err


def test_an_invocation_of_a_step_that_the_mode_skips_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    mode = Arg(choices=("quick", "full"), default="full")
    made = workflow(
        step("first", next={"ok": "deep"}),
        step("deep", when="mode == 'full'", next={"ok": None}),
        params={"mode": mode},
    )

    assert run_skill_invocation(made, {"step": 2, "mode": "full"}) == 0
    assert run_skill_invocation(made, {"step": 2, "mode": "quick"}) == 2
    assert "step `deep` does not apply with mode=quick" in capfd.readouterr().err


def test_an_invocation_runs_the_handler_in_another_process(capfd: pytest.CaptureFixture[str]) -> None:
    def decide(ctx: StepContext, mode: Annotated[str, Arg(choices=("quick", "full"))] = "full") -> Outcome:
        if ctx.visit == 2:
            os._exit(9)
        if ctx.visit == 3:
            raise RuntimeError("the third")
        return Outcome.SKIP if mode == "quick" else Outcome.OK

    made = workflow(step(handler=decide, limit=5, next={"ok": None, "iterate": "only"}))

    statuses = {
        (case["mode"], case["iteration"]): run_skill_invocation(made, case) for case in generate_inputs(made)
    }

    assert [statuses["full", visit] for visit in (1, 2, 3, 4)] == [0, 9, 1, 0]
    assert statuses["quick", 1] == 4
    errors = capfd.readouterr().err
    assert "does not accept `skip`" in errors
    assert f"raised RuntimeError: the third ({__file__}:" in errors
