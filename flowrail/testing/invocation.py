"""Run one step of a workflow with generated input, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowrail.command import Command
from flowrail.machines.definition.step import fact_args
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.inputs import ITERATION, STEP, TOTAL
from flowrail.testing.walks.subprocess_stage import exit_status


def run_skill_invocation(workflow: Workflow, params: Mapping[str, Any]) -> int:
    """Return the exit status of `flow skill preview` for one step with *params*, which `generate_inputs` yields.

    The workflow is found by its name.
    """
    step = workflow.steps[params[STEP] - 1]
    given = {name: value for name, value in params.items() if name not in {STEP, TOTAL, ITERATION}}
    facts = {name for name in given if name in fact_args(step) or name not in workflow.params}
    command = Command(
        "skill preview",
        workflow.name,
        step.id,
        visit=str(params[ITERATION]) if ITERATION in params else None,
        facts={name: value for name, value in given.items() if name in facts},
        params={name: value for name, value in given.items() if name not in facts},
    )
    return exit_status(command)
