"""Workflows as Markdown: a whole document, or its tables of steps, transitions, parameters and skills."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from flowrail.diagrams.renderers import mermaid
from flowrail.diagrams.renderers.document import (
    OUTCOMES,
    PARAMS,
    WorkflowPicture,
    agent_workflows,
    anchor,
    outcome_rows,
    paragraphs,
    param_rows,
    table_sections,
)
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import is_shown, shortened

_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINNING = re.compile(r"\A(?:[0-9]{1,9}(?=[.)])|(?=[#+~_-]))")
"""A start that turns a line into a heading, a list, a rule or a fence."""
LONGEST_CELL = 400


def render(drawn: Sequence[WorkflowPicture]) -> str:
    """Return workflows as one document; the first workflow gives it its title."""
    links = {workflow.name: f"#{anchor(workflow.picture.name)}" for workflow in drawn}
    return "\n\n".join(
        part for position, workflow in enumerate(drawn) for part in _parts(workflow, position, links)
    )


def steps_table(workflow: Workflow) -> str:
    """Return the steps of *workflow* as a table: title, phase and transitions."""
    phases = any(step.phase for step in workflow.steps)
    head = ["#", "Step", *(["Phase"] if phases else []), "Transitions"]
    rows = [
        [
            str(number),
            _named(step),
            *([cell(step.phase or "")] if phases else []),
            _transitions(workflow, step),
        ]
        for number, step in enumerate(workflow.steps, start=1)
    ]
    return table(head, rows)


def outcomes_table(workflow: Workflow) -> str:
    """Return every transition of *workflow*, one per row."""
    return table(OUTCOMES, [[cell(text) for text in row] for row in outcome_rows(workflow)])


def params_table(workflow: Workflow) -> str:
    """Return the parameters of *workflow* as a table."""
    return table(PARAMS, [[cell(text) for text in row] for row in param_rows(workflow)])


def skills_table(items: Iterable[Mapping[str, Any]], *, folder: str = "flowrail/bundled") -> str:
    """Return skills, as `skills.summary.items` yields them, as a table with links to their `SKILL.md`.

    *folder* is their folder relative to the page; an empty one makes no links.
    """
    above = quote(folder, errors="surrogateescape")
    rows = [
        [
            f"[{cell(item['name'])}]({above}/{item['name']}/SKILL.md)" if folder else cell(item["name"]),
            str(item["total_steps"]),
            f"{len(item['workflows'])} more" if item["workflows"] else "",
            cell(item["description"]),
        ]
        for item in items
    ]
    return table(["Skill", "Steps", "Other workflows", "Description"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def cell(text: str) -> str:
    """Return *text* as the escaped content of a cell, on one line."""
    return _ENTITY.sub(r"\\&", shortened(text, LONGEST_CELL).translate(_ESCAPED))


def paragraph(text: str) -> str:
    """Return *text* as an escaped paragraph, on one line."""
    return _BEGINNING.sub(r"\g<0>\\", cell(text))


def _parts(drawn: WorkflowPicture, position: int, links: Mapping[str, str]) -> Iterator[str]:
    depth = "#" if not position else "##"
    yield f"{depth} {cell(drawn.picture.name)}"
    yield from paragraphs(drawn, paragraph)
    yield f"```mermaid\n{mermaid.render(drawn.picture)}\n```"
    for section in table_sections(drawn):
        if section.rows:
            yield f"{depth}# {section.title}"
            yield table(section.head, [[cell(text) for text in row] for row in section.rows])
    names = agent_workflows(drawn.picture)
    if names:
        linked = (f"[{cell(name)}]({links[name]})" if name in links else cell(name) for name in names)
        yield f"Its agents run {', '.join(linked)}."


def _named(step: StepDef) -> str:
    notes = list(_notes(step))
    return cell(step.name) + (f" ({'; '.join(notes)})" if notes else "")


def _condition(text: str) -> str:
    """Return a condition as code, or as escaped text if it could end the code or an embedded block."""
    plain = bool(text) and is_shown(text.replace("\t", " ")) and "`" not in text and "<!--" not in text
    return f"`{text}`".replace("|", "\\|") if plain else cell(text)


def _notes(step: StepDef) -> Iterator[str]:
    if step.when is not None:
        yield "when computed" if callable(step.when) else f"when {_condition(str(step.when))}"
    if step.work is not None:
        yield f"{'agents' if step.work.over is not None else 'agent'}: {cell(step.work.agent)}"
    if step.gate is not None:
        yield "gate"
    if step.questions:
        yield "asks the user"
    if step.bound is not None:
        yield f"at most {step.bound} times"


def _transitions(workflow: Workflow, step: StepDef) -> str:
    transitions = [
        f"{'any other' if outcome == Outcome.DEFAULT else cell(str(outcome))} → {_target(workflow, target)}"
        for outcome, target in step.next.items()
    ]
    return f"{'done: ' if step.decides else ''}{', '.join(transitions)}"


def _target(workflow: Workflow, target: str | None) -> str:
    if target is None:
        return "end"
    return str(workflow.number(target)) if target in workflow else f"{cell(target)}?"
