"""The structural rules of a workflow; returns all findings, raises none.

Each rule is one generator over the definition. A place is a path into the document that the
workflow was read from; whoever read it says which line that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from flowrail.machines import findings as found
from flowrail.machines import graph, rules, wording
from flowrail.machines.definition import (
    BUILT_IN,
    LONGEST_NAME,
    REPORTABLE,
    STEP_ID,
    VALUE_NAME,
    WORKFLOW_NAME,
    Definition,
    Outcome,
    StepDef,
    handler_signature,
)
from flowrail.machines.findings import Finding, Locate, Path
from flowrail.machines.params import KINDS, Arg, kind_of

LARGEST_ACTIONS = 64_000


class _Raw(NamedTuple):
    """A finding before its place is turned into words."""

    code: str
    path: Path
    message: str
    remedy: str
    step: str | None = None
    severity: str = "error"


def check_workflow(workflow: Definition, *, locate: Locate | None = None) -> list[Finding]:
    """Return everything that is wrong with *workflow*, in the order of its steps.

    *locate* turns a path into the document, such as ``("steps", 2, "next", "ok")``, into a place
    to print; without it a place is where the step was made.
    """
    where = locate or _origin_of(workflow)
    raw = [finding for rule in RULES for finding in rule(workflow)]
    raw.sort(key=lambda each: each.path[1] if len(each.path) > 1 and isinstance(each.path[1], int) else -1)
    return [
        Finding(each.code, each.severity, each.message, each.remedy, where(each.path), each.step)
        for each in raw
    ]


def raise_errors(workflow: Definition) -> None:
    """Raise one `WorkflowError` with every finding of severity error."""
    found.raise_errors(workflow.name, check_workflow(workflow))


def _origin_of(workflow: Definition) -> Locate:
    def locate(path: Path) -> str:
        words = ".".join(str(part) for part in path)
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            step = workflow.steps[path[1]]
            inside = ".".join([step.id, *(str(part) for part in path[2:])])
            return f"{step.origin} ({inside})" if step.origin else inside
        return f"{workflow.origin} ({words})" if workflow.origin else words

    return locate


def _names(workflow: Definition) -> Iterator[_Raw]:
    if not WORKFLOW_NAME.match(str(workflow.name)) or len(workflow.name) > 2 * LONGEST_NAME:
        yield _Raw(
            "FR107",
            ("name",),
            f"`{workflow.name}` is no name for a workflow",
            "use lower-case words parted by hyphens, such as `problem-analysis`",
        )
    seen: dict[str, int] = {}
    for index, step in enumerate(workflow.steps):
        if not isinstance(step.id, str) or not STEP_ID.match(step.id):
            yield _Raw(
                "FR107",
                ("steps", index, "id"),
                f"`{step.id}` is no id for a step",
                "start with a letter; use letters, digits, `_` and `-`, at most 64",
                str(step.id),
            )
        if step.id in seen:
            yield _Raw(
                "FR106",
                ("steps", index, "id"),
                f"step `{step.id}` is defined twice, first as step {seen[step.id] + 1}",
                "give one of them another id",
                step.id,
            )
        seen.setdefault(step.id, index)


def _entry(workflow: Definition) -> Iterator[_Raw]:
    if not workflow.steps:
        yield _Raw("FR114", ("steps",), f"workflow `{workflow.name}` has no steps", "write at least one")
    elif workflow.entry_point not in workflow:
        hint = wording.did_you_mean(str(workflow.entry_point), workflow._step_order, "name one of the steps")  # noqa: SLF001
        yield _Raw("FR101", ("entry_point",), f"entry point `{workflow.entry_point}` is no step", hint)


def _targets(workflow: Definition) -> Iterator[_Raw]:
    for index, step in enumerate(workflow.steps):
        if not step.next:
            yield _Raw(
                "FR112",
                ("steps", index),
                f"step `{step.id}` has no way on",
                "say where it leads, `next: {ok: STEP}`, or that it ends the run, `next: {ok: null}`",
                step.id,
            )
        for outcome, target in step.next.items():
            path = ("steps", index, "next", str(outcome))
            if not isinstance(outcome, Outcome):
                words = wording.listed(Outcome)
                yield _Raw("FR113", path, f"`{outcome}` is no outcome", f"use one of {words}", step.id)
            if target is not None and target not in workflow:
                hint = wording.did_you_mean(str(target), workflow._step_order, "name one of the steps")  # noqa: SLF001
                yield _Raw(
                    "FR102", path, f"step `{step.id}` leads to `{target}`, which is no step", hint, step.id
                )
        if Outcome.DEFAULT in step.next and all(outcome in step.next for outcome in REPORTABLE):
            yield _Raw(
                "FR111",
                ("steps", index, "next", str(Outcome.DEFAULT)),
                f"step `{step.id}` names every outcome, so its default way is never taken",
                "take `_default` away, or one of the others",
                step.id,
            )


def _shape(workflow: Definition) -> Iterator[_Raw]:
    """Judge ends, reachability, livelocks and loops, only where the targets make sense."""
    if not workflow.steps or workflow.entry_point not in workflow:
        return
    after, before, ends = graph.adjacency(graph.edges(workflow))
    known = {source: [to for to in targets if to in workflow] for source, targets in after.items()}
    if not ends:
        yield _Raw(
            "FR103",
            ("steps",),
            "no step ends the workflow",
            "let the last step lead to nothing: `next: {ok: null}`",
        )
    reached = graph.reach([str(workflow.entry_point)], known)
    leaving = graph.reach(ends, before)
    for index, step in enumerate(workflow.steps):
        if step.id not in reached:
            yield _Raw(
                "FR104",
                ("steps", index),
                f"step `{step.id}` cannot be reached from `{workflow.entry_point}`",
                "lead to it from another step, or take it out",
                step.id,
            )
        elif ends and step.next and step.id not in leaving:
            yield _Raw(
                "FR108",
                ("steps", index),
                f"from step `{step.id}` no end can be reached",
                "give the loop it is in a way on that leads to an end",
                step.id,
            )
    yield from _loops(workflow, leaving)


def _loops(workflow: Definition, leaving: set[str]) -> Iterator[_Raw]:
    possible = list(graph.possible_edges(workflow))
    after, _, ends = graph.adjacency(possible)
    place = {step.id: index for index, step in reversed(list(enumerate(workflow.steps)))}
    for members in graph.components(workflow._step_order, after):  # noqa: SLF001
        inside = set(members)
        out = any(to not in inside for member in members for to in after.get(member, ())) or inside & ends
        if not out and inside <= leaving:
            in_order = sorted(inside & place.keys(), key=lambda step_id: place[step_id])
            first = in_order[0]
            yield _Raw(
                "FR109",
                ("steps", place[first]),
                f"the loop of {wording.listed(in_order)} is never left",
                "give a step of it a `limit` with an `ok` way out, or a rule whose outcome leads out",
                first,
            )


def _texts(workflow: Definition) -> Iterator[_Raw]:
    for index, step in enumerate(workflow.steps):
        if not step.title:
            yield _Raw(
                "FR115",
                ("steps", index),
                f"step `{step.id}` has no title",
                "give it one, a few words",
                step.id,
            )
        if not callable(step.actions):
            if not any(isinstance(each, str) and each.strip() for each in step.actions):
                yield _Raw(
                    "FR115",
                    ("steps", index),
                    f"step `{step.id}` tells nothing",
                    f"write `actions` or the file `steps/{step.id}.md`",
                    step.id,
                    "warning" if step.handler is not None else "error",
                )
            size = sum(len(str(each)) for each in step.actions)
            if size > LARGEST_ACTIONS:
                yield _Raw(
                    "FR115",
                    ("steps", index),
                    f"the text of step `{step.id}` has {size} characters; {LARGEST_ACTIONS} are the most",
                    "part the step, or keep the long text in a file that the agent reads",
                    step.id,
                )


def _ways_past(workflow: Definition) -> Iterator[_Raw]:
    settled: dict[str, bool] = {}
    for index, step in enumerate(workflow.steps):
        if step.when is None:
            continue
        if step.id == workflow.entry_point:
            yield _Raw(
                "FR116",
                ("steps", index, "when"),
                f"step `{step.id}` is the first and may not apply",
                "start with a step that always applies",
                step.id,
            )
        if not graph.settles(workflow, step.id, settled):
            yield _Raw(
                "FR116",
                ("steps", index, "when"),
                f"when step `{step.id}` does not apply, no step is found that does",
                "give the steps with `when` a `skip` way to one without",
                step.id,
            )


def _limits(workflow: Definition) -> Iterator[_Raw]:
    for index, step in enumerate(workflow.steps):
        if step.limit is None:
            continue
        path = ("steps", index, "limit")
        if not isinstance(step.limit, int) or isinstance(step.limit, bool) or step.limit < 1:
            yield _Raw(
                "FR117",
                path,
                f"the limit of step `{step.id}` is `{step.limit}`",
                "use a whole number from 1",
                step.id,
            )
        elif Outcome.ITERATE in step.ways and Outcome.OK not in step.ways:
            yield _Raw(
                "FR117",
                path,
                f"at its limit step `{step.id}` has no `ok` way to go on by",
                "add `ok`; the last `iterate` takes it",
                step.id,
            )


def _rules(workflow: Definition) -> Iterator[_Raw]:
    for index, step in enumerate(workflow.steps):
        if not step.rules:
            continue
        if step.handler is not None:
            yield _Raw(
                "FR124",
                ("steps", index, "rules"),
                f"step `{step.id}` has rules and a handler",
                "let one of them decide",
                step.id,
            )
        for place, rule in enumerate(step.rules):
            path = ("steps", index, "rules", place)
            if rule.outcome not in step.ways:
                yield _Raw(
                    "FR110",
                    path,
                    f"rule {place + 1} of step `{step.id}` decides `{rule.outcome}`, which leads nowhere",
                    f"add `{rule.outcome}` to `next`, or decide one of {wording.listed(step.ways)}",
                    step.id,
                )
            if rule.when is None and place < len(step.rules) - 1:
                yield _Raw(
                    "FR118",
                    path,
                    f"rule {place + 1} of step `{step.id}` always holds, so those after it are never tried",
                    "move it to the end",
                    step.id,
                )
        if step.rules[-1].when is not None:
            yield _Raw(
                "FR118",
                ("steps", index, "rules", len(step.rules) - 1),
                f"it may be that no rule of step `{step.id}` holds",
                "end with a rule without `if`",
                step.id,
            )


def _handlers(workflow: Definition) -> Iterator[_Raw]:
    for index, step in enumerate(workflow.steps):
        for name, declared in handler_signature(step.handler).items():
            if declared is False and name not in workflow.params and name not in step.reports:
                yield _Raw(
                    "FR105",
                    ("steps", index, "handler"),
                    f"the handler of step `{step.id}` asks for `{name}`, which nothing supplies",
                    "declare it with `Arg`, as a parameter of the workflow, or as a fact of the step",
                    step.id,
                )
        for outcome in _declared_outcomes(step.handler):
            if outcome not in step.ways:
                yield _Raw(
                    "FR110",
                    ("steps", index, "handler"),
                    f"the handler of step `{step.id}` may decide `{outcome}`, which leads nowhere",
                    f"add `{outcome}` to `next`",
                    step.id,
                )


def _declared_outcomes(handler: Any) -> list[str]:
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


def _values(workflow: Definition) -> Iterator[_Raw]:
    for name, arg in workflow.params.items():
        yield from _value(("params", name), name, arg, None)
    for index, step in enumerate(workflow.steps):
        for name, arg in step.reports.items():
            yield from _value(("steps", index, "reports", name), name, arg, step)


def _value(path: Path, name: str, arg: Arg, step: StepDef | None) -> Iterator[_Raw]:
    owner = step.id if step else None
    if not VALUE_NAME.match(name) or name in BUILT_IN or name in rules.WORDS or name in rules.CONSTANTS:
        yield _Raw(
            "FR107", path, f"`{name}` is no name for a value", "use a lower-case word such as `topic`", owner
        )
    odd = _odd(arg)
    if odd is not None:
        yield _Raw("FR122", path, f"`{name}` is {odd[0]}", odd[1], owner)
        return
    for message, remedy in (*_bound_problems(name, arg), *_example_problems(name, arg)):
        yield _Raw("FR122", path, message, remedy, owner)


def _odd(arg: Arg) -> tuple[str, str] | None:
    """Say what of a declaration nothing can be compared with, and what to use instead."""
    if arg.kind not in KINDS:
        return f"of type `{arg.kind}`", f"use one of {wording.listed(KINDS)}"
    for bounds, whole in (
        ((arg.min, arg.max), arg.kind == "integer"),
        ((arg.min_length, arg.max_length), True),
    ):
        for bound in bounds:
            if bound is not None and kind_of(bound) not in ({"integer"} if whole else {"integer", "number"}):
                return f"bounded by `{bound}`", "use a whole number" if whole else "use a number"
    return None


def _bound_problems(name: str, arg: Arg) -> Iterator[tuple[str, str]]:
    if arg.choices is not None and not arg.choices:
        yield f"`{name}` has an empty list of choices", "name the choices, or none at all"
    for low, high, unit in ((arg.min, arg.max, ""), (arg.min_length, arg.max_length, " long")):
        if low is not None and high is not None and low > high:
            yield f"`{name}` is at least {low} and at most {high}{unit}", "swap the bounds"
    for choice in arg.choices or ():
        problem = arg.problem(choice)
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


def _expressions(workflow: Definition) -> Iterator[_Raw]:
    reported: dict[str, Arg] = {name: arg for step in workflow.steps for name, arg in step.reports.items()}
    open_ended = any(callable(step.handler) for step in workflow.steps)
    for index, step in enumerate(workflow.steps):
        known = {**workflow.params, **reported}
        places: list[tuple[Path, Any]] = [(("steps", index, "when"), step.when)]
        places += [(("steps", index, "rules", at, "if"), rule.when) for at, rule in enumerate(step.rules)]
        places += [
            (("steps", index, "variants", at, "when"), each.when) for at, each in enumerate(step.variants)
        ]
        for path, source in places:
            if source is not None and not callable(source):
                yield from _expression(path, source, known, step, open_ended=open_ended)
        yield from _placeholders(index, step, known, open_ended=open_ended)


def _expression(
    path: Path, source: object, known: dict[str, Arg], step: StepDef, *, open_ended: bool
) -> Iterator[_Raw]:
    try:
        if not isinstance(source, str):
            raise rules.RuleError(f"is no text but `{source}`")  # noqa: TRY301 - told like any other
        expression = rules.parse(source)
    except rules.RuleError as error:
        yield _Raw(
            "FR119", path, f"the expression of step `{step.id}` {error}", "see the grammar of rules", step.id
        )
        return
    for name in sorted(expression.names - known.keys() - {"visit", "limit"}):
        if not open_ended:
            hint = wording.did_you_mean(
                name, [*known, "visit", "limit"], "declare it in `params` or `reports`"
            )
            yield _Raw(
                "FR120", path, f"`{source}` of step `{step.id}` uses `{name}`, unknown here", hint, step.id
            )
    for name, mark, literal in expression.comparisons():
        arg = known.get(name)
        equates = mark in {"==", "!="} and literal is not None
        if arg is not None and equates and _odd(arg) is None and _never(arg, literal):
            yield _Raw(
                "FR123",
                path,
                f"`{source}` of step `{step.id}` compares `{name}` with `{literal}`, which it never is",
                f"it {arg.problem(literal)}",
                step.id,
            )


def _never(arg: Arg, literal: Any) -> bool:
    return arg.problem(literal) is not None and not (arg.has_default and rules.same(arg.default, literal))


def _placeholders(index: int, step: StepDef, known: dict[str, Arg], *, open_ended: bool) -> Iterator[_Raw]:
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
        for name in sorted(wording.placeholders(text) - known.keys() - {"visit", "limit"}):
            if not open_ended:
                hint = wording.did_you_mean(
                    name, [*known, "visit", "limit"], f"write `$${name}` for the text itself"
                )
                yield _Raw(
                    "FR121", path, f"the text of step `{step.id}` has `${name}`, unknown here", hint, step.id
                )


RULES = (
    _names,
    _entry,
    _targets,
    _shape,
    _texts,
    _ways_past,
    _limits,
    _rules,
    _handlers,
    _values,
    _expressions,
)
