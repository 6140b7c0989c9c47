"""Tools for tests of workflows: domains and inputs, and one invocation. Nothing here needs pytest."""

from flowrail.machines.domains import BoundedInt, ChoiceSet, Constant
from flowrail.machines.walks.inputs import extract_schema, generate_inputs, input_id
from flowrail.testing.invocation import run_skill_invocation

__all__ = [
    "BoundedInt",
    "ChoiceSet",
    "Constant",
    "extract_schema",
    "generate_inputs",
    "input_id",
    "run_skill_invocation",
]
