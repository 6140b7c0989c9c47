"""`flow check`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.here import Here
from flowrail.formatters.escape import one_line
from flowrail.formatters.fences import fence_problems
from flowrail.skills import checking


@click.command("check")
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@options.as_json
@options.root
@click.pass_context
def command(
    ctx: click.Context, targets: tuple[str, ...], strict: bool, as_json: bool, roots: tuple[str, ...]
) -> int:
    """Name every mistake in a workflow

    Checks the named skills or folders, or all in sight, with the workflows of their agents.
    Read as text: nothing is run. Exits 1 where anything is wrong.
    """
    del ctx
    here = Here(roots=roots)
    reports = checking.check(targets, here.roots, here.cwd, problems=fence_problems)
    findings = [finding for report in reports for finding in report.findings]
    wrong = sum(finding.severity == "error" or strict for finding in findings)
    if as_json:
        output.data(
            {
                "findings": [
                    {"workflow": report.address, "path": report.path, **finding._asdict()}
                    for report in reports
                    for finding in report.findings
                ],
                "checked": [report.address for report in reports],
            }
        )
    else:
        for report in reports:
            for finding in report.findings:
                place = f"{report.path}/{finding.place}"
                output.text(
                    f"{place}: {finding.severity} {finding.code}: {one_line(finding.message)}\n"
                    f"    {one_line(finding.remedy)}"
                )
        count = f"{len(reports)} workflow{'s' if len(reports) != 1 else ''} checked"
        output.text(f"{count}, {len(findings) or 'nothing'} found")
    return 1 if wrong else 0
