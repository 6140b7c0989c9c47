"""`flow hook uninstall`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.commands.hook.options import host, where
from flowrail.formatters.reports.hooks import (
    NONE_ELSEWHERE,
    data,
    difference,
    uninstalled,
)
from flowrail.hosts import setup
from flowrail.operations.environment import Here


@click.command("uninstall", epilog=options.examples("flow hook uninstall"))
@host
@where
@options.dry_run
@options.as_json
def command(host: str, to: str, dry_run: bool, as_json: bool) -> None:
    """Take our hooks out of a host's settings again

    Hooks of others stay. Where nobody changed the settings since, they are byte for byte as they
    were before; a file that was made for our hooks is deleted.
    """
    if host == setup.OTHER:
        output.data({"hooks": [], "instructions": NONE_ELSEWHERE}) if as_json else output.text(NONE_ELSEWHERE)
        return
    here = Here()
    place = setup.place(host, to, cwd=here.cwd, home=here.home, environ=here.environ)
    done = setup.uninstall(place, here.state, dry_run=dry_run)
    if as_json:
        output.data(data(done, dry_run=dry_run))
        return
    if dry_run:
        output.text(difference(done))
    output.text(uninstalled(done, dry_run=dry_run))
