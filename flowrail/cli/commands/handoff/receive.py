"""`flow handoff receive`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.facts import named_values
from flowrail.cli.handoff_environment import contexts
from flowrail.formatters.guidance.as_data import render
from flowrail.formatters.reports import handoff as page
from flowrail.operations.handoffs.receive import receive_handoff


@click.command("receive", epilog=options.examples("flow handoff receive handoff-payload.yaml"))
@click.argument("file")
@click.option("--sha256", "digest", default="", metavar="HEX", help="The digest that came with the path.")
@click.option("--force", is_flag=True, help="Accept an expired payload.")
@options.params
@options.form
@options.root
@options.store
@options.wait
def command(
    file: str,
    digest: str,
    force: bool,
    params: tuple[str, ...],
    form: str | None,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Validate a payload, claim it and take over the work

    Only one receiver gets it. If the target has a workflow, its session starts with parameters from
    the payload, and its first step is printed; -p adds parameters that the payload lacks.
    """
    context, world = contexts(store=store, roots=roots, wait=wait)
    receipt, answer = receive_handoff(
        context, world, file, digest=digest, force=force, params=named_values(params, "-p")
    )
    output.notes([f"warning: {warning}" for warning in receipt.warnings])
    data = page.as_data(context, receipt.handoff)
    if answer is None:
        if form == "json":
            output.data({**data, "handoff_payload": receipt.payload.handoff})
        else:
            output.text(page.render(data))
        return
    output.notes(answer.notes)
    if form == "json":
        output.data({**render(answer.guidance), "handoff": data})
    else:
        output.show(answer.guidance, form)
