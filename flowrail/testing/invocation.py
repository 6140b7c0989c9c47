"""Run one step of a workflow with generated input, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.reported_values import fact_args
from flowrail.machines.exploration.inputs import ITERATION, STEP, TOTAL
from flowrail.testing.walks.subprocess_stage import exit_status


def run_skill_invocation(workflow: Workflow, params: Mapping[str, Any]) -> int:
    """Return the exit status of `flow skill preview` for one step with *params*, which `generate_inputs` yields.

    The workflow is found by its name.
    """
    step = workflow.steps[params[STEP] - 1]
    words = ["skill", "preview", workflow.name, step.id]
    for name, value in params.items():
        if name in {STEP, TOTAL}:
            continue
        if name == ITERATION:
            words += ["--visit", str(value)]
        else:
            is_fact = name in fact_args(step) or name not in workflow.params
            words += ["-s" if is_fact else "-p", f"{name}={_typed(value)}"]
    return exit_status(words)


def _typed(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=list)
