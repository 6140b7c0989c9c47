"""Tools for tests of workflows: domains and inputs, one invocation, a run in memory, strategies.

Nothing here needs pytest. `workflows`, `sessions`, `parameters` and `actions` are Hypothesis strategies.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowrail.machines.definition.domains import BoundedInt, ChoiceSet, Constant
    from flowrail.machines.exploration.actions import Act, acts, perform
    from flowrail.machines.exploration.inputs import extract_schema, generate_inputs, input_id
    from flowrail.machines.exploration.walks import Plan, Walk, plan
    from flowrail.testing.invocation import run_skill_invocation
    from flowrail.testing.run import Run, load
    from flowrail.testing.strategies import actions, parameters, sessions, workflows

_MODULES = {
    "machines.definition.domains": ("BoundedInt", "ChoiceSet", "Constant"),
    "machines.exploration.actions": ("Act", "acts", "perform"),
    "machines.exploration.inputs": ("extract_schema", "generate_inputs", "input_id"),
    "machines.exploration.walks": ("Plan", "Walk", "plan"),
    "testing.invocation": ("run_skill_invocation",),
    "testing.run": ("Run", "load"),
    "testing.strategies": ("actions", "parameters", "sessions", "workflows"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"flowrail.{_MODULE_OF[name]}"), name)
