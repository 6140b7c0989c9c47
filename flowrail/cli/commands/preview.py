"""`flow preview`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.here import Here
from flowrail.cli.world import world
from flowrail.skills.previewing import preview


@click.command("preview")
@options.skill
@options.step_argument
@click.option(
    "-s",
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A fact as if it had been reported.",
)
@options.params
@click.option(
    "--visit", type=click.IntRange(min=1), default=1, show_default=True, help="As if entered so often."
)
@options.form
@options.root
def command(
    skill: str,
    step: str,
    assignments: tuple[str, ...],
    params: tuple[str, ...],
    visit: int,
    form: str | None,
    roots: tuple[str, ...],
) -> None:
    """Show what a step tells, without a session

    The ways on are shown without commands, since there is nothing to report to.
    """
    here = Here(roots=roots)
    told = preview(
        skill,
        step,
        here.roots,
        world(store=None, roots=roots).state,
        params=params,
        facts=assignments,
        visit=visit,
    )
    output.show(told, form)
