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
from flowrail.hosts.settings import OTHER, PERMISSIONS, add_hooks, settings_file
from flowrail.operations.environment import Environment


@click.command(
    "install",
    epilog=options.examples("flow hook install --dry-run", "flow hook install --host codex --to home"),
)
@host
@where
@click.option(
    "--permissions", is_flag=True, help="Also allow the agent to run flow's commands without asking."
)
@options.dry_run
@options.as_json
def command(host: str, to: str, permissions: bool, dry_run: bool, as_json: bool) -> None:
    """Add our hooks to a host's settings

    Other entries stay, in their order. Running it again changes nothing. Settings must be plain
    JSON: a file with comments is refused with the lines to add by hand.
    """
    if host == OTHER:
        output.data({"hooks": [], "instructions": ELSEWHERE}) if as_json else output.text(ELSEWHERE)
        return
    here = Environment()
    file = settings_file(host, to, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = permissions and host == "claude-code"
    done = add_hooks(file, permissions=wanted, dry_run=dry_run)
    if as_json:
        output.data(data(done, dry_run=dry_run, permissions=PERMISSIONS))
        return
    if dry_run:
        output.text(difference(done))
    output.text(installed(done, PERMISSIONS, asked=permissions, dry_run=dry_run))
