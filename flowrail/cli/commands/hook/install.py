"""`flow hook install`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.commands.hook.options import host, where
from flowrail.formatters.reports.hooks import (
    ELSEWHERE,
    data,
    difference,
    installed,
)
from flowrail.hosts import setup
from flowrail.hosts.settings import PERMISSIONS
from flowrail.operations.environment import Here


@click.command(
    "install",
    epilog=options.examples("flow hook install --dry-run", "flow hook install --host codex --to home"),
)
@host
@where
@click.option("--permissions", is_flag=True, help="Also let the agent run flow's commands unasked.")
@options.dry_run
@options.as_json
def command(host: str, to: str, permissions: bool, dry_run: bool, as_json: bool) -> None:
    """Put our hooks into a host's settings

    What stands there stays as it is, comments and order too. Doing it again changes nothing;
    `flow hook uninstall` gives back the very bytes that were there.
    """
    if host == setup.OTHER:
        output.data({"hooks": [], "instructions": ELSEWHERE}) if as_json else output.text(ELSEWHERE)
        return
    here = Here()
    place = setup.place(host, to, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = permissions and host == "claude-code"
    done = setup.install(place, here.state, permissions=wanted, dry_run=dry_run)
    if as_json:
        output.data(data(done, dry_run=dry_run, permissions=PERMISSIONS))
        return
    if dry_run:
        output.text(difference(done))
    output.text(installed(done, PERMISSIONS, asked=permissions, dry_run=dry_run))
