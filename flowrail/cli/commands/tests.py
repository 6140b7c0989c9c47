"""Commands that test workflows."""

from __future__ import annotations

import click

from flowrail.cli import options, output, pictures
from flowrail.cli.environment import SessionCall
from flowrail.cli.progress import ProgressBar
from flowrail.cli.workflow_reading import reader
from flowrail.errors import UsageError
from flowrail.formatters.reports import coverage as coverage_report
from flowrail.machines.engine.outcome import call_limited
from flowrail.machines.exploration import coverage
from flowrail.machines.exploration.walks import plan
from flowrail.operations.running.load_workflow import open_skill
from flowrail.operations.skills import check
from flowrail.operations.skills.coverage import drawn, histories
from flowrail.operations.skills.draw import of_skill
from flowrail.testing.record import replay
from flowrail.testing.record.python_test import source
from flowrail.testing.record.script import script
from flowrail.testing.walks import report
from flowrail.testing.walks.run import FAILED, run_walks
from flowrail.text.report import plain_text


@SessionCall.command("test", "flow test problem-analysis", "flow test .claude/skills --strict")
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--walk", metavar="NAME", help="Only the walk of that name.")
@click.option(
    "--strict", is_flag=True, help="Fail also if a transition is not taken or a step not entered by any walk."
)
@options.run
@options.as_json
@options.root
def test_command(
    call: SessionCall, targets: tuple[str, ...], run_code: bool, walk: str | None, strict: bool
) -> int:
    """Walk through a workflow and check what its steps print

    The walks take every transition and every pair of transitions, repeat every loop, always
    fail and always iterate. Agents succeed and fail, questions get every answer, reviews have
    findings or none, and evidence counts as passed. Sessions are in a temporary folder. Project
    skills in Python run only if they are approved.

    Each check of evidence is also tried in an empty project and with a file that says nothing, or in
    its known-bad projects, where it must not pass. Exits 1 if a walk fails or evidence cannot fail. For JUnit XML, run
    `pytest --flow --junitxml FILE`.
    """
    del run_code  # walks run the code in any case
    environment = call.environment
    files = check.files(targets, environment.roots, environment.cwd)
    with ProgressBar("Walking") as bar:
        results = list(run_walks(files, environment, call=call_limited, only=walk, progress=bar))
    if walk is not None and not any(result.played for result in results):
        raise UsageError(f"unknown walk `{walk[:80]}`", hint="leave out --walk to see the walks that fail")
    call.answer(report.data(results), report.summary(results))
    incomplete = strict and any(result.gaps for result in results)
    return 1 if incomplete or any(result.status == FAILED for result in results) else 0


TOO_LARGE = (
    "the workflow is too large for all of it to be walked: a way that was never taken may be one not tried"
)
DRAWN = ("mermaid", "svg", "png")


@SessionCall.command(
    "coverage",
    "flow skill coverage problem-analysis",
    "flow skill coverage problem-analysis --sessions --at-least 80",
)
@options.skill
@click.option(
    "--sessions", "counts_sessions", is_flag=True, help="Count stored sessions, not the walks of `flow test`."
)
@options.format_option(
    "text", "json", *DRAWN, about="The output format (default: text), or the diagram language."
)
@click.option(
    "--at-least",
    type=click.IntRange(0, 100),
    default=0,
    metavar="PERCENT",
    help="Exit 1 if fewer transitions were taken, in percent.",
)
@pictures.into
@options.run
@options.store
@options.root
def coverage_command(
    call: SessionCall, skill: str, counts_sessions: bool, at_least: int, into: str | None, run_code: bool
) -> int:
    """Show which transitions of a workflow were taken

    Counts the transitions of the walks of `flow test`. With --sessions, counts those in the journals of
    the store; also shows where sessions stop, how long steps take, and gates that never failed.
    Journals are only read, and no code of the skill is run without --run. A diagram shows a count on every transition.
    """
    session_coverage: coverage.SessionCoverage | None = None
    is_part = False
    if counts_sessions:
        environment = call.environment
        subject = of_skill(skill, environment.roots, reader(call.roots, run_code=run_code))
        workflow = subject.workflow
        if subject.computed:
            output.notes(
                ["parts of the workflow are only known when its Python runs, and are left out: add --run"]
            )
        session_coverage = coverage.of_sessions(workflow, histories(environment.store, skill))
        covered = session_coverage.coverage
    else:
        about = call.world
        workflow = open_skill(skill, about.roots, about.state).workflow
        planned = plan(workflow, call=call_limited)
        covered, is_part = coverage.of_walks(workflow, planned.walks), planned.is_part
        if is_part:
            output.notes([TOO_LARGE])
    if call.form == "json":
        pictures.put_data(coverage_report.data(workflow, covered, session_coverage, is_part=is_part), into)
    elif call.form in DRAWN:
        pictures.put(drawn(workflow, covered, session_coverage), call.form, into=into)
    else:
        shown = coverage_report.report(workflow, covered, session_coverage)
        if into is None:
            output.report(shown)
        else:
            pictures.put_document(plain_text(shown), into)
    return 1 if 100 * covered.taken < at_least * len(covered.counts) else 0


@SessionCall.command("record", "flow skill record problem-analysis-k3x9q2")
@options.optional_session
@options.as_json
@options.store
def record_command(call: SessionCall, session_id: str | None) -> None:
    """Turn a session into a test

    Without ID, takes this conversation's open session.

    Prints a Python test that runs the same workflow in memory with the same reports and checks
    where each one leads: flow skill record ID > test_x.py. The test contains the facts of the session.
    Rewound reports are left out; a fork begins with the reports of its source.
    """
    recorded = script(call.world.store, call.session(session_id))
    if call.as_json:
        output.data({"session": recorded.session, "skill": recorded.skill, "test": source(recorded)})
    else:
        output.text(source(recorded).rstrip("\n"))


@SessionCall.command("replay", "flow skill replay", "flow skill replay problem-analysis-k3x9q2")
@click.argument("targets", nargs=-1, metavar="[ID|SKILL]...", shell_complete=options.complete("sessions"))
@options.as_json
@options.store
@options.root
def replay_command(call: SessionCall, targets: tuple[str, ...]) -> int:
    """Run recorded sessions against today's workflows

    Runs in memory: no session is changed or started. Prints for each session the first report that
    would lead elsewhere or be refused today. Without arguments, replays all sessions of the store.
    Exits 1 if a session differs.
    """
    world = call.world
    results = list(replay.replay_all(world, targets, call=call_limited))
    call.answer(replay.data(results), replay.report(results))
    return 1 if any(result.divergence for result in results) else 0
