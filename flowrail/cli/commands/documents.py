"""Payloads of handoffs without their handoff, and the schemas of documents."""

from __future__ import annotations

import os
from datetime import datetime

import click

from flowrail.cli import options, output, output_file
from flowrail.cli.options import Call
from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.errors import EXPIRED, INTEGRITY, MAX_LISTED, errors, payload_refusal
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.convert import convert
from flowrail.handoff.payload.document import DEFAULT_FORM, read, read_file
from flowrail.handoff.payload.document import render as render_payload
from flowrail.handoff.payload.models import PUBLISHED
from flowrail.handoff.payload.models import json_schema as payload_schema
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.machines.definition.json_schema import json_schema as workflow_schema
from flowrail.text.phrases import did_you_mean


@Call.command("validate", "flow handoff validate handoff-payload.yaml")
@click.argument("file")
@click.option(
    "--strict-v2", is_flag=True, help="Require the one source that the published 2.0 schema allows."
)
@click.option("--allow-expired", is_flag=True, help="Accept an expired payload.")
@options.as_json
def validate_command(call: Call, file: str, strict_v2: bool, allow_expired: bool) -> int:
    """List every problem of a payload

    Detects the version, then checks shape, related fields, hash, expiry and chain. Exits 1 on any
    error; warnings do not count.
    """
    payload = read_file(os.path.abspath(file))
    now = datetime.fromisoformat(call.environment.now)
    validated = validate(payload, ValidationRules(now, strict_v2=strict_v2, allow_expired=allow_expired))
    number = len(errors(validated.problems))
    result = {
        "version": validated.version or None,
        "valid": not number,
        "errors": number,
        "sha256": payload.digest,
        "ignored": list(validated.ignored),
        "tokens": integrity.tiers(payload.handoff) if validated.version == "3.0" else None,
    }
    findings = [problem._asdict() for problem in validated.problems]
    call.answer({"findings": findings, **result}, page.render_problems(findings, file, result))
    return 1 if number else 0


@Call.command("convert", "flow handoff convert handoff-payload.yaml --to 3.0")
@click.argument("file")
@click.option(
    "--to",
    "version",
    required=True,
    type=click.Choice([*PUBLISHED, "1.2"]),
    help="The version to convert to.",
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to a file instead of printing.")
@click.option("--force", is_flag=True, help="Convert a payload whose hash is wrong.")
@options.as_json
def convert_command(call: Call, file: str, version: str, target: str | None, force: bool) -> None:
    """Convert a payload to a different version

    Lists the fields that are added and lost. The result gets a new hash, so a payload whose own hash
    is wrong is refused unless forced.
    """
    payload = read_file(os.path.abspath(file))
    rules = ValidationRules(datetime.fromisoformat(call.environment.now))
    accepted = {EXPIRED, INTEGRITY} if force else {EXPIRED}
    found = errors(validate(payload, rules).problems)
    problems = [problem for problem in found if problem.kind not in accepted]
    if problems:
        hint = Hint("see all problems: ", Command("handoff validate", file))
        raise payload_refusal(f"{file} is not converted", problems, hint=hint)
    if any(problem.kind == INTEGRITY for problem in found):
        output.notes([f"the hash of {file} is wrong; it is converted because of --force"])
    converted = convert(payload.version, payload.handoff, version)
    data = render_payload(converted.handoff, DEFAULT_FORM[version])
    _refuse_invalid(version, data, rules)
    if target is not None:
        if os.path.lexists(target):
            raise UsageError(f"{target} already exists", hint="choose another file")
        output_file.write(target, data, mode=0o600)
    if call.as_json:
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


NAMES = ("workflow", "handoff-1.0", "handoff-2.0", "handoff-3.0")


@Call.command("schema", "flow skill schema workflow")
@click.argument("name", required=False)
@options.only_json
def schema_command(_call: Call, name: str | None) -> None:
    """Print the JSON Schema of a document

    NAME is workflow, or handoff-1.0, handoff-2.0 or handoff-3.0 for a payload. Save it and name it
    in the first line of a YAML file, and an editor completes and checks as you type:
    # yaml-language-server: $schema=workflow.schema.json
    """
    if name not in NAMES:
        raise UsageError(
            f"unknown schema `{name}`" if name else "name a schema",
            hint=did_you_mean(name or "", NAMES, f"use one of {', '.join(NAMES)}"),
        )
    if name.startswith("handoff-"):
        output.data(payload_schema(name.removeprefix("handoff-")))
        return
    output.data(workflow_schema())
