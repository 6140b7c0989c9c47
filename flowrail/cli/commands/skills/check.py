"""`flow check`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from flowrail.cli import options, output
from flowrail.cli.lazy_imports import load_engine
from flowrail.discovery.git import Revision
from flowrail.formatters.blocks.fences import fence_problems
from flowrail.operations.environment import Environment
from flowrail.operations.skills import check
from flowrail.operations.skills.check import CheckReport, WorkflowChange
from flowrail.text.safe_text import one_line


@click.command(
    "check",
    epilog=options.examples(
        "flow check problem-analysis", "flow check --strict ./my-skill", "flow check my-skill --against HEAD"
    ),
)
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--against", metavar="REV", help="Also show what changed since this git revision.")
@options.as_json
@options.root
def command(
    targets: tuple[str, ...], strict: bool, against: str | None, as_json: bool, roots: tuple[str, ...]
) -> int:
    """Find errors in a workflow

    Checks the named skills or folders, or all installed skills, with the workflows that they dispatch.
    Checks only SKILL.md if a skill has no workflow. Runs no code of a skill. Exits 1 on any error.
    To suppress a warning, add its code and a reason to `ignore` in the workflow.
    """
    load_engine()  # conditions are tried out by it; first, or asyncio comes with it
    here = Environment(roots=roots)
    reports = check.check(targets, here.roots, here.cwd, problems=fence_problems)
    changes = _changes(targets, here, against) if against is not None else None
    if as_json:
        output.data(_data(reports, changes))
    else:
        output.text("\n".join(_lines(reports, changes)))
    severities = [finding.severity for report in reports for finding in report.findings]
    return 1 if any(severity == "error" or strict for severity in severities) else 0


def _changes(targets: Sequence[str], here: Environment, revision: str) -> list[WorkflowChange]:

    past = Revision(revision, here.environ)
    if not targets:
        past.commit(here.cwd)  # refused where there is no such revision, though nothing is compared
    files, above = check.compared(targets, here.roots, here.cwd)
    return check.compare(files, past, above)


def _data(reports: Sequence[CheckReport], changes: Sequence[WorkflowChange] | None) -> dict[str, object]:
    return {
        "findings": [
            {"workflow": report.address, "path": report.path, **finding._asdict()}
            for report in reports
            for finding in report.findings
        ],
        "checked": [report.address for report in reports],
        **({} if changes is None else {"changes": [change._asdict() for change in changes]}),
    }


def _lines(reports: Sequence[CheckReport], changes: Sequence[WorkflowChange] | None) -> list[str]:
    lines: list[str] = []
    for report in reports:
        for finding in report.findings:
            where = f"{report.path}/{finding.place}: {finding.severity} {finding.code}"
            lines += [f"{one_line(where)}: {one_line(finding.message)}", f"    {one_line(finding.remedy)}"]
    for change in changes or ():
        step = f" step `{change.step}`" if change.step else ""
        stops = "; sessions at this step stop" if change.stops else ""
        lines.append(f"{one_line(change.workflow)}:{step} {one_line(change.what)}{stops}")
    found = sum(len(report.findings) for report in reports)
    counted = [("workflow", sum(report.is_workflow for report in reports))]
    counted.append(("skill without a workflow", sum(not report.is_workflow for report in reports)))
    some = [_count(number, what) for what, number in counted if number] or ["0 workflows"]
    count = f"{' and '.join(some)} checked"
    told = "" if changes is None else f", {len(changes) or 'nothing'} changed"
    return [*lines, f"{count}, {found or 'nothing'} found{told}"]


def _count(number: int, what: str) -> str:
    noun, _, rest = what.partition(" ")
    return f"{number} {noun}{'s' if number != 1 else ''}{' ' if rest else ''}{rest}"
