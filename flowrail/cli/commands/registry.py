"""`flow registry`."""

from __future__ import annotations

from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.cli.progress import ProgressBar
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.registry import check as registry_check_module
from flowrail.discovery.registry import sync as registry_sync_module
from flowrail.discovery.registry.listing import registered
from flowrail.formatters.reports import registry as page
from flowrail.operations.environment import Environment


@click.group("registry")
def registry_command() -> None:
    """Show, sync or check the registry of workflows

    The registry is one optional file of the user. It adds what a skill cannot declare itself: priority,
    notes, tags, workflows that are stored elsewhere.
    """


@registry_command.command("show", epilog=options.examples("flow registry show --json"))
@options.as_json
def show(as_json: bool) -> None:
    """Show the entries of the registry and the source of each field"""
    found = _discover(Environment())
    workflows = registered(found)
    if as_json:
        output.data(page.data(found.registry, workflows))
    else:
        output.report(page.report(found.registry, workflows))


@registry_command.command("sync", epilog=options.examples("flow registry sync --dry-run"))
@click.option("--dry-run", is_flag=True, help="Show the difference without writing it.")
@click.option(
    "--replace",
    multiple=True,
    metavar="FIELD",
    help="Overwrite your edits of a field (FIELD, SKILL.FIELD or SKILL) with the skill's value. Repeatable.",
)
@options.as_json
def sync(dry_run: bool, replace: tuple[str, ...], as_json: bool) -> None:
    """Update the registry from the skills in your home folder

    Comments, order, entries and values that a person wrote stay. Values that a sync wrote are replaced
    if the skill declares others; they are listed. The result is checked before it replaces the file.
    """
    here = Environment()
    with ProgressBar("Reading skills"):
        found = _discover(here)
        planned = registry_sync_module.plan(
            found.registry.path,
            found,
            home=here.home,
            now=datetime.fromisoformat(here.now),
            replace=replace,
        )
        if not dry_run:
            registry_sync_module.apply(planned)
    written = planned.changes and not dry_run
    if as_json:
        output.data(page.sync_data(planned, written=written))
    else:
        output.report(page.sync_report(planned, written=written))


@registry_command.command("check", epilog=options.examples("flow registry check"))
@click.option("--strict", is_flag=True, help="Fail on warnings too: entries that a sync would update.")
@options.as_json
def check(strict: bool, as_json: bool) -> int:
    """List the errors of the registry and its differences from the skills

    Exits 1 if anything is wrong. A missing registry is not an error.
    """
    found = _discover(Environment())
    notes = registry_check_module.check(found)
    if as_json:
        output.data(page.check_data(found.registry, notes))
    else:
        output.report(page.check_report(found.registry, notes))
    return int(any(strict or note.severity == "error" for note in notes))


def _discover(here: Environment) -> Discovery:
    return discover(here.cwd, here.home, here.environ)
