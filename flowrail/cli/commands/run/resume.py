"""`flow resume`."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.discovery.locations import OFFERED
from flowrail.operations.running import steps


@click.command(
    "resume", epilog=options.examples("flow resume", "flow resume problem-analysis-k3x9q2 --format text")
)
@options.optional_session
@options.form
@options.store
def command(session_id: str | None, form: str | None, store: str | None) -> None:
    """Show the current step of a session again

    Without ID, shows the only open session. The session does not change. The skills that
    `flow discover` offered it are searched again.
    """
    here = world(store=store)
    answer = steps.resume(here, session_id)
    with suppress(OSError):
        os.unlink(os.path.join(here.store.folder(answer.guidance.session), OFFERED))
    output.notes(answer.notes)
    output.show(answer.guidance, form)
