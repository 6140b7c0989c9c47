"""Errors in values: rules, handlers, declared parameters and facts, conditions, and placeholders in texts."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from inspect import Parameter
from types import UnionType

from flowrail.machines import expressions
from flowrail.machines.checks.scope import Scope
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.outcome import REPORTABLE, Outcome
from flowrail.machines.step import (
    BUILT_IN,
    TEXT_NAMES,
    VALUE_NAME,
    StepContext,
    StepDef,
    handler_signature,
    hints_of,
    parameters_of,
)
from flowrail.machines.step_contents import StepCondition, conditions_of, texts_of
from flowrail.machines.values import LARGEST_LEAST, Arg, kind_of, misfit, same
from flowrail.text import phrases
from flowrail.text.safe_text import in_quotes

_IN_BRACES = re.compile(r"\$\{([a-z][a-z0-9_]*)\}")
_MAY_DECIDE = {tuple, object, UnionType, typing.Any}
"""Return annotations that can be an outcome, besides `Outcome`."""
_SINGLE_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")


def _rules(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    for number, rule in enumerate(step.rules):
        if rule.outcome not in step.transitions:
            message = f"rule {number + 1} of step `{step.id}` decides `{rule.outcome}`, which leads nowhere"
            hint = f"add `{rule.outcome}` to `next`, or decide one of {phrases.listed(step.transitions)}"
            if rule.outcome not in REPORTABLE:
                hint = phrases.did_you_mean(rule.outcome, map(str, step.transitions), hint)
            yield UnplacedFinding("FR110", ("rules", number), message, hint)
        if rule.when is None and number < len(step.rules) - 1:
            message = (
                f"rule {number + 1} of step `{step.id}` always holds, so the rules after it are never tried"
            )
            yield UnplacedFinding("FR118", ("rules", number), message, "move it to the end")
    if step.rules and all(rule.when is not None for rule in step.rules):
        message = f"it is possible that no rule of step `{step.id}` holds"
        yield UnplacedFinding(
            "FR118", ("rules", len(step.rules) - 1), message, "end with a rule without `if`"
        )


def _deciders(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    deciders = {
        "gate": step.gate,
        "questions": step.questions,
        "rules": step.rules,
        "handler": step.handler if callable(step.handler) or step.rules else None,
    }
    named = [name for name, decider in deciders.items() if decider]
    if len(named) > 1:
        message = f"the outcome of step `{step.id}` is decided by {phrases.listed(named)}"
        yield UnplacedFinding("FR124", (named[0],), message)


def _functions(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    functions: list[tuple[Path, object]] = [
        ((name,), getattr(step, name)) for name in ("title", "actions", "handler")
    ]
    functions += [(condition.path, condition.when) for condition in conditions_of(step)]
    handler: object = step.handler
    if not (handler is None or callable(handler) or isinstance(handler, Dispatch)):
        message = f"the handler of step `{step.id}` is of type {type(handler).__name__}"
        yield UnplacedFinding("FR128", ("handler",), message, "write a function or `Dispatch(...)`")
    for path, function in functions:
        for problem, remedy in _function_problems(function, is_handler=path == ("handler",)):
            message = f"the function `{'.'.join(map(str, path))}` of step `{step.id}` {problem}"
            yield UnplacedFinding("FR128", path, message, remedy)


def _function_problems(function: object, *, is_handler: bool) -> Iterator[tuple[str, str]]:
    """Yield the first reason why a step cannot call *function*, and what to do about it.

    A step calls a handler with the context and its named parameters, any other function with the context alone.
    """
    parameters = parameters_of(function)
    if parameters is None:
        return
    called = getattr(function, "func", function)  # of a partial function
    if getattr(function, "is_async", False) or any(
        inspect.iscoroutinefunction(candidate) for candidate in (called, type(called).__call__)
    ):
        yield "is `async`, and a step does not await it", "write `def` without `async`"
        return
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        yield "is a generator", "return the value instead of `yield`"
        return
    positional = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL}
    if not parameters or parameters[0].kind not in positional:
        yield "does not take the context", "let its first parameter be the context, as in `def decide(ctx)`"
        return
    context = hints_of(function).get(parameters[0].name)
    if isinstance(context, type) and context is not typing.Any and not issubclass(StepContext, context):
        yield f"takes `{parameters[0].name}: {context.__name__}`", "its first parameter is a `StepContext`"
        return
    variable = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
    needed = [
        parameter
        for parameter in parameters[1:]
        if parameter.default is Parameter.empty and parameter.kind not in variable
    ]
    if not is_handler:
        if needed:
            remedy = "give it a default; read values from the context"
            yield f"needs `{needed[0].name}` besides the context", remedy
        return
    by_position = [parameter.name for parameter in needed if parameter.kind is Parameter.POSITIONAL_ONLY]
    returned = hints_of(function).get("return", Outcome)
    decided = typing.get_args(returned)[0] if typing.get_origin(returned) is tuple else returned
    kind = typing.get_origin(decided) or decided
    if by_position:
        yield f"takes `{by_position[0]}` by position only", "remove the `/`; values are given by name"
    elif isinstance(kind, type) and kind not in _MAY_DECIDE and not issubclass(kind, Outcome):
        name = getattr(returned, "__name__", str(returned)).replace("NoneType", "None")
        yield f"is declared to return `{name}`", "return an Outcome, or an Outcome and a dict"


def _handlers(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    for name, declared in handler_signature(step.handler).items():
        if declared is False and name not in scope.workflow.params and name not in step.reports:
            message = f"the handler of step `{step.id}` asks for `{name}`, which nothing provides"
            yield UnplacedFinding("FR105", ("handler",), message)
    for outcome in _declared_outcomes(step.handler):
        if outcome not in step.transitions:
            message = f"the handler of step `{step.id}` may decide `{outcome}`, which leads nowhere"
            yield UnplacedFinding("FR110", ("handler",), message, f"add `{outcome}` to `next`")


def _declared_outcomes(handler: object) -> list[str]:
    """Return the outcomes that a handler's return annotation names with ``Literal``."""
    hint = hints_of(handler).get("return") if callable(handler) else None
    first = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple and typing.get_args(hint) else hint
    named = typing.get_args(first) if typing.get_origin(first) is typing.Literal else ()
    return [str(outcome) for outcome in named if outcome in REPORTABLE]


def _params(scope: Scope) -> Iterator[UnplacedFinding]:
    for name, arg in scope.workflow.params.items():
        yield from _value(("params", name), name, arg)


def _facts(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    for name, arg in step.reports.items():
        yield from _value(("reports", name), name, arg)


def _value(path: Path, name: str, arg: Arg) -> Iterator[UnplacedFinding]:
    reserved = name in BUILT_IN or name in expressions.WORDS or name in expressions.CONSTANTS
    if reserved or not VALUE_NAME.match(name):
        message = f"`{name}` is not a valid name for a value"
        yield UnplacedFinding("FR107", path, message, "use a lower-case word such as `topic`")
    for message, remedy in _value_problems(name, arg):
        yield UnplacedFinding("FR122", path, message, remedy)


def _value_problems(name: str, arg: Arg) -> Iterator[tuple[str, str]]:
    if _has_odd_bounds(arg):
        yield f"`{name}` has a bound that is not a whole number", "use whole numbers, or `type: number`"
        return
    if arg.choices is not None and not arg.choices:
        yield f"`{name}` has an empty list of choices", "list the choices, or remove `choices`"
    for low, high, unit in ((arg.min, arg.max, ""), (arg.min_length, arg.max_length, " long")):
        if low is not None and high is not None and low > high:
            yield f"`{name}` is at least {low} and at most {high}{unit}", "swap the bounds"
    if arg.min_length is not None and arg.min_length > LARGEST_LEAST:
        message = f"`{name}` has a minimum length of {arg.min_length}; at most {LARGEST_LEAST} is allowed"
        yield message, "let the value be the path of a file that holds it"
    for choice in arg.choices or ():
        problem = None if arg.kind == "list" else misfit(arg, choice)
        if problem:
            yield (
                f"the choice `{choice}` of `{name}` does not fit: it {problem}",
                "change the choice or the type",
            )
    default = arg.default if arg.has_default and arg.default != "" else None
    for label, value in (("default", default), ("example", arg.example)):
        problem = arg.problem(value) if value is not None else None
        if problem:
            is_unquoted = arg.kind == "string" and not isinstance(value, str)
            remedy = "put it in quotes" if is_unquoted else f"change the {label} or the bounds"
            yield f"the {label} of `{name}` does not fit: it {problem}", remedy


def _has_odd_bounds(arg: Arg) -> bool:
    """Return whether *arg* is a whole number with a bound that is not a whole number."""
    bounds = (bound for bound in (arg.min, arg.max) if bound is not None)
    return arg.kind == "integer" and any(kind_of(bound) != "integer" for bound in bounds)


def _conditions(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    for condition in conditions_of(step):
        if isinstance(condition.when, str):
            yield from _expression(condition, condition.when, step, scope)


def _expression(
    condition: StepCondition, source: str, step: StepDef, scope: Scope
) -> Iterator[UnplacedFinding]:
    try:
        expression = expressions.parse(source)
    except expressions.RuleError as error:
        message = f"the expression of step `{step.id}` {error}"
        hint = "compare names and literals, such as `mode == 'full' and visit > 1`"
        if _SINGLE_EQUALS.search(source):
            hint = f"write `==` to compare: `{in_quotes(_SINGLE_EQUALS.sub('==', source))}`"
        yield UnplacedFinding("FR119", condition.path, message, hint)
    else:
        yield from _names(condition, expression, step, scope)
        yield from _comparisons(condition, expression, step, scope)


def _names(
    condition: StepCondition, expression: expressions.Expression, step: StepDef, scope: Scope
) -> Iterator[UnplacedFinding]:
    """Find names that the expression of a condition cannot use."""
    quoted = f"`{in_quotes(expression.source)}` of step `{step.id}`"
    for name in sorted(expression.names - {"visit", "limit"}):
        if name.startswith(expressions.EVIDENCE):
            check = name.split(".")[1]
            if condition.kind != "rules":
                message = f"{quoted} uses evidence, which only its rules can"
                yield UnplacedFinding("FR120", condition.path, message, "move the condition to `rules`")
            elif check not in step.checks:
                hint = phrases.did_you_mean(check, step.checks, "name a check of `evidence` of the step")
                message = f"{quoted} uses unknown evidence `{check}`"
                yield UnplacedFinding("FR120", condition.path, message, hint)
        elif name not in scope.values and not scope.is_open:
            hint = scope.hint(name, ("visit", "limit"))
            yield UnplacedFinding(
                "FR120", condition.path, f"{quoted} uses `{name}`, which is not declared", hint
            )


def _comparisons(
    condition: StepCondition, expression: expressions.Expression, step: StepDef, scope: Scope
) -> Iterator[UnplacedFinding]:
    """Find comparisons with a value that a parameter or fact never has."""
    quoted = f"`{in_quotes(expression.source)}` of step `{step.id}`"
    for name, operator, literal in expression.comparisons():
        arg = scope.values.get(name)
        if arg is None or literal is None or operator not in {"==", "!="} or _has_odd_bounds(arg):
            continue
        problem = arg.problem(literal)
        if problem and not (arg.has_default and same(arg.default, literal)):
            value = in_quotes(str(literal))
            message = f"{quoted} compares `{name}` with `{value}`, a value that it never has"
            yield UnplacedFinding("FR123", condition.path, message, f"it {problem}")


def _placeholders(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    for text in texts_of(step):
        for name in scope.undeclared(text.text, text.names):
            code, path = ("FR141", text.path) if text.kind == "vars" else ("FR121", (*text.path, f"${name}"))
            hint = scope.hint(name, text.names)
            yield UnplacedFinding(
                code, path, f"{text.label} of step `{step.id}` has `${name}`, which is not declared", hint
            )
        for name in _IN_BRACES.findall(text.text.replace("$$", "")):
            if name in scope.values or name in text.names or name in TEXT_NAMES:
                message = f"{text.label} of step `{step.id}` has `${{{name}}}`, which is not filled in"
                yield UnplacedFinding("FR121", (*text.path, f"${{{name}}}"), message, f"write `${name}`")


WORKFLOW_RULES = (_params,)
STEP_RULES = (_rules, _deciders, _functions, _handlers, _facts, _conditions, _placeholders)
