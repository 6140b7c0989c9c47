"""What makes a workflow the same machine: its structure, without its texts.

Two prints are enough to judge a change under a running session: that of the whole graph, and
that of the current step with its ways on. Titles, texts and phases do not count.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.values import Arg, arg_to_plain
from flowrail.machines.definition.workflow import Workflow

LENGTH = 16


def step_print(workflow: Workflow, step_id: str | None) -> str:
    """Return the print of one step and its ways on; empty for the end."""
    return "" if step_id is None else _all(workflow)[step_id]


def graph_print(workflow: Workflow) -> str:
    """Return the print of the whole graph."""
    return _all(workflow)[""]


def _all(workflow: Workflow) -> dict[str, str]:
    known: dict[str, str] | None = workflow.derived.get("prints")
    if known is None:
        known = {step.id: _digest(structure(step)) for step in workflow.steps}
        params = {name: _value(arg) for name, arg in workflow.params.items()}
        known[""] = _digest([workflow.entry_point, params, list(known.items())])
        workflow.derived["prints"] = known
    return known


def structure(step: StepDef) -> dict[str, Any]:
    """Return what makes *step* the same: everything that decides where it leads, and no text."""
    return {
        "id": step.id,
        "next": {str(outcome): target for outcome, target in step.next.items()},
        "when": _source(step.when),
        "limit": step.limit,
        "reports": {name: _value(arg) for name, arg in step.reports.items()},
        "rules": [list(rule) for rule in step.rules],
        "handler": _source(step.handler) if callable(step.handler) else None,
        **_agents(step),
    }


def _agents(step: StepDef) -> dict[str, Any]:
    """Return what a step gives to agents and asks of the user, as far as it decides where to go."""
    parts: dict[str, Any] = {}
    if step.work is not None:
        parts["dispatch"] = [step.work.run, step.work.over, dict(step.work.vars), step.work.join]
    if step.questions:
        parts["questions"] = [
            [each.id, each.other, [[option.label, option.outcome] for option in each.options]]
            for each in step.questions
        ]
    if step.gate is not None:
        parts["gate"] = [step.gate.review, step.gate.limit, step.gate.policy]
    return parts


def _value(arg: Arg) -> dict[str, Any]:
    texts = ("description", "example")
    return {key: value for key, value in arg_to_plain(arg).items() if key not in texts}


def _source(value: Any) -> Any:
    return {"function": True} if callable(value) else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
