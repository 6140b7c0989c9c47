"""`flow doctor`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.formatters.reports.doctor import render
from flowrail.operations.doctor import diagnose
from flowrail.operations.doctor.section import DoctorContext
from flowrail.operations.environment import Environment


@click.command("doctor", epilog=options.examples("flow doctor"))
@options.as_json
@options.root
@options.store
def command(as_json: bool, roots: tuple[str, ...], store: str | None) -> int:
    """Examine the whole set-up and say what to fix

    Locations and files of skills, collisions, dialects, workflows, hosts and their hooks, sessions,
    approvals, versions. Nothing runs and nothing is written. Exits 1 if there is an error.
    """
    here = Environment(store=store, roots=roots)
    context = DoctorContext(
        here.cwd, here.home, here.environ, here.state, here.store_path, roots, here.ask_git
    )
    examined = diagnose(context)
    if as_json:
        output.data(examined)
    else:
        output.text(render(examined))
    return 0 if examined["ok"] else 1
