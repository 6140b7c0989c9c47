"""Commands that check a workflow and show it to its author."""

from __future__ import annotations

from collections.abc import Sequence

import click

from flowrail.cli import check_report, options, output
from flowrail.cli.environment import SessionCall
from flowrail.cli.progress import ProgressBar
from flowrail.command import Command
from flowrail.errors import TrustError, UsageError
from flowrail.formatters.reports.workflow import report as workflow_report
from flowrail.machines.definition.script_steps import QRState
from flowrail.operations.skills import check
from flowrail.operations.skills.check import CheckReport
from flowrail.operations.skills.preview import preview, resource_text
from flowrail.skills import summary


@SessionCall.command(
    "check",
    "flow check problem-analysis",
    "flow check --strict ./my-skill --format github",
)
@click.argument("targets", nargs=-1, metavar="[SKILL|PATH]...", shell_complete=options.complete("skills"))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@options.format_option(
    "text", "json", "github", about="The output format (default: text), or annotations for GitHub Actions."
)
@options.root
def check_command(call: SessionCall, targets: tuple[str, ...], strict: bool) -> int:
    """Find errors in a workflow

    Checks the named skills or folders, or all installed skills, with the workflows that they dispatch.
    Checks only SKILL.md if a skill has no workflow. Exits 1 on any error, and 7 if a named workflow in Python is not
    approved: only its own code knows its steps.
    To suppress a warning, add its code and a reason to `ignore` in the workflow.
    """
    environment = call.environment
    with ProgressBar("Reading skills") as bar:
        reports = check.check(targets, environment.loader, environment.cwd, progress=bar)
    if call.form == "json":
        output.data(_report_data(reports))
    elif call.form == "github":
        output.lines(check_report.github_lines(reports, cwd=environment.cwd))
    elif output.is_for_people():
        output.report(check_report.terminal_report(reports, cwd=environment.cwd, width=output.width()))
    else:
        output.report(check_report.plain_report(reports, cwd=environment.cwd))
    waiting = [report for report in reports if report.needs_approval]
    output.notes(f"`{report.address}` was not checked; {report.needs_approval}" for report in waiting)
    severities = [finding.severity for report in reports for finding in report.findings]
    if any(severity == "error" or strict for severity in severities):
        return 1
    return TrustError.exit_status if waiting and targets else 0


def _report_data(reports: Sequence[CheckReport]) -> dict[str, object]:
    return {
        "findings": [
            {"workflow": report.address, "path": report.path, **finding.data()}
            for report in reports
            for finding in report.findings
        ],
        "checked": [report.address for report in reports if not report.needs_approval],
        "not_approved": [report.address for report in reports if report.needs_approval],
    }


@SessionCall.command(
    "preview",
    "flow skill preview problem-analysis 3",
    "flow skill preview planner --step 5 --qr-iteration 2 --qr-fail",
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
@options.assignments
@options.params
@click.option(
    "--attempt",
    "visit",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Which attempt at the step this is.",
)
@options.form
@options.root
def preview_command(
    call: SessionCall,
    skill: str,
    step: str | None,
    number: str | None,
    total_steps: int | None,
    qr_iteration: int | None,
    qr_fail: bool,
    qr_status: str | None,
    assignments: dict[str, str],
    params: dict[str, str],
    visit: int,
) -> None:
    """Show what a step prints, without a session

    STEP is an id or a number. Transitions are shown without commands, since there is no session.
    """
    if (step is None) == (number is None):
        raise UsageError(
            "exactly one of STEP and --step is needed", hint=Command("skill preview", skill, "1")
        )
    qr = QRState(qr_iteration or visit, qr_fail, qr_status)
    guidance = preview(
        skill,
        step or str(number),
        call.environment.loader,
        params=params,
        facts=assignments,
        visit=qr.iteration,
        total=total_steps,
        qr=qr,
    )
    call.show(guidance)


@SessionCall.command(
    "show", "flow show problem-analysis", "flow show planner/plan-code --resource diff-format"
)
@options.skill
@click.option("--resource", metavar="NAME", help="Print this text that the skill's steps quote.")
@options.as_json
@options.root
def show_command(call: SessionCall, skill: str, resource: str | None) -> None:
    """Show a skill's steps, transitions and parameters"""
    loader = call.environment.loader
    if resource is not None:
        content = resource_text(skill, resource, loader)
        call.answer({"resource": resource, "text": content}, content)
        return
    item = summary.show(skill, loader)
    call.answer(item, workflow_report(item))
