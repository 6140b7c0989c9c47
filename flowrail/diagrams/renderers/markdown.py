"""Tables of steps and of skills in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import is_shown, shortened

_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})
_ENTITY = re.compile(r"&(?=#?\w+;)")
LONGEST_CELL = 400


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


def skills_table(items: Iterable[Mapping[str, Any]], *, folder: str = "flowrail/bundled") -> str:
    """Return skills, as `skills.summary.items` yields them, as a table with links to their `SKILL.md`.

    *folder* is their folder relative to the page; an empty one makes no links.
    """
    base = quote(folder, errors="surrogateescape")
    rows = [
        [
            f"[{cell(item['name'])}]({base}/{item['name']}/SKILL.md)" if folder else cell(item["name"]),
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


def _named(step: StepDef) -> str:
    notes = list(_notes(step))
    return cell(step.name) + (f" ({'; '.join(notes)})" if notes else "")


def _condition(text: str) -> str:
    """Return a condition as code, or as escaped text if it could end the code or an embedded block."""
    is_plain = bool(text) and is_shown(text.replace("\t", " ")) and "`" not in text and "<!--" not in text
    return f"`{text}`".replace("|", "\\|") if is_plain else cell(text)


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
