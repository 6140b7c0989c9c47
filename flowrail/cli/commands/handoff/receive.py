"""`flow handoff receive`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.cli.desk import desk
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.arriving import Asked
from flowrail.handoff.payload.document import Payload, text_at
from flowrail.handoff.receiving import Ours, receive
from flowrail.handoff.receiving_context import params_from
from flowrail.handoff.telling import item
from flowrail.operations.handoffs import receive as handoff_receive
from flowrail.operations.running.steps import Answer, World, look
from flowrail.skills.catalog import UnknownSkillError


@click.command("receive", epilog=options.examples("flow handoff receive handoff-payload.yaml"))
@click.argument("file")
@click.option("--sha256", "digest", default="", metavar="HEX", help="The digest that came with the path.")
@click.option("--force", is_flag=True, help="Take it though its time has passed.")
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
    """Check a payload, claim it and take over the work

    One receiver gets it. Where the target is a workflow of ours its session is begun, parameters
    filled from the payload, and its first step printed; -p gives what the payload cannot.
    """
    at, world = desk(store=store, roots=roots, wait=wait)
    begun: list[Answer] = []
    received = receive(at, Asked(file, digest, force), lambda payload: _ours(world, payload, params, begun))
    output.notes([f"warning: {each}" for each in received.told])
    told = item(at, received.handoff)
    if not received.session:
        if form == "json":
            output.data({**told, "handoff_payload": received.payload.handoff})
        else:
            output.text(page.render(told))
        return
    answer = begun[0] if begun else look(world, received.session)
    output.notes(answer.notes)
    if form == "json":
        from flowrail.formatters.guidance.as_data import render

        output.data({**render(answer.guidance), "handoff": told})
    else:
        output.show(answer.guidance, form)


def _ours(world: World, payload: Payload, given: tuple[str, ...], begun: list[Answer]) -> Ours | None:
    """Return how the target's session is begun, `None` where it is no workflow of ours."""
    skill = text_at(payload.handoff, "target.skill") or text_at(payload.handoff, "consumer")
    try:
        what = handoff_receive.opened(world, skill)
    except UnknownSkillError:
        return None

    def begin(session_id: str, taken: Payload, received: Mapping[str, Any]) -> None:
        filled = params_from(what.workflow.params, taken)
        answer = handoff_receive.begin(world, what, session_id, filled=filled, given=given, received=received)
        begun.append(answer)

    return Ours(begin, lambda: world.store.new_id(skill))
