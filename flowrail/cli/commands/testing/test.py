"""`flow test`."""

from __future__ import annotations

import sys

import click

from flowrail.cli import options, output, streams
from flowrail.cli.environment import world
from flowrail.errors import UsageError
from flowrail.operations.environment import Environment
from flowrail.operations.running.time_limit import call_limited
from flowrail.operations.skills import check
from flowrail.testing.walks import report
from flowrail.testing.walks.run import (
    FAILED,
    run_walks,
)
from flowrail.testing.walks.subprocess_stage import SubprocessStage


@click.command(
    "test", epilog=options.examples("flow test problem-analysis", "flow test .claude/skills --strict")
)
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--subprocess", "processes", is_flag=True, help="Run each command as a process of its own.")
@click.option("--walk", metavar="NAME", help="Only the walk of that name.")
@click.option(
    "--strict", is_flag=True, help="Fail also if a transition is not taken or a step not entered by any walk."
)
@options.as_json
@options.root
def command(
    targets: tuple[str, ...],
    processes: bool,
    walk: str | None,
    strict: bool,
    as_json: bool,
    roots: tuple[str, ...],
) -> int:
    """Walk through a workflow and check what its steps print

    The walks take every transition and every pair of transitions, repeat every loop, always
    fail and always iterate. Agents succeed and fail, questions get every answer, reviews have
    findings or none. Sessions are in a temporary folder. Project skills in Python run only if they
    are approved. Exits 1 if a walk fails. For JUnit XML, run `pytest --flow --junitxml FILE`.
    """
    here = world(store=None, roots=roots)
    about = Environment(roots=roots)
    files = check.files(targets, about.roots, about.cwd)
    results = list(
        run_walks(
            files,
            about.roots,
            here.state,
            cwd=about.cwd,
            now=here.now,
            call=call_limited,
            only=walk,
            make_stage=SubprocessStage if processes else None,
            progress=_Progress() if sys.stderr.isatty() else None,
        )
    )
    if walk is not None and not any(result.played for result in results):
        raise UsageError(f"unknown walk `{walk[:80]}`", hint="leave out --walk to see the walks that fail")
    if as_json:
        output.data(report.data(results))
    else:
        output.text(report.summary(results))
    incomplete = strict and any(result.gaps for result in results)
    return 1 if incomplete or any(result.status == FAILED for result in results) else 0


class _Progress:
    """Shows the progress on one line of the terminal."""

    def __call__(self, address: str, done: int, total: int) -> None:
        streams.tell(f"\r\x1b[K{address}: walk {done} of {total}" + _at_end(done, total))


def _at_end(done: int, total: int) -> str:
    return "\r\x1b[K" if done == total else ""
