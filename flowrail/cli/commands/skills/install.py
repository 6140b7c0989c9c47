"""`flow install`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from flowrail.cli import options, output
from flowrail.errors import UsageError
from flowrail.hosts import locations
from flowrail.operations.environment import Environment
from flowrail.skills import install
from flowrail.skills.install import (
    LEFT,
    NEW,
    REMOVED,
    SAME,
    UPDATED,
    InstalledSkill,
)
from flowrail.text.safe_text import one_line

_WORDS = {NEW: "new", UPDATED: "brought up to date", SAME: "as they were", REMOVED: "taken away"}


@click.command(
    "install", epilog=options.examples("flow install planner --dry-run", "flow install --all --to home")
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Install every bundled skill.")
@options.where
@options.host
@click.option("--card", is_flag=True, help="Install only SKILL.md; the steps stay in the package.")
@click.option("--force", is_flag=True, help="Replace files that were changed by hand, too.")
@options.dry_run
@options.as_json
def command(
    names: tuple[str, ...],
    every: bool,
    to: str,
    host: str,
    card: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Install bundled skills where agents look for them

    Files that were changed by hand, or were there before, are left as they are. An unchanged copy
    runs like the bundled skill. A changed copy needs `flow skill trust`.
    """
    if bool(names) == every:
        raise UsageError("either names of skills or --all is needed", hint="give one of them")
    here = Environment()
    root = locations.place(to, host, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = install.bundled() if every else names
    placed = install.install(wanted, root, card=card, force=force, dry_run=dry_run)
    if as_json:
        output.data({"installed": [each.as_data() for each in placed], "dry_run": dry_run})
        return
    for each in placed:
        output.text("\n".join(one_line(line) for line in _told(each)))
    if dry_run:
        output.text("nothing was written")


def _told(placed: InstalledSkill) -> Iterator[str]:
    counted = [f"{len(placed.only(state))} {words}" for state, words in _WORDS.items() if placed.only(state)]
    yield f"{placed.skill} in {placed.folder}: files {', '.join(counted) or 'none'}"
    for path in placed.only(LEFT):
        yield f"not replaced, since flow did not write it or it was changed: {path}"
