"""For tests of one's own workflows: domains and inputs, one invocation, a run in memory, strategies.

Nothing here needs pytest; `workflows`, `sessions`, `parameters` and `actions` are Hypothesis strategies and
need hypothesis, which is imported when one of them is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flowrail.machines.acts import Act, acts, perform
from flowrail.machines.definition import Definition
from flowrail.machines.domains import BoundedInt, ChoiceSet, Constant
from flowrail.machines.explore import ITERATION, STEP, TOTAL, extract_schema, generate_inputs, input_id
from flowrail.machines.values import fact_args
from flowrail.machines.walks import Plan, Walk, plan
from flowrail.rehearsal.process import exit_status
from flowrail.rehearsal.run import Run, load

if TYPE_CHECKING:
    from flowrail.rehearsal.strategies import actions, parameters, sessions, workflows

__all__ = [
    "Act",
    "BoundedInt",
    "ChoiceSet",
    "Constant",
    "Plan",
    "Run",
    "Walk",
    "actions",
    "acts",
    "extract_schema",
    "generate_inputs",
    "input_id",
    "load",
    "parameters",
    "perform",
    "plan",
    "run_skill_invocation",
    "sessions",
    "workflows",
]
_STRATEGIES = frozenset({"actions", "parameters", "sessions", "workflows"})


def __getattr__(name: str) -> Any:
    if name not in _STRATEGIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("flowrail.rehearsal.strategies"), name)


def run_skill_invocation(workflow: Definition, params: Mapping[str, Any]) -> int:
    """Return the exit status of telling one step with *params*, one of `generate_inputs`.

    The workflow is found by its name, as `flow preview` finds it, in a process of its own.
    """
    step = workflow.steps[params[STEP] - 1]
    words = ["preview", workflow.name, step.id]
    for name, value in params.items():
        if name in {STEP, TOTAL}:
            continue
        if name == ITERATION:
            words += ["--visit", str(value)]
        else:
            is_fact = name in fact_args(step) or name not in workflow.params
            words += ["-s" if is_fact else "-p", f"{name}={_said(value)}"]
    return exit_status(words)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=list)
