"""The shared options of commands that draw, and the output of pictures."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from flowrail.cli import options, output, output_file
from flowrail.diagrams.renderers import mermaid, png, svg, text
from flowrail.diagrams.renderers.json import as_data
from flowrail.errors import UsageError
from flowrail.text.report import plain_text

if TYPE_CHECKING:
    from flowrail.diagrams.model import Picture

FORMS = ("text", "mermaid", "svg", "png", "json")
_WIDE = 120
_EXTENSIONS = {
    "txt": "text", "mmd": "mermaid", "mermaid": "mermaid", "svg": "svg", "png": "png", "json": "json",
}  # fmt: skip

form = options.format_option(
    *FORMS,
    about="The format (default: by the file of --output; text on a terminal, mermaid in a pipe).",
)
session = click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="Show this session: its step, its path, the steps left.",
    shell_complete=options.complete("sessions"),
)
into = click.option(
    "-o",
    "--output",
    "into",
    metavar="FILE",
    help="Write it there, in the format of its extension, as in x.svg.",
)


def format_of(form: str | None, into: str | None) -> str:
    """Return the format to draw in: the given one, that of the file, or the default."""
    if form is not None:
        return form
    if into is None:
        return "text" if output.is_for_people() else "mermaid"
    extension = os.path.splitext(into)[1].removeprefix(".").lower()
    if not extension:
        return "mermaid"
    if extension not in _EXTENSIONS:
        raise UsageError(
            f"unknown format `.{extension[:20]}`",
            hint=f"use one of {', '.join(_EXTENSIONS)}, or add --format",
        )
    return _EXTENSIONS[extension]


def put(picture: Picture, form: str, *, into: str | None = None) -> None:
    """Draw a picture and print it, or write it to a file."""
    output.together()
    made: str | bytes
    if form == "text":
        drawing = text.draw(picture, output.width() if into is None else _WIDE)
        if into is None:
            output.report(drawing)
            return
        made = plain_text(drawing)
    elif form == "svg":
        made = svg.render(picture)
    elif form == "png":
        if into is None and sys.stdout.isatty():
            raise UsageError("a PNG cannot be shown on a terminal", hint="add -o FILE")
        made = png.render(svg.render(picture, scheme="light"))
    elif form == "json":
        put_data(as_data(picture), into)
        return
    else:
        if len(picture.arrows) > mermaid.MOST_ARROWS:
            note = f"{len(picture.arrows)} arrows, but Mermaid draws at most {mermaid.MOST_ARROWS}: use svg"
            output.notes([note])
        made = mermaid.render(picture)
    put_document(made, into)


def put_data(value: object, into: str | None) -> None:
    """Print plain data as one JSON document, or write it to a file."""
    put_document(output.document(value), into)


def put_document(made: str | bytes, into: str | None) -> None:
    """Print a document, or write it to a file."""
    if into is not None:
        data = made if isinstance(made, bytes) else f"{made}\n".encode("utf-8", "backslashreplace")
        output_file.write(into, data)
        output.notes([f"written to {into}"])
    elif isinstance(made, bytes):
        output.put_bytes(made)
    else:
        output.text(made)
