"""`flow show`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.here import Here
from flowrail.formatters.workflow import render
from flowrail.skills import shelf


@click.command("show", epilog=options.examples("flow show problem-analysis", "flow show planner/plan-docs"))
@options.skill
@options.as_json
@options.root
def command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Show a skill's steps, ways on and parameters

    Read as text: nothing of the skill is run.
    """
    item = shelf.show(skill, Here(roots=roots).roots)
    if as_json:
        output.data(item)
    else:
        output.text(render(item))
