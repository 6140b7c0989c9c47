"""`flow skill uninstall`."""

from __future__ import annotations

import os

import click

from flowrail.cli import options, output
from flowrail.errors import UsageError
from flowrail.hosts import locations
from flowrail.operations.environment import Environment
from flowrail.skills import install
from flowrail.skills.install import LEFT, REMOVED
from flowrail.text.safe_text import one_line


@click.command("uninstall", epilog=options.examples("flow skill uninstall planner"))
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Remove every installed skill.")
@options.where
@options.host
@options.dry_run
@options.as_json
def command(names: tuple[str, ...], every: bool, to: str, host: str, dry_run: bool, as_json: bool) -> None:
    """Remove what `flow install` wrote

    Files that were changed since, and files that it did not write, stay.
    """
    if bool(names) == every:
        raise UsageError("either names of skills or --all is needed", hint="give one of them")
    here = Environment()
    root = locations.place(to, host, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = install.installed(root) if every else names
    placed = install.uninstall(wanted, root, dry_run=dry_run)
    if as_json:
        output.data({"uninstalled": [each.as_data() for each in placed], "dry_run": dry_run})
        return
    done = "to be taken away" if dry_run else "taken away"
    for each in placed:
        output.text(one_line(f"{each.skill} in {each.folder}: files {len(each.only(REMOVED))} {done}"))
        for path in each.only(LEFT):
            output.text(one_line(f"left, since it was changed: {path}"))
        if not (dry_run or each.only(LEFT)) and os.path.isdir(each.folder):
            output.text("its folder stays: it contains files that were not installed")
    if not placed:
        output.text(one_line(f"no skill was installed in {root}"))
    if dry_run:
        output.text("nothing was taken away")
