"""`flow show`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.formatters.reports.workflow import render
from flowrail.operations.environment import Environment
from flowrail.skills import summary


@click.command("show", epilog=options.examples("flow show problem-analysis", "flow show planner/plan-docs"))
@options.skill
@options.as_json
@options.root
def command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Show a skill's steps, transitions and parameters

    Runs no code of the skill.
    """
    item = summary.show(skill, Environment(roots=roots).roots)
    if as_json:
        output.data(item)
    else:
        output.text(render(item))
