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
from flowrail.hosts.settings import OTHER, remove_hooks, settings_file
from flowrail.operations.environment import Environment


@click.command("uninstall", epilog=options.examples("flow hook uninstall"))
@host
@where
@options.dry_run
@options.as_json
def command(host: str, to: str, dry_run: bool, as_json: bool) -> None:
    """Remove our hooks from a host's settings

    Other entries stay. A file that contains nothing else is deleted.
    """
    if host == OTHER:
        output.data({"hooks": [], "instructions": NONE_ELSEWHERE}) if as_json else output.text(NONE_ELSEWHERE)
        return
    here = Environment()
    file = settings_file(host, to, cwd=here.cwd, home=here.home, environ=here.environ)
    done = remove_hooks(file, dry_run=dry_run)
    if as_json:
        output.data(data(done, dry_run=dry_run))
        return
    if dry_run:
        output.text(difference(done))
    output.text(uninstalled(done, dry_run=dry_run))
