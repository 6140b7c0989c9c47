"""`flow finding`: record, list and resolve the findings of a review."""

from __future__ import annotations

import click

from flowrail.cli import options
from flowrail.cli.environment import SessionCall, read_text
from flowrail.errors import UsageError
from flowrail.formatters.guidance.work import finding_data
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.operations.running import findings as running_findings
from flowrail.text.report import Part, Span, Style, Table, columns


@SessionCall.command("add", "flow finding add planner-k3x9q2 --severity MUST --text 'no way back'")
@options.session_argument
@click.option("--severity", required=True, metavar="MUST|SHOULD|COULD", help="How severe it is.")
@click.option("--text", "text", metavar="T", help="What is wrong.")
@click.option(
    "--file", "file", metavar="F", help="A file that describes the problem; - reads standard input."
)
@click.option("--place", metavar="FILE:LINE", help="Where.")
@click.option("--item", metavar="NAME", help="What it is about. The same item again records a new version.")
@options.token
@options.in_a_crowd
def add_command(
    call: SessionCall,
    session_id: str,
    severity: str,
    text: str | None,
    file: str | None,
    place: str | None,
    item: str | None,
    token: str | None,
) -> None:
    """Record one finding"""
    if (text is None) == (file is None):
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    if file is not None:
        text, _ = read_text(file, what="the file of the finding")
    home, finding = running_findings.add_finding(
        call.world, session_id, severity=severity, text=str(text), place=place, item=item, token=token
    )
    call.answer(
        finding_data(home, finding),
        f"{finding.id} {finding.severity} recorded in {home}, where the gate decides",
    )


@SessionCall.command("none", "flow finding none planner-k3x9q2")
@options.session_argument
@options.token
@options.in_a_crowd
def none_command(call: SessionCall, session_id: str, token: str | None) -> None:
    """Record that a review found nothing"""
    home = running_findings.submit_without_findings(call.world, session_id, token=token)
    call.answer({"session": home, "findings": []}, f"recorded in {home}: no findings")


@SessionCall.command("list", "flow finding list planner-k3x9q2")
@options.optional_session
@options.as_json
@options.store
def list_command(call: SessionCall, session_id: str | None) -> None:
    """List the recorded findings

    Without ID, those of this conversation's open session.
    """
    home, findings = running_findings.list_findings(call.world, call.session(session_id))
    head = columns(
        "id", "severity", "round", "state", "item", "place", "what", wraps=("item", "place", "what")
    )
    table = [Table(head, map(_row, findings))]
    data = {"findings": [finding_data(home, finding) for finding in findings]}
    call.answer(data, table if findings else f"no findings in {home}")


@SessionCall.command("resolve", "flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'")
@options.session_argument
@click.argument("finding")
@click.option("--note", default="", metavar="TEXT", help="How it was resolved, for the journal.")
@options.token
@options.in_a_crowd
def resolve_command(call: SessionCall, session_id: str, finding: str, note: str, token: str | None) -> None:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    home, settled = running_findings.resolve_finding(call.world, session_id, finding, note, token=token)
    call.answer(finding_data(home, settled), f"{settled.id} is resolved")


def _row(finding: RecordedFinding) -> list[Part]:
    state = Span("open", Style.WARNING) if finding.is_open else Span("resolved", Style.GOOD)
    version = f" (version {finding.version})" if finding.item and finding.version > 1 else ""
    item = f"{finding.item or ''}{version}"
    return [finding.id, finding.severity, str(finding.round), state, item, finding.place or "", finding.text]
