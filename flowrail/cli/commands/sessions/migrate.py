"""`flow session migrate`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import named_values
from flowrail.formatters.guidance import as_data
from flowrail.formatters.reports.migration import done_text, plan_data, plan_text
from flowrail.operations.sessions import migrate


@click.command(
    "migrate",
    epilog=options.examples(
        "flow session migrate problem-analysis-k3x9q2 --plan",
        "flow session migrate problem-analysis-k3x9q2 --map gate=check --accept",
    ),
)
@options.session_argument
@click.option("--plan", "only_plan", is_flag=True, help="Show what would change, without changing it.")
@click.option("--map", "maps", multiple=True, metavar="OLD=NEW", help="The new name of a step.")
@click.option("--accept", is_flag=True, help="Accept changed transitions and recognised names.")
@options.params
@options.form
@options.store
@options.root
@options.wait
def command(
    session_id: str,
    only_plan: bool,
    maps: tuple[str, ...],
    accept: bool,
    params: tuple[str, ...],
    form: str | None,
    store: str | None,
    roots: tuple[str, ...],
    wait: float,
) -> None:
    """Move a session to a changed workflow

    Shows what became of each step: identical, text only, compatible, changed, renamed, gone, new.
    Then migrates, or exits 5 and says what you must decide: the step that the session is at now (--map),
    whether changed transitions are intended (--accept), the value of a new parameter (-p).
    """
    here = world(store=store, roots=roots, wait=wait)
    form = form or "text"
    renamed, values = named_values(maps, "--map", "OLD=NEW"), named_values(params, "-p")
    plan = migrate.outlook(here, session_id, renamed, values).plan
    if form == "text" or (only_plan and form != "json"):
        output.text(plan_text(plan))
    if only_plan:
        if form == "json":
            output.data(plan_data(plan))
        return
    done = migrate.migrate(here, session_id, renamed, values, accept=accept)
    output.notes([*done.answer.notes, done_text(done.plan, changed=done.changed)])
    if form == "json":
        more = {"migration": {**plan_data(done.plan), "changed": done.changed}}
        output.data({**as_data.render(done.answer.guidance), **more})
    else:
        output.show(done.answer.guidance, form)
