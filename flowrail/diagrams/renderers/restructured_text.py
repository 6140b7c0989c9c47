"""Workflows as one reStructuredText document: SVG pictures for HTML, and tables for every other format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from unicodedata import east_asian_width

from flowrail.diagrams.renderers import svg
from flowrail.diagrams.renderers.document import (
    LONGEST_DESCRIPTION,
    WorkflowPicture,
    agent_workflows,
    anchor,
    paragraphs,
    table_sections,
)
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.text.safe_text import shortened

_SPECIAL_AT_START = frozenset("\\`*_|<>:[]{}~^=-+#\"'.()!$%&/;?@,")
_SPECIAL_ANYWHERE = frozenset("\\`*_|<>:[]")
_SPECIAL_AFTER_NUMBER = frozenset(".)")


def render(drawn: Sequence[WorkflowPicture]) -> str:
    """Return workflows as one document; the first workflow gives it its title."""
    links = {workflow.name: f"#{anchor(workflow.picture.name)}" for workflow in drawn}
    return "\n\n".join(
        part for position, workflow in enumerate(drawn) for part in _parts(workflow, position, links)
    )


def escaped(text: str) -> str:
    """Return *text* as one paragraph, with a backslash before every character that is markup."""
    line = shortened(text, LONGEST_DESCRIPTION)
    return "".join(
        f"\\{char}" if char in _special(line, position) else char for position, char in enumerate(line)
    )


def _special(text: str, position: int) -> frozenset[str]:
    if position == 0:
        return _SPECIAL_AT_START
    return _SPECIAL_ANYWHERE | _SPECIAL_AFTER_NUMBER if text[:position].isalnum() else _SPECIAL_ANYWHERE


def _parts(drawn: WorkflowPicture, position: int, links: Mapping[str, str]) -> Iterator[str]:
    name = drawn.picture.name
    yield f".. _{anchor(name).strip('-_') or f'workflow-{position}'}:"
    yield _heading(name, "=" if not position else "-")
    yield from paragraphs(drawn, escaped)
    yield _raw_html(svg.render(drawn.picture, name=f"flow-{position}-{anchor(name)}", links=links))
    for section in table_sections(drawn):
        if section.rows:
            yield "\n".join(_table(section.title, section.head, section.rows))
    names = agent_workflows(drawn.picture)
    if names:
        linked = (
            f"`{name} <{links[name]}>`__" if name in links and WORKFLOW_NAME.match(name) else escaped(name)
            for name in names
        )
        yield f"Its agents run {', '.join(linked)}."


def _heading(text: str, mark: str) -> str:
    """Return a title with its underline, which is as wide as the title on a terminal."""
    title = escaped(text) or "workflow"
    columns = max(4, sum(2 if east_asian_width(char) in "WF" else 1 for char in title))
    return f"{title}\n{mark * columns}"


def _raw_html(html: str) -> str:
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in html.splitlines())


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f".. list-table:: {escaped(title)}"
    yield "   :header-rows: 1"
    yield ""
    for row in (head, *rows):
        for position, text in enumerate(row):
            cell = escaped(text)
            yield f"   {'*' if not position else ' '} -{f' {cell}' if cell else ''}"
