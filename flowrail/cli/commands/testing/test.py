"""`flow test`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from flowrail.cli import options, output, streams
from flowrail.cli.time_limit import call_limited
from flowrail.cli.world import world
from flowrail.errors import UsageError
from flowrail.operations.environment import Here
from flowrail.operations.skills import check
from flowrail.testing.walks import report as told
from flowrail.testing.walks.run import (
    FAILED,
    MakeStage,
    Rehearsed,
    rehearse,
)


@click.command("test", epilog=options.examples("flow test problem-analysis", "flow test --junit report.xml"))
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--subprocess", "processes", is_flag=True, help="Run each command as a process of its own.")
@click.option("--walk", metavar="NAME", help="Only the walk of that name.")
@click.option("--strict", is_flag=True, help="Fail as well where no walk takes some way or enters some step.")
@click.option("--junit", metavar="FILE", help="Write the results there as JUnit XML.")
@options.as_json
@options.root
def command(
    targets: tuple[str, ...],
    processes: bool,
    walk: str | None,
    strict: bool,
    junit: str | None,
    as_json: bool,
    roots: tuple[str, ...],
) -> int:
    """Walk every way through a workflow and judge what is told

    Walks are generated that take every way and every pair of ways, go round every loop, always
    fail and always iterate; agents come back well and badly, questions get every answer, reviews
    find something and nothing. Sessions are kept in a folder of their own that is thrown away.
    Project skills in Python run only where they were allowed. Exits 1 where anything is wrong.
    """
    here = world(store=None, roots=roots)
    about = Here(roots=roots)
    files = check.files(targets, about.roots, about.cwd)
    results = list(
        rehearse(
            files,
            about.roots,
            here.state,
            cwd=about.cwd,
            now=here.now,
            call=call_limited,
            only=walk,
            make_stage=_as_processes() if processes else None,
            watch=_Progress() if sys.stderr.isatty() else None,
        )
    )
    if walk is not None and not any(result.played for result in results):
        raise UsageError(f"there is no walk `{walk[:80]}`", hint="leave --walk out to see those that fail")
    if junit is not None:
        _write(junit, results)
    if as_json:
        output.data(told.data(results))
    else:
        output.text(told.summary(results))
    loose = strict and any(result.gaps for result in results)
    return 1 if loose or any(result.status == FAILED for result in results) else 0


def _as_processes() -> MakeStage:
    from flowrail.testing.walks.subprocess_stage import AsProcess

    return AsProcess


def _write(path: str, results: Sequence[Rehearsed]) -> None:
    from flowrail.testing.junit import document

    output.to_file(path, document(results).encode())


class _Progress:
    """One line on a terminal that tells how far things are."""

    def __call__(self, address: str, done: int, total: int) -> None:
        streams.tell(f"\r\x1b[K{address}: walk {done} of {total}" + _at_end(done, total))


def _at_end(done: int, total: int) -> str:
    return "\r\x1b[K" if done == total else ""
