"""Functions of a workflow in Python that a step cannot call."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Sequence
from inspect import Parameter
from types import UnionType

from flowrail.machines.parts import Part
from flowrail.machines.step import StepContext, hints_of, parameters_of
from flowrail.machines.values import Arg
from flowrail.outcome import REPORTABLE, Outcome

_MAY_DECIDE = {tuple, object, UnionType, typing.Any}
"""Return annotations that can be an outcome, besides `Outcome`."""
_POSITIONAL = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL}
_VARIABLE = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def function_problems(part: Part) -> list[tuple[str, str]]:
    """Return the first reason why a step cannot call a function, with what to do about it.

    A step calls a handler with the context and its named parameters, any other function with the context alone.
    """
    return [*_problems(part.value, is_handler=part.inside == ("handler",))][:1]


def declared_outcomes(handler: object) -> list[str]:
    """Return the outcomes that a handler's return annotation names with ``Literal``."""
    hint = hints_of(handler).get("return") if callable(handler) else None
    first = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple and typing.get_args(hint) else hint
    named = typing.get_args(first) if typing.get_origin(first) is typing.Literal else ()
    return [str(outcome) for outcome in named if outcome in REPORTABLE]


def _problems(function: object, *, is_handler: bool) -> Iterator[tuple[str, str]]:
    parameters = parameters_of(function)
    if parameters is None:
        return
    called = getattr(function, "func", function)  # of a partial function
    if getattr(function, "is_async", False) or any(
        inspect.iscoroutinefunction(candidate) for candidate in (called, type(called).__call__)
    ):
        yield "is `async`, and a step does not await it", "write `def` without `async`"
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        yield "is a generator", "return the value instead of `yield`"
    if not parameters or parameters[0].kind not in _POSITIONAL:
        yield "does not take the context", "let its first parameter be the context, as in `def decide(ctx)`"
        return
    hints = hints_of(function)
    context = hints.get(parameters[0].name)
    if isinstance(context, type) and context is not typing.Any and not issubclass(StepContext, context):
        yield f"takes `{parameters[0].name}: {context.__name__}`", "its first parameter is a `StepContext`"
    yield from _problems_of_values(parameters[1:], is_handler=is_handler)
    returned = hints.get("return", Outcome)
    decided = typing.get_args(returned)[0] if typing.get_origin(returned) is tuple else returned
    kind = typing.get_origin(decided) or decided
    may_decide = not isinstance(kind, type) or kind in _MAY_DECIDE or issubclass(kind, Outcome)
    if is_handler and not may_decide:
        name = getattr(returned, "__name__", str(returned)).replace("NoneType", "None")
        yield f"is declared to return `{name}`", "return an Outcome, or an Outcome and a dict"


def _problems_of_values(parameters: Sequence[Parameter], *, is_handler: bool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the parameters after the context."""
    needed = [
        parameter
        for parameter in parameters
        if parameter.default is Parameter.empty and parameter.kind not in _VARIABLE
    ]
    if needed and not is_handler:
        yield (
            f"needs `{needed[0].name}` besides the context",
            "give it a default; read values from the context",
        )
    for parameter in parameters:
        if isinstance(parameter.default, Arg):
            remedy = (
                f"write `{parameter.name}: Annotated[str, Arg(...)]`" if is_handler else "give it a value"
            )
            yield f"has an `Arg` as the default of `{parameter.name}`, and is called with it", remedy
    for parameter in needed if is_handler else ():
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            yield f"takes `{parameter.name}` by position only", "remove the `/`; values are given by name"
