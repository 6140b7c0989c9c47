"""`flow finding`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import read_text
from flowrail.errors import UsageError
from flowrail.formatters.guidance.work import finding_data
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.operations.running import findings as running_findings
from flowrail.text.table import table


@click.group("finding")
def command() -> None:
    """Record, list and resolve findings of a review

    A review gate decides from the findings. Findings of a sub-agent's session count for the nearest
    gate above it.
    """


@command.command(
    "add",
    epilog=options.examples("flow finding add planner-k3x9q2 --severity MUST --text 'no way back'"),
)
@options.session_argument
@click.option("--severity", required=True, metavar="MUST|SHOULD|COULD", help="How severe it is.")
@click.option("--text", "text", metavar="T", help="What is wrong.")
@click.option(
    "--file", "file", metavar="F", help="A file that describes the problem; - reads standard input."
)
@click.option("--place", metavar="FILE:LINE", help="Where.")
@click.option("--item", metavar="NAME", help="What it is about. The same item again records a new version.")
@click.option("--token", metavar="T", help="The token that came with the review's prompt.")
@options.as_json
@options.store
@options.wait_in_a_crowd
def add(
    session_id: str,
    severity: str,
    text: str | None,
    file: str | None,
    place: str | None,
    item: str | None,
    token: str | None,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Record one finding"""
    if (text is None) == (file is None):
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    said = text if text is not None else read_text(str(file), what="the file of the finding")[0]
    home, finding = running_findings.add_finding(
        world(store=store, wait=wait),
        session_id,
        severity=severity,
        text=said,
        place=place,
        item=item,
        token=token,
    )
    if as_json:
        output.data(finding_data(home, finding))
    else:
        output.text(f"{finding.id} {finding.severity} recorded in {home}")


@command.command("list", epilog=options.examples("flow finding list planner-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def list_(session_id: str, as_json: bool, store: str | None) -> None:
    """List the recorded findings"""
    home, findings = running_findings.list_findings(world(store=store), session_id)
    items = any(each.item for each in findings)
    if as_json:
        output.data({"findings": [finding_data(home, each) for each in findings]})
    elif not findings:
        output.text(f"no findings in {home}")
    else:
        output.text(
            table(
                ["id", "severity", "round", "state", *(["item"] if items else []), "place", "what"],
                [_row(each, items=items) for each in findings],
            )
        )


@command.command(
    "resolve",
    epilog=options.examples("flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'"),
)
@options.session_argument
@click.argument("finding")
@click.option("--note", default="", metavar="TEXT", help="How it was resolved, for the journal.")
@click.option("--token", metavar="T", help="The token that came with the review's prompt.")
@options.as_json
@options.store
@options.wait_in_a_crowd
def resolve(
    session_id: str,
    finding: str,
    note: str,
    token: str | None,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    here = world(store=store, wait=wait)
    home, settled = running_findings.resolve_finding(here, session_id, finding, note, token=token)
    if as_json:
        output.data(finding_data(home, settled))
    else:
        output.text(f"{settled.id} is resolved")


def _row(each: RecordedFinding, *, items: bool) -> list[str]:
    state = "open" if each.is_open else "resolved"
    about = f"{each.item} (version {each.version})" if each.item and each.version > 1 else each.item or ""
    return [
        each.id,
        each.severity,
        str(each.round),
        state,
        *([about] if items else []),
        each.place or "",
        each.text,
    ]
