"""`flow claim`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.formatters.guidance.work import handed_data, handed_text, handed_xml
from flowrail.operations.running import agents
from flowrail.operations.running.steps import Answer


@click.command(
    "claim",
    epilog=options.examples(
        "flow claim deepthink-k3x9q2 d2-1", "flow claim deepthink-k3x9q2 d2-1 --as agent-7"
    ),
)
@options.session_argument
@click.argument("dispatch")
@click.option("--as", "holder", metavar="NAME", help="Who claims it, for the journal.")
@click.option("--token", metavar="T", help="Continue a dispatch that another agent claimed, by its token.")
@options.form
@options.store
@options.wait_in_a_crowd
def command(
    session_id: str,
    dispatch: str,
    holder: str | None,
    token: str | None,
    form: str | None,
    store: str | None,
    wait: float,
) -> None:
    """Claim a dispatch of a step

    If the dispatch runs a workflow, starts its session and prints the first step. Otherwise prints a
    prompt and the command that reports the result. The lease is one hour unless the step sets
    another; it is renewed when the session moves.
    """
    taken = agents.claim(world(store=store, wait=wait), session_id, dispatch, holder, token=token)
    if isinstance(taken, Answer):
        output.notes(taken.notes)
        output.show(taken.guidance, form)
        return
    form = form or output.usual_form()
    if form == "json":
        output.data(handed_data(taken))
    else:
        output.text(handed_xml(taken) if form == "xml" else handed_text(taken))
