"""`flow handoff diagram`."""

from __future__ import annotations

import click

from flowrail.cli import output
from flowrail.cli.asyncio_later import load_engine

load_engine()

from flowrail.handoff.drawing import mermaid  # noqa: E402 - the engine comes first, or asyncio comes with it


@click.command("diagram")
def command() -> None:
    """Draw the lifecycle of a handoff

    In the language of Mermaid, made from the machine that judges.
    """
    output.text(mermaid())
