"""`flow start`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import named_values
from flowrail.operations.running import steps


@click.command("start", epilog=options.examples("flow start problem-analysis -p topic='slow login'"))
@options.skill
@options.params
@options.form
@options.store
@options.root
def command(
    skill: str, params: tuple[str, ...], form: str | None, store: str | None, roots: tuple[str, ...]
) -> None:
    """Start a new session and show its first step

    Other open sessions of the skill stay open. Every printed command names its session.
    """
    answer = steps.begin(world(store=store, roots=roots), skill, named_values(params, "-p"))
    output.notes(answer.notes)
    output.show(answer.guidance, form)
