"""`flow handoff convert`."""

from __future__ import annotations

import os
from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.handoff.errors import EXPIRED, INTEGRITY, MAX_LISTED, errors, payload_refusal
from flowrail.handoff.payload.convert import convert
from flowrail.handoff.payload.document import DEFAULT_FORM, read, read_file, render
from flowrail.handoff.payload.models import PUBLISHED
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.operations.environment import Environment


@click.command("convert", epilog=options.examples("flow handoff convert handoff-payload.yaml --to 3.0"))
@click.argument("file")
@click.option(
    "--to",
    "version",
    required=True,
    type=click.Choice([*PUBLISHED, "1.2"]),
    help="The version to convert to.",
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), help="The format (default: the version's)."
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to a file instead of printing.")
@click.option("--force", is_flag=True, help="Convert a payload whose hash is wrong.")
@options.as_json
def command(
    file: str, version: str, form: str | None, target: str | None, force: bool, as_json: bool
) -> None:
    """Convert a payload to another version

    Lists the fields that are added and lost. The result gets a new hash, so a payload whose own hash
    is wrong is refused unless forced.
    """
    payload = read_file(os.path.abspath(file))
    rules = ValidationRules(datetime.fromisoformat(Environment().now))
    accepted = {EXPIRED, INTEGRITY} if force else {EXPIRED}
    problems = [p for p in errors(validate(payload, rules).problems) if p.kind not in accepted]
    if problems:
        hint = Hint("see all problems: ", Command("handoff validate", file))
        raise payload_refusal(f"{file} is not converted", problems, hint=hint)
    converted = convert(payload.version, payload.handoff, version)
    data = render(converted.handoff, form or DEFAULT_FORM[version])
    _refuse_invalid(version, data, rules)
    if target is not None:
        if os.path.lexists(target):
            raise UsageError(f"{target} already exists", hint="choose another file")
        output.to_file(target, data, mode=0o600)
    if as_json:
        output.data({**converted._asdict(), "file": target})
        return
    output.notes([f"added {field}" for field in converted.added])
    output.notes([f"lost {field}" for field in converted.lost[:MAX_LISTED]])
    if len(converted.lost) > MAX_LISTED:
        output.notes([f"lost {len(converted.lost) - MAX_LISTED} more; --json lists them all"])
    if target is None:
        output.exact(data.decode().rstrip("\n"))
    else:
        output.text(f"{target} is a payload of version {converted.version}")


def _refuse_invalid(version: str, data: bytes, rules: ValidationRules) -> None:
    result = validate(read(data, source=f"the payload as {version}"), rules)
    problems = [problem for problem in errors(result.problems) if problem.kind != EXPIRED]
    if problems:
        raise payload_refusal(
            f"the payload is not valid as {version}", problems, hint="fix the payload that it is made from"
        )
