"""`flow doctor`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.formatters.reports.doctor import render
from flowrail.operations.doctor.diagnose import diagnose
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.doctor.section import DoctorContext
from flowrail.operations.environment import Here


@click.command("doctor", epilog=options.examples("flow doctor"))
@options.as_json
@options.root
@options.store
def command(as_json: bool, roots: tuple[str, ...], store: str | None) -> int:
    """Examine the whole set-up and say what to mend

    Places and files of skills, collisions, dialects, workflows, hosts and their hooks, sessions, trust,
    versions.
    Nothing is run or written. Exits 1 where anything is wrong; warnings are not.
    """
    here = Here(store=store, roots=roots)
    world = DoctorContext(here.cwd, here.home, here.environ, here.state, here.store_path, roots, here.ask_git)
    examined = diagnose(world, [lambda: hooks_section(world)])
    if as_json:
        output.data(examined)
    else:
        output.text(render(examined))
    return 0 if examined["ok"] else 1
