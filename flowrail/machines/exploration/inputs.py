"""All inputs worth trying at each step: the domains of its values, and their combinations.

The definition says which values each step uses. `walks` plans the paths through the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flowrail.machines.definition.expressions import RuleError, parse
from flowrail.machines.definition.parts import freeze_deep
from flowrail.machines.definition.plain_form import has_functions
from flowrail.machines.definition.step import Outcome, StepContext, StepDef, accepts_any_fact, fact_args
from flowrail.machines.definition.values import Arg, BoundedInt, ChoiceSet, Constant, Domain
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import HandlerError, applies
from flowrail.machines.exploration.actions import values_to_try
from flowrail.machines.exploration.reads import FunctionReads, rounds
from flowrail.machines.exploration.walks import observe

STEP, TOTAL, ITERATION = "step", "total_steps", "iteration"
RESERVED = frozenset({STEP, TOTAL, ITERATION})
ROUNDS = 5
"""How many attempts of a step are tried if it iterates without a limit."""

Schema = dict[str, dict[str, Domain]]


def extract_schema(workflow: Workflow) -> Schema:
    """Return the domain of every value that a step uses, by step and name.

    Every step has ``step``, ``total_steps`` and the parameters. It has the facts that it reports and those that its
    own condition uses, and ``iteration`` if it can be repeated. Functions are called to find the names that they read:
    undeclared facts, and names with many values, which are tried with the literals in the code.
    """
    reads = observe(workflow) if has_functions(workflow) else FunctionReads()
    reported = {name: arg for step in workflow.steps for name, arg in fact_args(step).items()}
    return {
        step.id: {
            STEP: Constant(number),
            TOTAL: Constant(workflow.total_steps),
            **_rounds(step),
            **{
                name: _domain(workflow, name, arg, reads)
                for name, arg in _values(workflow, step, reported).items()
            },
            **_undeclared(workflow, step, reads),
        }
        for number, step in enumerate(workflow.steps, start=1)
    }


def _undeclared(workflow: Workflow, step: StepDef, reads: FunctionReads) -> dict[str, Domain]:
    """Return the domain of each undeclared fact that the handler of *step* reads."""
    facts = reads.facts.get(step.id, {}) if accepts_any_fact(step) else {}
    return {
        name: ChoiceSet(fact.texts or ("x",))
        for name, fact in facts.items()
        if name not in workflow.params and name not in RESERVED
    }


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


def _domain(workflow: Workflow, name: str, arg: Arg, reads: FunctionReads) -> Domain:
    """Return the values to try: all of them, those that a function may compare, or one valid value."""
    domain = arg.domain
    if domain is not None and not isinstance(domain, Constant):
        return domain
    if reads.literals.get(name):
        values = [value for value in values_to_try(workflow, name, arg) if value is not None]
        if values:
            return ChoiceSet(tuple(values))
    return domain or Constant(freeze_deep(arg.sample()))


def _values(workflow: Workflow, step: StepDef, reported: Mapping[str, Arg]) -> dict[str, Arg]:
    in_condition = {name: reported[name] for name in _names(step.when) if name in reported}
    return {
        name: arg
        for name, arg in {**workflow.params, **in_condition, **fact_args(step)}.items()
        if name not in RESERVED
    }


def _rounds(step: StepDef) -> dict[str, Domain]:
    repeats = Outcome.ITERATE in step.transitions or step.bound is not None
    limit = step.bound if isinstance(step.bound, int) and step.bound > 0 else None
    most = limit or max(ROUNDS, rounds(step))
    return {ITERATION: BoundedInt(1, most)} if repeats else {}


def _names(when: object) -> frozenset[str]:
    try:
        return parse(when).names if isinstance(when, str) else frozenset()
    except RuleError:
        return frozenset()


def _applies(step: StepDef, inputs: Mapping[str, Any]) -> bool:
    """Return whether *step* applies; it does if its condition cannot be evaluated."""
    try:
        return applies(step, StepContext(step.id, inputs, inputs, inputs.get(ITERATION, 1), step.bound))
    except HandlerError:
        return True
