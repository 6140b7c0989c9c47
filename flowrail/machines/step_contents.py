"""The texts and conditions of a step, each with its path in the step and its label, which names it in findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import Path
from flowrail.machines.step import StepDef


class StepText(NamedTuple):
    """A text with placeholders. ``names`` are the names that it may use besides parameters and facts.

    ``kind`` is the key that holds the text: title, actions, variants, questions, vars or prompt.
    """

    kind: str
    path: Path
    label: str
    text: str
    names: frozenset[str] = frozenset()


class StepCondition(NamedTuple):
    """A condition: an expression, or a function in Python. ``kind`` is the key that holds it."""

    kind: str
    path: Path
    label: str
    when: str | Callable[..., object]


def texts_of(step: StepDef) -> Iterator[StepText]:
    """Yield every text of *step* that is not a function."""
    if not callable(step.title):
        yield StepText("title", ("title",), "the title", step.title)
    yield from instructions_of(step)
    for number, question in enumerate(step.questions):
        options = (part for option in question.options for part in (option.label, option.description))
        for text in (question.text, *options):
            yield StepText("questions", ("questions", number), f"question `{question.id}`", text)
    work = step.handler if isinstance(step.handler, Dispatch) else step.dispatch
    if work is None:
        return
    item = frozenset({"item"} if work.over is not None else ())
    for name, value in work.vars.items():
        if isinstance(value, str):
            yield StepText("vars", ("dispatch", "vars", name), f"variable `{name}`", value, item)
    for text in work.prompt:
        yield StepText("prompt", ("dispatch", "prompt"), "the prompt", text, item.union(work.vars))


def instructions_of(step: StepDef) -> Iterator[StepText]:
    """Yield the instructions of *step* and of its variants."""
    for number, text in enumerate(() if callable(step.actions) else step.actions):
        yield StepText("actions", ("actions", number), "the text", text)
    for number, variant in enumerate(step.variants):
        for text in variant.actions:
            yield StepText("variants", ("variants", number, "text"), f"variant {number + 1}", text)


def conditions_of(step: StepDef) -> Iterator[StepCondition]:
    """Yield every condition of *step*."""
    if step.when is not None:
        yield StepCondition("when", ("when",), "`when`", step.when)
    for number, rule in enumerate(step.rules):
        if rule.when is not None:
            yield StepCondition("rules", ("rules", number, "if"), f"rule {number + 1}", rule.when)
    for number, variant in enumerate(step.variants):
        yield StepCondition("variants", ("variants", number, "when"), f"variant {number + 1}", variant.when)
