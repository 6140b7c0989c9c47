"""`flow registry`: show, sync and check the registry of workflows."""

from __future__ import annotations

from datetime import datetime

import click

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.registry import check as registry_check_module
from flowrail.discovery.registry import sync as registry_sync_module
from flowrail.discovery.registry.listing import registered
from flowrail.formatters.reports import registry as page
from flowrail.operations.environment import Environment


@Call.command("show", "flow registry show --json")
@options.as_json
def show_command(call: Call) -> None:
    """Show the entries of the registry and the source of each field"""
    found = _discover(call.environment)
    workflows = registered(found)
    call.answer(page.data(found.registry, workflows), page.report(found.registry, workflows))


@Call.command("sync", "flow registry sync --dry-run")
@click.option("--dry-run", is_flag=True, help="Show the difference without writing it.")
@click.option(
    "--replace",
    multiple=True,
    metavar="FIELD",
    help="Overwrite your edits of a field (FIELD, SKILL.FIELD or SKILL) with the skill's value. Repeatable.",
)
@options.as_json
def sync_command(call: Call, dry_run: bool, replace: tuple[str, ...]) -> None:
    """Update the registry from the skills in your home folder

    Comments, order, entries and values that a person wrote stay. Values that a sync wrote are replaced
    if the skill declares others; they are listed. The result is checked before it replaces the file.
    """
    here = call.environment
    found = _discover(here)
    now = datetime.fromisoformat(here.now)
    planned = registry_sync_module.plan(found.registry.path, found, home=here.home, now=now, replace=replace)
    if not dry_run:
        registry_sync_module.apply(planned)
    written = planned.changes and not dry_run
    call.answer(page.sync_data(planned, written=written), page.sync_report(planned, written=written))


@Call.command("check", "flow registry check")
@click.option("--strict", is_flag=True, help="Fail on warnings too: entries that a sync would update.")
@options.as_json
def check_command(call: Call, strict: bool) -> int:
    """List the errors of the registry and its differences from the skills

    Exits 1 if anything is wrong. A missing registry is not an error.
    """
    found = _discover(call.environment)
    notes = registry_check_module.check(found)
    call.answer(page.check_data(found.registry, notes), page.check_report(found.registry, notes))
    return int(any(strict or note.severity == "error" for note in notes))


def _discover(here: Environment) -> Discovery:
    return discover(here.cwd, here.home, here.environ)
