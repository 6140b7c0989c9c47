"""Workflows as one Markdown document: pictures, tables, and links between workflows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowrail.diagrams.renderers import mermaid
from flowrail.diagrams.renderers.document import (
    WorkflowPicture,
    agent_workflows,
    anchor,
    paragraphs,
    table_sections,
)
from flowrail.diagrams.renderers.markdown_tables import cell, paragraph, table


def render(drawn: Sequence[WorkflowPicture]) -> str:
    """Return workflows as one document; the first workflow gives it its title."""
    links = {workflow.name: f"#{anchor(workflow.picture.name)}" for workflow in drawn}
    return "\n\n".join(
        part for position, workflow in enumerate(drawn) for part in _parts(workflow, position, links)
    )


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
