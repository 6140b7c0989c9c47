"""`flow schema`."""

from __future__ import annotations

import click

from flowrail.cli import output
from flowrail.errors import UsageError
from flowrail.machines.wording import did_you_mean

NAMES = ("workflow",)


@click.command("schema")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Print the JSON Schema of a document

    NAME is workflow. Save it and name it in the first line of a YAML file, and an editor
    completes and checks as you type: # yaml-language-server: $schema=workflow.schema.json
    """
    if name not in NAMES:
        raise UsageError(
            f"there is no schema `{name}`" if name else "name a schema",
            hint=did_you_mean(name or "", NAMES, f"there are: {', '.join(NAMES)}"),
        )
    from flowrail.machines.document import json_schema

    output.data(json_schema())
