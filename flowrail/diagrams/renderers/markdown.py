"""A workflow as a document, in Markdown or reStructuredText: its picture, its tables, and what its agents run.

The parts are worked out once and written in either language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flowrail.diagrams.model import Picture, Trace
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.renderers.markdown_tables import (
    OUTCOMES,
    PARAMS,
    cell,
    markdown,
    outcome_rows,
    paragraph,
    param_rows,
)
from flowrail.diagrams.renderers.restructured import (
    heading,
    listing,
    raw,
    said,
)
from flowrail.diagrams.words import line, times, took
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.machines.definition.workflow import Workflow

STEPS = ("#", "Step", "Phase", "What it is")
PATH = ("Revision", "At", "Step", "Outcome", "To", "Took")


class Drawn(NamedTuple):
    """A picture, and the workflow that it is of; none where it is that of another machine."""

    workflow: Workflow | None
    picture: Picture

    @property
    def name(self) -> str:
        """What it is of."""
        return self.workflow.name if self.workflow is not None else self.picture.name

    @property
    def description(self) -> str:
        """What that is for, in full."""
        return self.workflow.description if self.workflow is not None else self.picture.description


class Part(NamedTuple):
    """A table with its title; without rows it is left out."""

    title: str
    head: Sequence[str]
    rows: list[list[str]]


def as_markdown(drawn: Sequence[Drawn]) -> str:
    """Return workflows as one Markdown document, the first with a title of its own."""
    links = {each.name: f"#{anchor(each.picture.name)}" for each in drawn}
    return "\n\n".join(part for place, each in enumerate(drawn) for part in _markdown(each, place, links))


def as_restructured(drawn: Sequence[Drawn]) -> str:
    """Return workflows as one reStructuredText document; pictures are SVG for HTML, tables for all else."""
    links = {each.name: f"#{anchor(each.picture.name)}" for each in drawn}
    return "\n\n".join(part for place, each in enumerate(drawn) for part in _restructured(each, place, links))


def anchor(name: str) -> str:
    """Return the anchor of the section on a workflow, as GitHub makes it."""
    return "".join(char for char in name.lower() if char.isalnum() or char in "-_")


def parts(drawn: Drawn) -> Iterator[Part]:
    """Yield the tables of a workflow."""
    workflow, picture = drawn
    if workflow is not None:
        yield Part("Parameters", PARAMS, list(param_rows(workflow)))
    rows = [
        [str(node.number or ""), node.title, node.phase or "", "; ".join(picture.notes(node))]
        for node in picture.nodes
        if node.is_step
    ]
    yield Part("Steps", STEPS, rows)
    yield Part("Ways on", OUTCOMES, list(_ways(picture) if workflow is None else outcome_rows(workflow)))
    if picture.trace is not None:
        yield Part("The way it took", PATH, list(_path(picture.trace)))


def standing(picture: Picture) -> str:
    """Return where a session is and what is left, in a sentence or two; nothing without a session."""
    trace = picture.trace
    if trace is None:
        return ""
    titles = {node.id: f"{node.number or ''} {node.title}".strip() for node in picture.nodes}
    here = f", at {titles.get(trace.current, trace.current)}" if trace.current else ""
    moves = sum(bool(stop.way) for stop in trace.stops)
    told = (
        f"Session {trace.session}: {trace.status}{here}, after {moves} {'move' if moves == 1 else 'moves'}."
    )
    left = [titles[node.id] for node in picture.nodes if node.is_step and trace.state(node) == "left"]
    return f"{told} Left: {', '.join(left)}." if left else told


def _ways(picture: Picture) -> Iterator[list[str]]:
    titles = {node.id: node.title for node in picture.nodes}
    for arrow in picture.arrows:
        for label in arrow.outcomes:
            yield [titles[arrow.source], label, titles[arrow.target], ""]


def _path(trace: Trace) -> Iterator[list[str]]:
    for stop in trace.stops:
        moved = stop.outcome is not None
        yield [
            str(stop.revision),
            stop.at,
            stop.step or "",
            f"{stop.outcome}{' (at the limit)' if stop.capped else ''}" if moved else stop.kind,
            (stop.to or stop.status) if stop.way else "",
            took(stop.seconds) if stop.seconds is not None else "",
        ]


def _markdown(drawn: Drawn, place: int, links: Mapping[str, str]) -> Iterator[str]:
    depth = "#" if not place else "##"
    yield f"{depth} {cell(drawn.picture.name)}"
    yield from _texts(drawn, paragraph)
    yield f"```mermaid\n{mermaid.render(drawn.picture)}\n```"
    for part in parts(drawn):
        if part.rows:
            yield f"{depth}# {part.title}"
            yield markdown(part.head, [[cell(each) for each in row] for row in part.rows])
    runs = _runs(drawn.picture)
    if runs:
        shown = (f"[{cell(name)}]({links[name]})" if name in links else cell(name) for name in runs)
        yield f"Its agents run {', '.join(shown)}."


def _restructured(drawn: Drawn, place: int, links: Mapping[str, str]) -> Iterator[str]:
    yield f".. _{anchor(drawn.picture.name).strip('-_') or f'workflow-{place}'}:"
    yield heading(drawn.picture.name, "=" if not place else "-")
    yield from _texts(drawn, said)
    name = f"flow-{place}-{anchor(drawn.picture.name)}"
    yield raw(svg.render(drawn.picture, name=name, links=links))
    for part in parts(drawn):
        if part.rows:
            yield listing(part.title, part.head, part.rows)
    runs = _runs(drawn.picture)
    if runs:
        shown = (
            f"`{name} <{links[name]}>`__" if name in links and WORKFLOW_NAME.match(name) else said(name)
            for name in runs
        )
        yield f"Its agents run {', '.join(shown)}."


def _texts(drawn: Drawn, escape: Callable[[str], str]) -> Iterator[str]:
    if drawn.picture.description:
        yield escape(line(drawn.description, 1_000))
    if drawn.picture.trace is not None:
        yield escape(standing(drawn.picture))
    limits = [node for node in drawn.picture.nodes if node.limit is not None]
    if limits:
        told = "; ".join(f"{node.title}: at most {times(node.limit or 0)}" for node in limits)
        yield escape(f"Limits: {told}.")


def _runs(picture: Picture) -> list[str]:
    return list(dict.fromkeys(node.run for node in picture.nodes if node.run is not None))
