"""`flow diagram`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.here import Here
from flowrail.diagrams.extract import picture
from flowrail.diagrams.mermaid import render
from flowrail.skills.shelf import definition_of


@click.command("diagram")
@options.skill
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid"]),
    default="mermaid",
    show_default=True,
    help="The language to draw it in.",
)
@options.root
def command(skill: str, form: str, roots: tuple[str, ...]) -> None:
    """Draw a workflow

    Read as text: nothing of the skill is run.
    """
    del form
    definition, _ = definition_of(skill, Here(roots=roots).roots)
    output.text(render(picture(definition)))
