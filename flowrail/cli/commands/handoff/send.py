"""`flow handoff send`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.commands.handoff.send_options import send_options
from flowrail.cli.facts import facts_of
from flowrail.cli.handoff_environment import contexts
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.request import WRITTEN_VERSIONS, HandoffRequest
from flowrail.handoff.sending import send
from flowrail.operations.handoffs.source_session import session_to_hand_off


@click.command(
    "send",
    epilog=options.examples(
        "flow handoff send planner --session perspective-swarm-k3x9q2",
        "flow handoff send planner --schema 3.0 --format json --yes",
    ),
)
@click.argument("target")
@options.session_option
@send_options
@click.option("--health-check", "health", is_flag=True, help="Run the target's own check first.")
@click.option(
    "--schema", type=click.Choice(WRITTEN_VERSIONS), help="The payload version (default: the target's)."
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), help="The format of the payload's file."
)
@options.as_json
@options.root
@options.store
@options.wait
def command(
    target: str,
    session_id: str | None,
    reason: str,
    yes: bool,
    approved: bool,
    assignments: tuple[str, ...],
    facts_file: str | None,
    health: bool,
    schema: str | None,
    form: str | None,
    as_json: bool,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Hand a session's work to a skill

    Selects the target, checks everything, writes the payload once, and prints the line that the agent
    that takes over runs. The same command again prints the same answer, or continues an interrupted
    handoff.
    """
    context, world = contexts(store=store, roots=roots, wait=wait)
    facts = facts_of(assignments, facts_file)
    session = session_id or session_to_hand_off(
        world,
        lambda open_session: context.command(
            "handoff send",
            target,
            session=open_session,
            facts=facts_of(assignments, None),
            facts_file=facts_file,
            reason=" ".join(reason.splitlines()) or None,
            schema=schema,
            format=form,
            yes=yes,
            approved=approved,
            health_check=health,
            root=next(iter(roots), ""),
        ),
    )
    request = HandoffRequest(target, session, reason, yes, approved, health, schema or "", form or "", facts)
    sent = send(context, request)
    data = page.as_data(context, sent.handoff, replayed=sent.replayed, notes=sent.notes)
    if as_json:
        output.data(data)
    else:
        output.text(page.render(data))
