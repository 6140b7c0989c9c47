"""Sphinx directives for workflows: pictures and tables of skills.

    extensions = ["flowrail.sphinx.extension"]        # pip install 'flowrail[docs]'
    flow_roots = ["../skills"]                  # more folders of skills, relative to the pages

The directives ``flow-diagram`` and ``flow-steps``, in reStructuredText or MyST, take the name of a skill or workflow.
HTML gets an SVG picture, light or dark like the page; other formats get the table of steps. A page is read again if its
skill has changed. No code of a skill is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flowrail import __version__
from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import svg
from flowrail.discovery.locations import Root, Scope, skill_roots
from flowrail.errors import FlowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import workflow_source
from flowrail.operations.skills.draw import drawable
from flowrail.skills.catalog import find, workflow_file
from flowrail.text.safe_text import shortened

WIDEST = 40
"""The largest width of a column in characters, for formats that count them."""
LONGEST_CELL = 1_000
"""The longest text in a cell; longer ones end in an ellipsis."""


class _Directive(SphinxDirective):
    """A directive about a workflow."""

    required_arguments = 1
    final_argument_whitespace = False
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the nodes; an unknown skill is an error of the page."""
        try:
            return list(self.made())
        except FlowError as error:
            raise self.error(f"{error.message} ({error.hint})") from None

    def made(self) -> Iterator[nodes.Node]:
        """Yield the nodes."""
        raise NotImplementedError

    def workflow(self) -> Workflow:
        """Return the named workflow, and have the page read again if its files change."""
        address = self.arguments[0]
        file = workflow_file(address, find(address, self.roots()))
        loaded = workflow_source.read(file)
        for path in (file.path, *loaded.files):
            self.env.note_dependency(os.path.join(file.folder, path))
        return drawable(loaded.definition, loaded.findings)[0]

    def roots(self) -> tuple[Root, ...]:
        """Return the locations of skills: configured ones, the project, home."""
        home = os.path.expanduser("~")
        source_folder = str(self.env.srcdir)
        own = [os.path.join(source_folder, folder) for folder in self.config.flow_roots]
        named = tuple(Root(os.path.normpath(folder), Scope.EXTRA, "flow_roots") for folder in own)
        return (*named, *skill_roots(source_folder, home, os.environ))


class FlowDiagram(_Directive):
    """A workflow as a picture."""

    option_spec: ClassVar[dict[str, Any]] = {
        "caption": directives.unchanged,
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def made(self) -> Iterator[nodes.Node]:
        """Yield the picture for HTML, and the table of steps for other formats."""
        drawn = picture(self.workflow())
        name = nodes.make_id(f"flow-{self.env.docname}-{self.env.new_serialno('flow-diagram')}")
        made = svg.render(drawn, name=name, scheme="page")
        fitting = made.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        shown = nodes.figure("", nodes.raw("", fitting, format="html"), classes=["flow-diagram"])
        shown["classes"] += self.options.get("class", [])
        if "caption" in self.options:
            shown += nodes.caption("", self.options["caption"])
        self.add_name(shown)
        yield addnodes.only("", shown, expr="html")
        yield addnodes.only("", _steps_table(drawn), expr="not html")


class FlowSteps(_Directive):
    """The steps of a workflow."""

    def made(self) -> Iterator[nodes.Node]:
        """Yield the table."""
        yield _steps_table(picture(self.workflow()))


def _steps_table(drawn: Picture) -> nodes.table:
    """Return number, title, phase and notes of every step."""
    head = ("#", "Step", "Phase", "Notes")
    rows = [
        (str(node.number or ""), node.title, node.phase or "", "; ".join(node.notes))
        for node in drawn.nodes
        if node.is_step
    ]
    group = nodes.tgroup("", cols=len(head))
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    group += [nodes.colspec("", colwidth=min(WIDEST, wide + 2)) for wide in widths]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group)


def _row(cells: Sequence[str]) -> nodes.row:
    shown = (shortened(cell, LONGEST_CELL) for cell in cells)
    return nodes.row("", *(nodes.entry("", nodes.paragraph(cell, cell)) for cell in shown))


DIRECTIVES = {
    "flow-diagram": FlowDiagram,
    "flow-steps": FlowSteps,
}


def setup(app: Sphinx) -> dict[str, object]:
    """Add the directives to Sphinx."""
    app.add_config_value("flow_roots", [], "env", [list, tuple])
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
