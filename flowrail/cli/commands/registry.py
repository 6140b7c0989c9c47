"""`flow registry`: the optional file that describes skills, and its differences from them."""

from __future__ import annotations

from datetime import datetime

import click

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.registry.check import check
from flowrail.discovery.registry.sync import apply, plan
from flowrail.formatters.reports import registry as page
from flowrail.operations.environment import Environment


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
    environment = call.environment
    discovery = _discover(environment)
    now = datetime.fromisoformat(environment.now)
    planned = plan(discovery.registry.path, discovery, home=environment.home, now=now, replace=replace)
    if not dry_run:
        apply(planned)
    written = planned.changes and not dry_run
    call.answer(page.sync_data(planned, written=written), page.sync_report(planned, written=written))


@Call.command("check", "flow registry check")
@options.as_json
def check_command(call: Call) -> int:
    """List the errors of the registry and its differences from the skills

    Exits 1 on any error. A missing registry is not an error.
    """
    discovery = _discover(call.environment)
    notes = check(discovery)
    call.answer(page.check_data(discovery.registry, notes), page.check_report(discovery.registry, notes))
    return int(any(note.severity == "error" for note in notes))


def _discover(environment: Environment) -> Discovery:
    return discover(environment.cwd, environment.home, environment.environ)
