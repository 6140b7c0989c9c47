"""The parts of a step, each with its path in the step and the words that name it in findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flowrail.machines.findings import Path
from flowrail.machines.graph import Edge
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow


@dataclass(frozen=True)
class Part:
    """A part of a step, or of a workflow."""

    kind: str
    """The sort of value: step, transition, function, rule, condition, text, value, question, option, work, gate,
    demand, check, command, pattern; or workflow."""
    path: Path
    label: str
    """What findings call it."""
    value: Any
    step: Any = None
    names: frozenset[str] = frozenset()
    """For a text: the names that it may use besides parameters and facts."""

    @property
    def key(self) -> str:
        """The key that holds it: title, actions, variants, questions, vars or prompt for a text."""
        return str(self.path[1] if self.path[0] == "dispatch" else self.path[0])

    @property
    def name(self) -> str:
        """The last word of its path."""
        return str(self.path[-1])

    @property
    def full(self) -> str:
        """What findings call it, with its step."""
        return f"{self.label} of step `{self.step.id}`"

    def __str__(self) -> str:
        return self.label


def parts_of(step: StepDef) -> Iterator[Part]:
    """Yield every part of *step*, itself first."""
    yield Part("step", (), f"step `{step.id}`", step, step)
    for outcome, target in step.next.items():
        yield Part("transition", ("next", str(outcome)), str(outcome), Edge(step.id, outcome, target), step)
    for name in ("title", "actions", "handler"):
        if callable(getattr(step, name)):
            yield Part("function", (name,), f"`{name}`", getattr(step, name), step)
    for number, rule in enumerate(step.rules):
        yield Part("rule", ("rules", number), f"rule {number + 1}", rule, step)
    for name, arg in step.reports.items():
        yield Part("value", ("reports", name), f"`{name}`", arg, step)
    yield from conditions_of(step)
    yield from texts_of(step)
    yield from _questions_of(step)
    yield from _evidence_of(step)


def has_functions(workflow: Workflow) -> bool:
    """Return whether *workflow* contains functions, which plain data cannot hold."""
    return any(part.kind == "function" for step in workflow.steps for part in parts_of(step))


def _questions_of(step: StepDef) -> Iterator[Part]:
    """Yield the questions, sub-agents and gate of *step*."""
    for number, question in enumerate(step.questions):
        yield Part("question", ("questions", number), question.id, question, step)
        for position, option in enumerate(question.options):
            yield Part("option", ("questions", number, "options", position), question.id, option, step)
    if step.work is not None:
        yield Part("work", ("dispatch",), "", step.work, step)
    if step.gate is not None:
        yield Part("gate", ("gate",), "", step.gate, step)


def _evidence_of(step: StepDef) -> Iterator[Part]:
    """Yield the commands and the evidence of *step*."""
    for name, command in step.commands.items():
        yield Part("command", ("commands", name), f"command `{name[:60]}`", command, step)
        for fact, pattern in command.facts.items():
            path = ("commands", name, "facts", fact)
            yield Part("pattern", path, f"command `{name[:60]}`", pattern, step)
    for outcome, checks in step.evidence.items():
        yield Part("demand", ("evidence", outcome), outcome, checks, step)
        for number, check in enumerate(checks):
            yield Part("check", ("evidence", outcome, number), f"check `{check.id}`", check, step)


def texts_of(step: StepDef) -> Iterator[Part]:
    """Yield every text of *step* that is not a function."""
    if not callable(step.title):
        yield Part("text", ("title",), "the title", step.title, step)
    yield from instructions_of(step)
    for number, question in enumerate(step.questions):
        options = (part for option in question.options for part in (option.label, option.description))
        for text in (question.text, *options):
            yield Part("text", ("questions", number), f"question `{question.id}`", text, step)
    if step.work is None:
        return
    item = frozenset({"item"} if step.work.over is not None else ())
    for name, value in step.work.vars.items():
        if isinstance(value, str):
            yield Part("text", ("dispatch", "vars", name), f"variable `{name}`", value, step, item)
    for text in step.work.prompt:
        yield Part("text", ("dispatch", "prompt"), "the prompt", text, step, item.union(step.work.vars))


def instructions_of(step: StepDef) -> Iterator[Part]:
    """Yield the instructions of *step* and of its variants."""
    for number, text in enumerate(() if callable(step.actions) else step.actions):
        yield Part("text", ("actions", number), "the text", text, step)
    for number, variant in enumerate(step.variants):
        for text in variant.actions:
            yield Part("text", ("variants", number, "text"), f"variant {number + 1}", text, step)


def conditions_of(step: StepDef) -> Iterator[Part]:
    """Yield every condition of *step*: expressions, and functions in Python."""
    conditions: list[tuple[Path, str, object]] = [(("when",), "`when`", step.when)]
    conditions += [
        (("rules", number, "if"), f"rule {number + 1}", rule.when) for number, rule in enumerate(step.rules)
    ]
    conditions += [
        (("variants", number, "when"), f"variant {number + 1}", variant.when)
        for number, variant in enumerate(step.variants)
    ]
    for path, label, when in conditions:
        if when is not None:
            yield Part("function" if callable(when) else "condition", path, label, when, step)
