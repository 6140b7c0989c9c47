"""All inputs worth trying at each step: the domains of its values, and their combinations.

The definition says which values each step uses. `walks` plans the paths through the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flowrail.errors import UsageError
from flowrail.machines.domains import BoundedInt, Constant, Domain, domain_of
from flowrail.machines.expressions import parse
from flowrail.machines.outcome_decision import HandlerError, applies
from flowrail.machines.step import StepContext, StepDef, fact_args
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import OK_AT_LIMIT

STEP, TOTAL, ITERATION = "step", "total_steps", "iteration"
RESERVED = frozenset({STEP, TOTAL, ITERATION})
ROUNDS = 5
"""How many attempts of a step are tried if it iterates without a limit."""

Schema = dict[str, dict[str, Domain]]


def extract_schema(workflow: Workflow) -> Schema:
    """Return the domain of every value that a step uses, by step and name.

    Every step has ``step``, ``total_steps`` and the parameters of the workflow. It has what it declares itself, which
    are the facts that it reports and the arguments of its handler, and the facts that its own condition uses. It has
    ``iteration`` if it can be repeated. Nothing is guessed: an optional value without choices, bounds, default or
    example is left out, and a required one is refused.
    """
    reported = workflow.fact_args
    return {
        step.id: {
            STEP: Constant(number),
            TOTAL: Constant(workflow.total_steps),
            **_rounds(step),
            **{
                name: domain
                for name, arg in _values(workflow, step, reported).items()
                if (domain := _domain(step, name, arg)) is not None
            },
        }
        for number, step in enumerate(workflow.steps, start=1)
    }


def without_example(workflow: Workflow) -> list[str]:
    """Return the parameters and facts of which no value to try is known: they have no choices, bounds, default or example."""
    declared = {**workflow.params, **workflow.fact_args}
    return [name for name, arg in declared.items() if domain_of(arg) is None]


def generate_inputs(workflow: Workflow) -> Iterator[dict[str, object]]:
    """Yield every combination of values at every step, in the order of the steps.

    A step is left out if its condition does not hold for these values.
    """
    for step_id, domains in extract_schema(workflow).items():
        step = workflow.step(step_id)
        for values in product(*domains.values()):
            inputs = dict(zip(domains, values, strict=True))
            if _applies(step, inputs):
                yield inputs


def input_id(workflow: Workflow, inputs: Mapping[str, Any]) -> str:
    """Return a unique name for *inputs*."""
    step = workflow.steps[inputs[STEP] - 1]
    values = [f"{name}={_unmistakable(value)}" for name, value in inputs.items() if name not in {STEP, TOTAL}]
    return "-".join([workflow.name, step.id, *values])


def _unmistakable(value: object) -> str:
    """Return *value* as JSON, without quotes if it is a word without a meaning in JSON."""
    is_word = isinstance(value, str) and value.isidentifier() and value not in {"true", "false", "null"}
    return str(value) if is_word else json.dumps(value, ensure_ascii=False, default=str)


def _domain(step: StepDef, name: str, arg: Arg) -> Domain | None:
    """Return the values to try; `None` if none is known. Refuse a required value then."""
    if domain_of(arg) is None and arg.required:
        raise UsageError(
            f"`{name}` at step `{step.id}` has no choices, bounds, default or example",
            code="NO_EXAMPLE",
            hint="declare one of them, so that its values can be tried",
            name=name,
        )
    return domain_of(arg)


def _values(workflow: Workflow, step: StepDef, reported: Mapping[str, Arg]) -> dict[str, Arg]:
    names = parse(step.when).names if isinstance(step.when, str) else ()
    in_condition = {name: reported[name] for name in names if name in reported}
    own = fact_args(step)
    common = {name: arg for name, arg in workflow.params.items() if name not in workflow.handler_params}
    values = {**common, **in_condition, **own}
    return {name: arg for name, arg in values.items() if name not in RESERVED}


def _rounds(step: StepDef) -> dict[str, Domain]:
    repeats = bool(OK_AT_LIMIT & step.transitions.keys()) or step.bound is not None
    limit = step.bound if isinstance(step.bound, int) and step.bound > 0 else None
    return {ITERATION: BoundedInt(1, limit or ROUNDS)} if repeats else {}


def _applies(step: StepDef, inputs: Mapping[str, Any]) -> bool:
    """Return whether *step* applies; it does if its condition cannot be evaluated."""
    try:
        return applies(step, StepContext(step.id, inputs, inputs, inputs.get(ITERATION, 1), step.bound))
    except HandlerError:
        return True
