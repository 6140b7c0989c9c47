"""Tools for tests of workflows: domains and inputs, one invocation, a run in memory. Nothing here needs pytest."""

from flowrail.machines.values import BoundedInt, ChoiceSet, Constant
from flowrail.machines.walks.inputs import extract_schema, generate_inputs, input_id
from flowrail.testing.invocation import run_skill_invocation
from flowrail.testing.run import Run, load

__all__ = [
    "BoundedInt",
    "ChoiceSet",
    "Constant",
    "Run",
    "extract_schema",
    "generate_inputs",
    "input_id",
    "load",
    "run_skill_invocation",
]
