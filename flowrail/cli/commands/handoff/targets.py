"""`flow handoff targets`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.cli.handoff_environment import contexts
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.ranking.menu import MenuRequest, offer
from flowrail.discovery.ranking.scores import CATEGORIES, Query
from flowrail.formatters.reports import handoff as page
from flowrail.formatters.reports import menu as as_menu
from flowrail.handoff.chain import chain_of, format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.request import extra_root
from flowrail.machines.sessions.session import Session
from flowrail.operations.handoffs.handoff_menu import menu_cache, problem_type_of, synthesis
from flowrail.storage.files import WriteFailedError


@click.command(
    "targets",
    epilog=options.examples(
        "flow handoff targets",
        "flow handoff targets --problem-type analytical --top 3",
    ),
)
@options.session_option
@click.option("--problem-type", metavar="T", help="Rank for this problem type instead of the reported one.")
@click.option(
    "--from", "source", default="", metavar="SKILL", help="The skill that hands off, if there is no session."
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="C",
    help="Only skills with one of these categories. Repeatable.",
)
@options.autonomous
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="Show at most N (default: three to five)."
)
@click.option("--all", "everything", is_flag=True, help="Include skills that do not fit, and why.")
@options.root
@options.as_json
@options.store
def command(
    session_id: str | None,
    problem_type: str | None,
    source: str,
    categories: tuple[str, ...],
    autonomous: bool,
    top: int | None,
    everything: bool,
    roots: tuple[str, ...],
    as_json: bool,
    store: str | None,
) -> None:
    """List the skills that can take over, best first

    With --session they are ranked by what the session reported, and the command that hands off to each
    is printed. Reads what skills declare and runs nothing.
    """
    context, world = contexts(store=store, roots=roots)
    session = world.store.read(session_id).session if session_id else None
    discovery = context.discover()
    query = Query(
        categories,
        session.skill if session else source,
        supervised=not autonomous,
        history=context.handoffs.receivers(),
        chain=chain_of(session) if session else (),
    )
    asked = MenuRequest(query, synthesis(session, problem_type))
    output.notes(asked.unknown())
    if session is not None and asked.synthesis is None and not problem_type_of(session):
        output.notes(
            ["the session has not reported a problem type, which a payload needs; add --problem-type"]
        )
    menu = offer(discovery, asked, top=top)
    kept = None
    if session is not None:
        scores = None if menu.asked.synthesis is None else menu.scores
        try:
            now = datetime.fromisoformat(world.now())
            kept = menu_cache(world.store, session.id, discovery, now, scores=scores)
        except WriteFailedError as error:
            output.notes([f"the menu was not cached: {error.message}"])
    facts = _problem_type_fact(session, asked)
    offers = [_offer(context, session, ranked.candidate, facts) for _, ranked in menu.places]
    if as_json:
        data = as_menu.data(menu, discovery, kept=kept, everything=everything, top=top)
        by_skill = {entry["skill"]: entry for entry in offers}
        for item in data["candidates"]:
            item.update(by_skill.get(item["skill"], {}))
        output.data(data)
    else:
        again = str(context.command("handoff targets", session=session.id if session else None))
        text = as_menu.render(menu, discovery, kept=kept, everything=everything, command=again)
        output.text(page.render_targets(text, offers[: menu.length] if session else ()))


def _problem_type_fact(session: Session | None, asked: MenuRequest) -> dict[str, str]:
    """Return the problem type as a fact for a command, if the session has not reported it."""
    kind = asked.synthesis.problem_type if asked.synthesis else ""
    known = session is not None and problem_type_of(session) == kind
    return {"problem_type": kind} if kind in CATEGORIES and not known else {}


def _offer(
    context: HandoffContext, session: Session | None, candidate: Candidate, facts: dict[str, str]
) -> dict[str, Any]:
    """Return the command that hands off to a candidate, and the loop that this would be, if it is one."""
    skill = candidate.skill
    if session is None:
        return {"skill": skill, "loop": "", "command": ""}
    chain = chain_of(session)
    loop = format_chain(chain, skill) if skill in chain else ""
    root = extra_root(candidate)
    command = context.command("handoff send", skill, session=session.id, facts=facts, root=root)
    return {"skill": skill, "loop": loop, "command": str(command)}
