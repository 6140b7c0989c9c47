"""The content of a document about workflows: their pictures, tables and the state of a session.

`markdown`, `html` and the Sphinx extension write it in their languages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flowrail.diagrams.extract import end_kind, ways_of
from flowrail.diagrams.model import Picture, Trace
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.phrases import duration, times
from flowrail.text.safe_text import shortened

STEPS = ("#", "Step", "Phase", "Notes")
OUTCOMES = ("Step", "Outcome", "Leads to", "At the limit")
PARAMS = ("Parameter", "Values", "Needed", "Description")
PATH = ("Revision", "At", "Step", "Outcome", "To", "Duration")
LONGEST_DESCRIPTION = 1_000


class WorkflowPicture(NamedTuple):
    """A picture and its workflow; `None` for the picture of another machine, such as the handoff's."""

    workflow: Workflow | None
    picture: Picture

    @property
    def name(self) -> str:
        """The name of the workflow or machine."""
        return self.workflow.name if self.workflow is not None else self.picture.name

    @property
    def description(self) -> str:
        """Its whole description."""
        return self.workflow.description if self.workflow is not None else self.picture.description


class TableSection(NamedTuple):
    """A table with its title. A table without rows is left out of the document."""

    title: str
    head: Sequence[str]
    rows: list[list[str]]


def anchor(name: str) -> str:
    """Return the anchor of the section on a workflow, as GitHub makes it."""
    return "".join(char for char in name.lower() if char.isalnum() or char in "-_")


def table_sections(drawn: WorkflowPicture) -> Iterator[TableSection]:
    """Yield the tables of a workflow."""
    workflow, picture = drawn
    if workflow is not None:
        yield TableSection("Parameters", PARAMS, list(param_rows(workflow)))
    rows = [
        [str(node.number or ""), node.title, node.phase or "", "; ".join(picture.notes(node))]
        for node in picture.nodes
        if node.is_step
    ]
    yield TableSection("Steps", STEPS, rows)
    transitions = _arrow_rows(picture) if workflow is None else outcome_rows(workflow)
    yield TableSection("Transitions", OUTCOMES, list(transitions))
    if picture.trace is not None:
        yield TableSection("Session", PATH, list(_path_rows(picture.trace)))


def paragraphs(drawn: WorkflowPicture, escape: Callable[[str], str]) -> Iterator[str]:
    """Yield the description, the state of the session and the limits, each after *escape*."""
    if drawn.picture.description:
        yield escape(shortened(drawn.description, LONGEST_DESCRIPTION))
    if drawn.picture.trace is not None:
        yield escape(session_summary(drawn.picture))
    limits = [node for node in drawn.picture.nodes if node.limit is not None]
    if limits:
        listed = "; ".join(f"{node.title}: at most {times(node.limit or 0)}" for node in limits)
        yield escape(f"Limits: {listed}.")


def session_summary(picture: Picture) -> str:
    """Return the state of the session and what is left; an empty text without a session."""
    trace = picture.trace
    if trace is None:
        return ""
    titles = {
        node.id: f"{node.number} · {node.title}" if node.number else node.title for node in picture.nodes
    }
    place = f", at {titles.get(trace.current, trace.current)}" if trace.current else ""
    moves = sum(bool(entry.path) for entry in trace.entries)
    summary = (
        f"Session {trace.session}: {trace.status}{place}, after {moves} {'move' if moves == 1 else 'moves'}."
    )
    left = [titles[node.id] for node in picture.nodes if node.is_step and trace.state(node) == "left"]
    return f"{summary} Still to come: {', '.join(left)}." if left else summary


def agent_workflows(picture: Picture) -> list[str]:
    """Return the workflows that the agents of *picture* run, each once."""
    return list(dict.fromkeys(node.run for node in picture.nodes if node.run is not None))


def outcome_rows(workflow: Workflow) -> Iterator[list[str]]:
    """Yield the step, outcome, target and limit of every transition."""
    for way in ways_of(workflow):
        step = workflow.step(way.source)
        to = str(end_kind(way.outcome)) if way.target is None else _numbered(workflow, way.target)
        bound = ""
        if way.limit is not None:
            then = "the user decides"
            if way.outcome == Outcome.ITERATE:
                then = "it leads where ok does"
            bound = f"after {times(way.limit)} {then}"
        named = way.outcome if Outcome(way.outcome) in step.next else f"{way.outcome} (any other)"
        yield [_numbered(workflow, way.source), named, to, bound]


def param_rows(workflow: Workflow) -> Iterator[list[str]]:
    """Yield name, values, need and description of every parameter."""
    for name, arg in workflow.params.items():
        kind = " or ".join(map(str, arg.choices)) if arg.choices else arg.kind
        need = (
            "required"
            if arg.required
            else f"default {json.dumps(arg.default, ensure_ascii=False, default=str)}"
            if arg.has_default
            else "optional"
        )
        yield [name, kind, need, arg.description]


def _numbered(workflow: Workflow, step_id: str) -> str:
    return f"{workflow.number(step_id)} {workflow.step(step_id).name}"


def _arrow_rows(picture: Picture) -> Iterator[list[str]]:
    titles = {node.id: node.title for node in picture.nodes}
    for arrow in picture.arrows:
        for label in arrow.outcomes:
            yield [titles[arrow.source], label, titles[arrow.target], ""]


def _path_rows(trace: Trace) -> Iterator[list[str]]:
    for entry in trace.entries:
        moved = entry.outcome is not None
        yield [
            str(entry.revision),
            entry.at,
            entry.step or "",
            f"{entry.outcome}{' (at the limit)' if entry.capped else ''}" if moved else entry.kind,
            (entry.to or entry.status) if entry.path else "",
            duration(entry.seconds),
        ]
