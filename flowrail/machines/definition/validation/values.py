"""Errors in values: rules, handlers, declared parameters and facts, expressions, and placeholders in texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowrail.machines.definition import expressions
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import (
    BUILT_IN,
    REPORTABLE,
    TEXT_NAMES,
    VALUE_NAME,
    StepDef,
    function_problem,
    handler_signature,
)
from flowrail.machines.definition.values import KINDS, LARGEST_LEAST, Arg, kind_of, misfit
from flowrail.text import phrases, placeholders
from flowrail.text.safe_text import in_quotes

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

LARGEST_SAID, SAID_BY_EACH = 200_000, 100
"""So many characters of expressions are read in one workflow, and so many more for each of its steps."""


def _rules(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        if not step.rules:
            continue
        if step.handler is not None:
            what = f"step `{step.id}` has rules and a handler"
            yield UnplacedFinding("FR124", ("steps", index, "rules"), what, "let one of them decide")
        for place, rule in enumerate(step.rules):
            path = ("steps", index, "rules", place)
            if rule.outcome not in step.ways:
                what = f"rule {place + 1} of step `{step.id}` decides `{rule.outcome}`, which leads nowhere"
                hint = f"add `{rule.outcome}` to `next`, or decide one of {phrases.listed(step.ways)}"
                yield UnplacedFinding("FR110", path, what, hint)
            if rule.when is None and place < len(step.rules) - 1:
                what = f"rule {place + 1} of step `{step.id}` always holds, so the rules after it are never tried"
                yield UnplacedFinding("FR118", path, what, "move it to the end")
        if all(rule.when is not None for rule in step.rules):
            what = f"it is possible that no rule of step `{step.id}` holds"
            hint = "end with a rule without `if`"
            yield UnplacedFinding("FR118", ("steps", index, "rules", len(step.rules) - 1), what, hint)


def _functions(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        functions: list[tuple[Path, object]] = [
            ((name,), getattr(step, name)) for name in ("title", "actions", "when", "handler")
        ]
        functions += [(("variants", at, "when"), variant.when) for at, variant in enumerate(step.variants)]
        for path, function in functions:
            problem = function_problem(function, is_handler=path == ("handler",))
            if problem is not None:
                what = f"the function `{'.'.join(map(str, path))}` of step `{step.id}` {problem[0]}"
                yield UnplacedFinding("FR128", ("steps", index, *path), what, problem[1])


def _handlers(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(workflow.steps):
        for name, declared in handler_signature(step.handler).items():
            if declared is False and name not in workflow.params and name not in step.reports:
                what = f"the handler of step `{step.id}` asks for `{name}`, which nothing provides"
                hint = "declare it with `Arg`, as a parameter of the workflow, or as a fact of the step"
                yield UnplacedFinding("FR105", ("steps", index, "handler"), what, hint)
        for outcome in _declared_outcomes(step.handler):
            if outcome not in step.ways:
                what = f"the handler of step `{step.id}` may decide `{outcome}`, which leads nowhere"
                hint = f"add `{outcome}` to `next`"
                yield UnplacedFinding("FR110", ("steps", index, "handler"), what, hint)


def _declared_outcomes(handler: object) -> list[str]:
    """Return the outcomes that a handler's return annotation names with ``Literal``."""
    if not callable(handler):
        return []
    import typing

    try:
        hint = typing.get_type_hints(handler).get("return")
    except Exception:  # noqa: BLE001 - an annotation is an author's code and may raise anything
        return []
    first = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple and typing.get_args(hint) else hint
    named = typing.get_args(first) if typing.get_origin(first) is typing.Literal else ()
    return [str(each) for each in named if each in REPORTABLE]


def _values(workflow: Workflow) -> Iterator[UnplacedFinding]:
    for name, arg in workflow.params.items():
        yield from _value(("params", name), name, arg)
    for index, step in enumerate(workflow.steps):
        for name, arg in step.reports.items():
            yield from _value(("steps", index, "reports", name), name, arg)


def _value(path: Path, name: str, arg: Arg) -> Iterator[UnplacedFinding]:
    if (
        not VALUE_NAME.match(name)
        or name in BUILT_IN
        or name in expressions.WORDS
        or name in expressions.CONSTANTS
    ):
        what = f"`{name}` is not a valid name for a value"
        yield UnplacedFinding("FR107", path, what, "use a lower-case word such as `topic`")
    odd = _odd(arg)
    if odd is not None:
        yield UnplacedFinding("FR122", path, f"`{name}` is {odd[0]}", odd[1])
        return
    for message, remedy in (*_bound_problems(name, arg), *_example_problems(name, arg)):
        yield UnplacedFinding("FR122", path, message, remedy)


def _odd(arg: Arg) -> tuple[str, str] | None:
    """Return the part of a declaration that cannot be compared, and what to use instead."""
    if arg.kind not in KINDS:
        return f"of type `{arg.kind}`", f"use one of {phrases.listed(KINDS)}"
    for bounds, whole in (
        ((arg.min, arg.max), arg.kind == "integer"),
        ((arg.min_length, arg.max_length), True),
    ):
        for bound in bounds:
            if bound is not None and kind_of(bound) not in ({"integer"} if whole else {"integer", "number"}):
                return f"bounded by `{bound}`", "use a whole number" if whole else "use a number"
    for length in (arg.min_length, arg.max_length):
        if length is not None and length < 0:
            return f"bounded by `{length}`", "use a length from 0"
    return None


def _bound_problems(name: str, arg: Arg) -> Iterator[tuple[str, str]]:
    if arg.choices is not None and not arg.choices:
        yield f"`{name}` has an empty list of choices", "list the choices, or remove `choices`"
    for low, high, unit in ((arg.min, arg.max, ""), (arg.min_length, arg.max_length, " long")):
        if low is not None and high is not None and low > high:
            yield f"`{name}` is at least {low} and at most {high}{unit}", "swap the bounds"
    if arg.min_length is not None and arg.min_length > LARGEST_LEAST:
        what = f"`{name}` has a minimum length of {arg.min_length}; at most {LARGEST_LEAST} is allowed"
        yield what, "let the value be the path of a file that holds it"
    for choice in arg.choices or ():
        problem = misfit(arg, choice)
        if problem:
            yield (
                f"the choice `{choice}` of `{name}` does not fit: it {problem}",
                "change the choice or the type",
            )


def _example_problems(name: str, arg: Arg) -> Iterator[tuple[str, str]]:
    default = arg.default if arg.has_default and arg.default != "" else None
    for what, value in (("default", default), ("example", arg.example)):
        problem = arg.problem(value) if value is not None else None
        if problem:
            yield f"the {what} of `{name}` does not fit: it {problem}", f"change the {what} or the bounds"


def _expressions(workflow: Workflow) -> Iterator[UnplacedFinding]:
    reported: dict[str, Arg] = {name: arg for step in workflow.steps for name, arg in step.reports.items()}
    open_ended = any(callable(step.handler) for step in workflow.steps)
    known = {**workflow.params, **reported}
    guesses = phrases.Suggestions()
    left = LARGEST_SAID + SAID_BY_EACH * len(workflow.steps)
    most = left
    for index, step in enumerate(workflow.steps):
        places: list[tuple[Path, object]] = [(("steps", index, "when"), step.when)]
        places += [(("steps", index, "rules", at, "if"), rule.when) for at, rule in enumerate(step.rules)]
        places += [
            (("steps", index, "variants", at, "when"), each.when) for at, each in enumerate(step.variants)
        ]
        left -= sum(len(source) for _, source in places if isinstance(source, str))
        if left < 0:
            what = f"the expressions down to step `{step.id}` have more than {most} characters together"
            yield UnplacedFinding("FR119", ("steps", index), what, "split the workflow")
            return
        for path, source in places:
            if source is not None and not callable(source):
                yield from _expression(path, source, known, step, None if open_ended else guesses)
        if not open_ended:
            yield from _placeholders(index, step, known, guesses)


def _expression(
    path: Path, source: object, known: dict[str, Arg], step: StepDef, guesses: phrases.Suggestions | None
) -> Iterator[UnplacedFinding]:
    try:
        if not isinstance(source, str):
            raise expressions.RuleError(f"is not a text: `{in_quotes(str(source))}`")  # noqa: TRY301 - told like any other
        expression = expressions.parse(source)
    except expressions.RuleError as error:
        what = f"the expression of step `{step.id}` {error}"
        hint = "compare names and literals, such as `mode == 'full' and visit > 1`"
        yield UnplacedFinding("FR119", path, what, hint)
        return
    for name in sorted(expression.names - {"visit", "limit"}):
        if name.startswith(expressions.EVIDENCE):
            yield from _evidence_name(path, source, name.split(".")[1], step)
        elif name not in known and guesses is not None:
            hint = guesses.did_you_mean(
                name, [*known, "visit", "limit"], "declare it in `params` or `reports`"
            )
            what = f"`{in_quotes(source)}` of step `{step.id}` uses `{name}`, unknown here"
            yield UnplacedFinding("FR120", path, what, hint)
    for name, mark, literal in expression.comparisons():
        arg = known.get(name)
        equates = mark in {"==", "!="} and literal is not None
        if arg is not None and equates and _odd(arg) is None and _never(arg, literal):
            value = in_quotes(str(literal))
            what = f"`{in_quotes(source)}` of step `{step.id}` compares `{name}` with `{value}`, a value that it never has"
            yield UnplacedFinding("FR123", path, what, f"it {arg.problem(literal)}")


def _evidence_name(path: Path, source: str, check: str, step: StepDef) -> Iterator[UnplacedFinding]:
    quoted = in_quotes(source)
    if path[2] != "rules":
        what = f"`{quoted}` of step `{step.id}` uses evidence, which only its rules can"
        yield UnplacedFinding("FR120", path, what, "move the condition to `rules`")
    elif check not in step.checks:
        what = f"`{quoted}` of step `{step.id}` uses unknown evidence `{check}`"
        hint = phrases.did_you_mean(check, step.checks, "name a check of `evidence` of the step")
        yield UnplacedFinding("FR120", path, what, hint)


def _never(arg: Arg, literal: object) -> bool:
    return arg.problem(literal) is not None and not (
        arg.has_default and expressions.same(arg.default, literal)
    )


def _placeholders(
    index: int, step: StepDef, known: dict[str, Arg], guesses: phrases.Suggestions
) -> Iterator[UnplacedFinding]:
    texts: list[tuple[Path, str]] = []
    if isinstance(step.title, str):
        texts.append((("steps", index, "title"), step.title))
    if not callable(step.actions):
        texts += [
            (("steps", index, "actions", at), each)
            for at, each in enumerate(step.actions)
            if isinstance(each, str)
        ]
    for at, variant in enumerate(step.variants):
        texts += [(("steps", index, "variants", at, "text"), each) for each in variant.actions]
    for path, text in texts:
        for name in sorted(placeholders.placeholders(text) - TEXT_NAMES):
            if name not in known:
                hint = guesses.did_you_mean(
                    name, [*known, *sorted(TEXT_NAMES)], f"write `$${name}` for the text itself"
                )
                what = f"the text of step `{step.id}` has `${name}`, unknown here"
                yield UnplacedFinding("FR121", (*path, f"${name}"), what, hint)


VALUE_RULES = (_rules, _functions, _handlers, _values, _expressions)
