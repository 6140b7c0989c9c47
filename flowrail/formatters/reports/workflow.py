"""A workflow as tables, for `flow show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowrail.command import value_text
from flowrail.machines.findings import Finding
from flowrail.machines.step import StepDef, fact_args
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import count
from flowrail.text.report import Column, Report, Table, columns, paragraphs, section, title
from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened


def report(workflow: Workflow, findings: Sequence[Finding], *, source: str, others: Sequence[str]) -> Report:
    """Return a workflow with its *findings*. *others* are the other workflows of the skill."""
    about = shortened(one_line(workflow.description), LONGEST_LINE)
    head = title(f"{one_line(workflow.name)} · {count(workflow.total_steps, 'step')} · {source}")
    return paragraphs(
        [head, about] if about else [head],
        _table(
            "Parameters",
            columns("name", "type", "about", wraps=("about",)),
            ([name, arg.kind, _about(arg)] for name, arg in workflow.params.items()),
        ),
        _table(
            "Steps",
            columns(
                *("#", "step", "title", "phase", "transitions"),
                wraps=("title", "transitions"),
                optional=("phase",),
            ),
            (
                [str(number), step.id, step.name, step.phase or "", _transitions(step)]
                for number, step in enumerate(workflow.steps, 1)
            ),
        ),
        section("Then", [f"  {one_line(workflow.then)}"] if workflow.then else []),
        section("Other workflows", [f"  {one_line(name)}" for name in others]),
        section("Findings", [f"  {one_line(finding.line)}" for finding in findings]),
    )


def _table(name: str, head: Sequence[Column], rows: Iterator[list[str]]) -> Report:
    listed = list(rows)
    return [title(name), Table(head, listed)] if listed else []


def _about(arg: Arg) -> str:
    words = ["required"] if arg.required else []
    if arg.choices:
        words.append("one of " + ", ".join(map(str, arg.choices)))
    if arg.has_default and arg.default not in (None, ""):
        words.append(f"default {value_text(arg.default)}")
    if arg.example is not None:
        words.append(f"such as {value_text(arg.example)}")
    return "; ".join(words)


def _transitions(step: StepDef) -> str:
    transitions = ", ".join(f"{outcome} → {target or 'end'}" for outcome, target in step.next.items())
    notes = "; ".join(_notes(step))
    return f"{transitions} ({notes})" if notes else transitions


def _notes(step: StepDef) -> Iterator[str]:
    """Yield what decides the outcome of *step*, when it applies, and what a report needs."""
    if step.decides:
        deciding = {"gate": step.gate, "questions": step.questions, "rules": step.rules}
        yield f"decided by its {next((key for key, value in deciding.items() if value), 'handler')}"
    if step.work is not None:
        yield f"dispatches {step.work.agent or step.work.workflow}"
    if step.limit:
        yield f"at most {count(step.limit, 'attempt')}"
    if step.when is not None:
        yield f"only when {step.when if isinstance(step.when, str) else 'its function says so'}"
    if reported := fact_args(step):
        yield f"reports {', '.join(reported)}"
    if step.forbids:
        yield f"forbids {', '.join(step.forbids)}"
    for outcome, checks in step.evidence.items():
        yield f"{outcome} needs evidence: {', '.join(check.id for check in checks)}"
