"""`flow status`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.formatters.guidance.as_text import standing
from flowrail.operations.running import steps


@click.command("status", epilog=options.examples("flow status", "flow status problem-analysis-k3x9q2 --json"))
@options.optional_session
@options.as_json
@options.store
def command(session_id: str | None, as_json: bool, store: str | None) -> None:
    """Show the state of a session

    Without ID, shows the only open session. The JSON has the same form as a step's.
    """
    answer = steps.resume(world(store=store), session_id)
    output.notes(answer.notes)
    if as_json:
        output.show(answer.guidance, "json")
    else:
        output.text(standing(answer.guidance))
