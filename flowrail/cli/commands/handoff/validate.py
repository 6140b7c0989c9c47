"""`flow handoff validate`."""

from __future__ import annotations

import os
from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.errors import INTEGRITY, Problem, errors
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import read_file
from flowrail.handoff.payload.validate import Asked, check
from flowrail.operations.environment import Here


@click.command("validate", epilog=options.examples("flow handoff validate handoff-payload.yaml"))
@click.argument("file")
@click.option("--strict-v2", is_flag=True, help="The 2.0 schema to the letter: its one source.")
@click.option("--sha256", "digest", metavar="HEX", help="The digest that the file must have.")
@click.option("--sending", is_flag=True, help="As the sender would: the session must be there.")
@click.option("--allow-expired", is_flag=True, help="Take one whose time has passed.")
@options.as_json
def command(
    file: str, strict_v2: bool, digest: str | None, sending: bool, allow_expired: bool, as_json: bool
) -> int:
    """Name everything that is wrong with a payload

    The version is detected, then shape, fields together, hash, clock and chain are judged. Exits 1
    where anything is wrong; what is worth knowing is a warning.
    """
    payload = read_file(os.path.abspath(file))
    now = datetime.fromisoformat(Here().now)
    checked = check(payload, Asked(now, sending, strict_v2, allow_expired))
    problems = list(checked.problems)
    if digest and digest.removeprefix("sha256:") != payload.digest:
        problems.append(Problem("", f"the file's digest is {payload.digest}", INTEGRITY))
    told = {
        "version": checked.version or None,
        "fit": not errors(problems),
        "errors": len(errors(problems)),
        "sha256": payload.digest,
        "ignored": list(checked.ignored),
        "tokens": integrity.tiers(payload.handoff) if checked.version == "3.0" else None,
    }
    findings = [each._asdict() for each in problems]
    if as_json:
        output.data({"findings": findings, **told})
    else:
        output.text(page.render_findings(findings, file, told))
    return 1 if errors(problems) else 0
