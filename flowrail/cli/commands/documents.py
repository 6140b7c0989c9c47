"""The schemas of documents."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.errors import UsageError
from flowrail.handoff.payload.models import json_schema as payload_schema
from flowrail.machines.definition.reader import json_schema as workflow_schema
from flowrail.text.phrases import did_you_mean

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
