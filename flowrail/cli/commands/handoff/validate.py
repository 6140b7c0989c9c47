"""`flow handoff validate`."""

from __future__ import annotations

import os
from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.errors import INTEGRITY, PayloadProblem, errors
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import read_file
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.operations.environment import Environment


@click.command("validate", epilog=options.examples("flow handoff validate handoff-payload.yaml"))
@click.argument("file")
@click.option(
    "--strict-v2", is_flag=True, help="Require the one source that the published 2.0 schema allows."
)
@click.option("--sha256", "digest", metavar="HEX", help="The digest that the file must have.")
@click.option("--sending", is_flag=True, help="Use the sender's rules: the session's folder must exist.")
@click.option("--allow-expired", is_flag=True, help="Accept an expired payload.")
@options.as_json
def command(
    file: str, strict_v2: bool, digest: str | None, sending: bool, allow_expired: bool, as_json: bool
) -> int:
    """List every problem of a payload

    Detects the version, then checks shape, related fields, hash, expiry and chain. Exits 1 on any
    error; warnings do not count.
    """
    payload = read_file(os.path.abspath(file))
    rules = ValidationRules(datetime.fromisoformat(Environment().now), sending, strict_v2, allow_expired)
    validated = validate(payload, rules)
    problems = list(validated.problems)
    if digest and digest.removeprefix("sha256:") != payload.digest:
        problems.append(PayloadProblem("", f"the file's digest is {payload.digest}", INTEGRITY))
    result = {
        "version": validated.version or None,
        "valid": not errors(problems),
        "errors": len(errors(problems)),
        "sha256": payload.digest,
        "ignored": list(validated.ignored),
        "tokens": integrity.tiers(payload.handoff) if validated.version == "3.0" else None,
    }
    findings = [problem._asdict() for problem in problems]
    if as_json:
        output.data({"findings": findings, **result})
    else:
        output.text(page.render_problems(findings, file, result))
    return 1 if errors(problems) else 0
