"""Commands that test workflows."""

from __future__ import annotations

import click

from flowrail.cli import options
from flowrail.cli.environment import SessionCall
from flowrail.cli.progress import ProgressBar
from flowrail.errors import TrustError, UsageError
from flowrail.operations.skills import check
from flowrail.testing.walks import report
from flowrail.testing.walks.run import FAILED, SKIPPED, run_walks


@SessionCall.command("test", "flow test problem-analysis", "flow test .claude/skills --strict")
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--walk", metavar="NAME", help="Only the walk of that name.")
@click.option(
    "--strict",
    is_flag=True,
    help="Fail also if no walk takes a transition or enters a step, or if a value has no example.",
)
@options.as_json
@options.root
def test_command(call: SessionCall, targets: tuple[str, ...], walk: str | None, strict: bool) -> int:
    """Walk through a workflow and check what its steps print

    The walks take every transition and every pair of transitions, repeat every loop, always
    fail and always iterate. Agents succeed and fail, questions get every answer, reviews have
    findings or none, and evidence counts as passed. Sessions are in a temporary folder. Project
    skills in Python run only if they are approved.

    Exits 1 if a walk fails, and 7 if a skill is not approved. For JUnit XML, run `pytest --flow --junitxml FILE`.
    """
    environment = call.environment
    files = check.files(targets, environment.roots, environment.cwd)
    with ProgressBar("Walking") as bar:
        results = list(run_walks(files, environment, only=walk, progress=bar))
    if walk is not None and not any(result.played for result in results):
        raise UsageError(f"unknown walk `{walk[:80]}`", hint="leave out --walk to see the walks that fail")
    call.answer(report.data(results), report.summary(results))
    incomplete = strict and any(result.gaps or result.guessed for result in results)
    if incomplete or any(result.status == FAILED for result in results):
        return 1
    return TrustError.exit_status if any(result.status == SKIPPED for result in results) else 0
