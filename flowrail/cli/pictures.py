"""The shared options of commands that draw, and the output of pictures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from flowrail.cli import options, output, streams
from flowrail.diagrams.renderers import dot, html, markdown, mermaid, png, restructured_text, svg
from flowrail.diagrams.renderers.json import as_data
from flowrail.errors import UsageError

if TYPE_CHECKING:
    from flowrail.diagrams.model import Picture
    from flowrail.diagrams.renderers.document import WorkflowPicture

FORMS = ("mermaid", "dot", "svg", "png", "md", "rst", "html", "json")
WITH_OTHERS = frozenset({"md", "rst", "html"})
"""Formats that hold several workflows."""


form = options.stacked(
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMS),
        default="mermaid",
        show_default=True,
        help="The diagram language.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    options.color,
)
session = click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="Show this session: its step, its path, the steps left.",
    shell_complete=options.complete("sessions"),
)
link = click.option(
    "--link",
    metavar="TEMPLATE",
    help="The files for the workflows of sub-agents, such as {workflow}.svg (mermaid, dot, svg).",
)
into = click.option("-o", "--output", "into", metavar="FILE", help="Write it there.")


def put(
    drawn: Sequence[WorkflowPicture], form: str, *, link: str | None = None, into: str | None = None
) -> None:
    """Draw and print, or write to a file."""
    streams.together()
    if form in WITH_OTHERS:
        put_document(_together(drawn, form), into)
    else:
        _put_picture(drawn[0].picture, form, link=link, into=into)


def _together(drawn: Sequence[WorkflowPicture], form: str) -> str:
    if form == "html":
        return html.render(drawn)

    return markdown.render(drawn) if form == "md" else restructured_text.render(drawn)


def _put_picture(picture: Picture, form: str, *, link: str | None = None, into: str | None = None) -> None:
    """Draw one picture and print it, or write it to a file."""
    links = _links(picture, link)
    made: str | bytes
    if form == "dot":
        made = dot.render(picture, links=links)
    elif form == "svg":
        made = svg.render(picture, links=links)
    elif form == "png":
        if into is None and sys.stdout.isatty():
            raise UsageError("a PNG cannot be shown on a terminal", hint="add -o FILE")
        made = png.render(svg.render(picture, scheme="light"))
    elif form == "json":
        put_data(as_data(picture), into)
        return
    else:
        if len(picture.arrows) > mermaid.MOST_ARROWS:
            note = f"{len(picture.arrows)} arrows, but Mermaid draws at most {mermaid.MOST_ARROWS}: use svg or html"
            output.notes([note])
        made = mermaid.render(picture, links=links)
    put_document(made, into)


def put_data(what: object, into: str | None) -> None:
    """Print plain data as one JSON document, or write it to a file."""
    put_document(output.document(what), into)


def put_document(made: str | bytes, into: str | None) -> None:
    """Print a document, or write it to a file."""
    if into is not None:
        data = made if isinstance(made, bytes) else f"{made}\n".encode("utf-8", "backslashreplace")
        output.to_file(into, data)
        output.notes([f"written to {into}"])
    elif isinstance(made, bytes):
        streams.put_bytes(made)
    else:
        output.text(made)


def _links(picture: Picture, link: str | None) -> Mapping[str, str]:
    if link is None:
        return {}
    runs = dict.fromkeys(node.run for node in picture.nodes if node.run is not None)
    return {run: link.replace("{workflow}", run.replace("/", "-")) for run in runs}
