"""`flow skill coverage`."""

from __future__ import annotations

import click

from flowrail.cli import options, output, pictures
from flowrail.cli.environment import world
from flowrail.cli.lazy_imports import load_engine
from flowrail.diagrams.renderers.document import WorkflowPicture
from flowrail.formatters.reports.coverage import text
from flowrail.machines.exploration import coverage
from flowrail.machines.exploration.walks import plan
from flowrail.operations.environment import Environment
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.time_limit import call_limited
from flowrail.operations.skills.coverage import drawn, histories
from flowrail.skills.summary import definition_of

TOO_LARGE = (
    "the workflow is too large for all of it to be walked: a way that was never taken may be one not tried"
)
DRAWN = ("mermaid", "dot", "svg", "png")


@click.command(
    "coverage",
    epilog=options.examples(
        "flow skill coverage problem-analysis",
        "flow skill coverage problem-analysis --sessions --at-least 80",
    ),
)
@options.skill
@click.option(
    "--sessions", "lived", is_flag=True, help="Count stored sessions, not the walks of `flow test`."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", *DRAWN]),
    default="text",
    show_default=True,
    help="The output format, or the diagram language.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option(
    "--at-least",
    type=click.IntRange(0, 100),
    default=0,
    metavar="PERCENT",
    help="Exit 1 if fewer transitions were taken, in percent.",
)
@pictures.into
@options.store
@options.root
def command(
    skill: str,
    lived: bool,
    form: str,
    at_least: int,
    into: str | None,
    store: str | None,
    roots: tuple[str, ...],
) -> int:
    """Show which transitions of a workflow were taken

    Counts the transitions of the walks of `flow test`. With --sessions, counts those in the journals of
    the store; also shows where sessions stop, how long steps take, and gates that never failed.
    Journals are only read, and no code of the skill is run. A diagram shows a count on every transition.
    """
    life: coverage.SessionCoverage | None = None
    is_part = False
    if lived:
        here = Environment(store=store, roots=roots)
        workflow, findings = definition_of(skill, here.roots)
        if any(finding.code == "FR190" for finding in findings):
            output.notes(["parts of the workflow are computed when it runs; they are left out"])
        life = coverage.of_sessions(workflow, histories(here.store, skill))
        covered = life.coverage
    else:
        about = world(store=store, roots=roots)
        workflow = open_skill(skill, about.roots, about.state).workflow
        planned = plan(workflow, call=call_limited)
        covered, is_part = coverage.of_walks(workflow, planned.walks), planned.is_part
        if is_part:
            output.notes([TOO_LARGE])
    if form == "json":
        pictures.put_data(coverage.as_data(workflow, covered, life, is_part=is_part), into)
    elif form in DRAWN:
        load_engine()

        pictures.put([WorkflowPicture(workflow, drawn(workflow, covered, life))], form, into=into)
    else:
        pictures.put_made(text(workflow, covered, life), into)
    return 1 if 100 * covered.taken < at_least * len(covered.counts) else 0
