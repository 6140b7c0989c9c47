"""Tables in Markdown: the steps of a workflow with their ways on, and skills with what they are for.

Ways on name the numbers of steps, so that a table needs nothing beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from flowrail.diagrams.words import times
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import blanked, is_shown

_ESCAPED = str.maketrans({each: f"\\{each}" for each in "\\`*[]<>|"})
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINNING = re.compile(r"\A(?:[0-9]{1,9}(?=[.)])|(?=[#+~_-]))")
"""What makes a heading, a list, a rule or a fence of a line."""
LONGEST_CELL = 400
OUTCOMES = ("Step", "Outcome", "Leads to", "At the limit")
PARAMS = ("Parameter", "Values", "Needed", "What it is")


def steps_table(workflow: Workflow) -> str:
    """Return the steps of *workflow* as a table: what each is called, who does it, where it leads."""
    phases = any(step.phase for step in workflow.steps)
    head = ["#", "Step", *(["Phase"] if phases else []), "Ways on"]
    rows = [
        [
            str(number),
            _named(step),
            *([cell(step.phase or "")] if phases else []),
            _ways(workflow, step),
        ]
        for number, step in enumerate(workflow.steps, start=1)
    ]
    return markdown(head, rows)


def outcomes_table(workflow: Workflow) -> str:
    """Return every way on of *workflow*, one a row, as the machine takes it."""
    return markdown(OUTCOMES, [[cell(each) for each in row] for row in outcome_rows(workflow)])


def outcome_rows(workflow: Workflow) -> Iterator[list[str]]:
    """Yield step, outcome, where it leads, and what its limit does, of every way on."""
    from flowrail.diagrams.extract import end_kind, ways_of

    for way in ways_of(workflow):
        step = workflow.step(way.source)
        to = str(end_kind(way.outcome)) if way.target is None else _numbered(workflow, way.target)
        bound = ""
        if way.limit is not None:
            then = "the user decides"
            if way.outcome == Outcome.ITERATE:
                then = "goes the way of ok"
            bound = f"after {times(way.limit)} {then}"
        named = way.outcome if Outcome(way.outcome) in step.next else f"{way.outcome} (any other)"
        yield [_numbered(workflow, way.source), named, to, bound]


def params_table(workflow: Workflow) -> str:
    """Return the parameters of *workflow*: what each is, whether it is needed, what stands in for it."""
    return markdown(PARAMS, [[cell(each) for each in row] for row in param_rows(workflow)])


def param_rows(workflow: Workflow) -> Iterator[list[str]]:
    """Yield name, type, need and meaning of every parameter."""
    for name, arg in workflow.params.items():
        kind = " or ".join(map(str, arg.choices)) if arg.choices else arg.kind
        need = (
            "required"
            if arg.required
            else f"default {_shown(arg.default)}"
            if arg.has_default
            else "optional"
        )
        yield [name, kind, need, arg.description]


def skills_table(items: Iterable[Mapping[str, Any]], *, folder: str = "flowrail/bundled") -> str:
    """Return skills, as `skills.shelf.items` gives them, as a table with a link to each one's card.

    *folder* is where they lie, as seen from the page; an empty one makes no links.
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
    return markdown(["Skill", "Steps", "Workflows beside it", "What it does"], rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    return "\n".join(_lines(head, rows))


def cell(text: str) -> str:
    """Return *text* as the content of a cell that shows just those characters, on one line."""
    line = " ".join(blanked(text).split())
    shown = line if len(line) <= LONGEST_CELL else f"{line[: LONGEST_CELL - 1]}…"
    return _ENTITY.sub(r"\\&", shown.translate(_ESCAPED))


def paragraph(text: str) -> str:
    """Return *text* as a paragraph that shows just those characters, on one line."""
    return _BEGINNING.sub(r"\g<0>\\", cell(text))


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"


def _named(step: StepDef) -> str:
    notes = list(_notes(step))
    return cell(step.name) + (f" ({'; '.join(notes)})" if notes else "")


def _condition(text: str) -> str:
    """Return a condition as code; as text, with everything escaped, where it could end that or a marked block."""
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


def _ways(workflow: Workflow, step: StepDef) -> str:
    ways = [
        f"{'any other' if outcome == Outcome.DEFAULT else cell(str(outcome))} → {_place(workflow, target)}"
        for outcome, target in step.next.items()
    ]
    return ", ".join(ways)


def _numbered(workflow: Workflow, step_id: str) -> str:
    return f"{workflow.number(step_id)} {workflow.step(step_id).name}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _place(workflow: Workflow, target: str | None) -> str:
    if target is None:
        return "end"
    return str(workflow.number(target)) if target in workflow else f"{cell(target)}?"
