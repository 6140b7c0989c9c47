"""`flow skill preview`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import named_values
from flowrail.command import Command
from flowrail.errors import UsageError
from flowrail.machines.definition.gates import QRState
from flowrail.operations.environment import Environment
from flowrail.operations.skills.preview import preview


@click.command(
    "preview",
    epilog=options.examples(
        "flow skill preview problem-analysis 3",
        "flow skill preview planner --step 5 --qr-iteration 2 --qr-fail",
    ),
)
@options.skill
@click.argument("step", required=False, shell_complete=options.complete("steps"))
@click.option("--step", "number", metavar="N", help="The same as STEP, for old scripts.")
@click.option("--total-steps", type=int, metavar="M", help="The number of steps; checked if given.")
@click.option("--qr-iteration", type=click.IntRange(min=1), metavar="N", help="The round of the review.")
@click.option("--qr-fail", is_flag=True, help="As if the last review failed.")
@click.option(
    "--qr-status", type=click.Choice(["pass", "fail"]), help="The result of the review before a gate."
)
@click.option(
    "-s",
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A reported fact. May be repeated.",
)
@options.params
@click.option(
    "--visit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often the step was entered.",
)
@options.form
@options.root
def command(
    skill: str,
    step: str | None,
    number: str | None,
    total_steps: int | None,
    qr_iteration: int | None,
    qr_fail: bool,
    qr_status: str | None,
    assignments: tuple[str, ...],
    params: tuple[str, ...],
    visit: int,
    form: str | None,
    roots: tuple[str, ...],
) -> None:
    """Show what a step prints, without a session

    STEP is an id or a number. Transitions are shown without commands, since there is no session.
    """
    if (step is None) == (number is None):
        raise UsageError(
            "exactly one of STEP and --step is needed", hint=Command("skill preview", skill, "1")
        )
    here = Environment(roots=roots)
    qr = QRState(qr_iteration or visit, qr_fail, qr_status)
    told = preview(
        skill,
        step or str(number),
        here.roots,
        world(store=None, roots=roots).state,
        params=named_values(params, "-p"),
        facts=named_values(assignments, "-s"),
        visit=qr.iteration,
        total=total_steps,
        qr=qr,
    )
    output.show(told, form)
