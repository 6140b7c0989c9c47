"""`flow handoff targets`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.cli.desk import desk
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.ranking.menu import MenuRequest, offer
from flowrail.discovery.ranking.scores import CATEGORIES, Query
from flowrail.formatters.reports import handoff as page
from flowrail.formatters.reports import menu as as_menu
from flowrail.handoff.chain import drawn
from flowrail.handoff.context import Desk
from flowrail.handoff.history import chain_of, succeeded
from flowrail.handoff.requesting import named_root
from flowrail.machines.sessions.session import Session
from flowrail.operations.handoffs.handoff_menu import kept_for, problem_type_of, synthesis
from flowrail.storage.files import WriteFailedError


@click.command(
    "targets",
    epilog=options.examples(
        "flow handoff targets",
        "flow handoff targets --problem-type analytical --top 3",
    ),
)
@options.session_option
@click.option("--problem-type", metavar="T", help="Rank by fit to such a problem, whatever was reported.")
@click.option(
    "--from", "source", default="", metavar="SKILL", help="Who hands over, where there is no session."
)
@click.option(
    "--category", "categories", multiple=True, metavar="C", help="One of these it must have. May be repeated."
)
@options.autonomous
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Show so many (default: three to five).")
@click.option("--all", "everything", is_flag=True, help="Those that do not fit too, and why.")
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
    """Show who can take over, best first

    With --session they are ranked by what it has reported, and the command that hands over to each
    stands below. Reads what skills declare, runs nothing.
    """
    at, world = desk(store=store, roots=roots)
    session = world.store.read(session_id).session if session_id else None
    found = at.discover()
    query = Query(
        categories,
        session.skill if session else source,
        supervised=not autonomous,
        history=succeeded(at.handoffs),
        chain=chain_of(session) if session else (),
    )
    asked = MenuRequest(query, synthesis(session, problem_type))
    output.notes(asked.unknown())
    if session is not None and asked.synthesis is None and not problem_type_of(session):
        output.notes(
            ["the session does not say its problem type, which a payload needs; give it by --problem-type"]
        )
    menu = offer(found, asked, top=top)
    kept = None
    if session is not None:
        scores = None if menu.asked.synthesis is None else menu.scores
        try:
            kept = kept_for(
                world.store, session.id, found, datetime.fromisoformat(world.now()), scores=scores
            )
        except WriteFailedError as error:
            output.notes([f"not kept for the session: {error.message}"])
    facts = _told(session, asked)
    offers = [_offer(at, session, each.candidate, facts) for _, each in menu.places]
    if as_json:
        told = as_menu.data(menu, found, kept=kept, everything=everything, top=top)
        by_skill = {each["skill"]: each for each in offers}
        for each in told["candidates"]:
            each.update(by_skill.get(each["skill"], {}))
        output.data(told)
    else:
        command = at.command("handoff targets", session=session.id if session else None)
        text = as_menu.render(menu, found, kept=kept, everything=everything, command=str(command))
        output.text(page.render_targets(text, offers[: menu.length] if session else ()))


def _told(session: Session | None, asked: MenuRequest) -> dict[str, str]:
    """Return the problem type as a fact for a command, where only the one who asks has said it."""
    kind = asked.synthesis.problem_type if asked.synthesis else ""
    known = session is not None and problem_type_of(session) == kind
    return {"problem_type": kind} if kind in CATEGORIES and not known else {}


def _offer(at: Desk, session: Session | None, candidate: Candidate, facts: dict[str, str]) -> dict[str, Any]:
    """Return what it takes to hand over: the command, and whether the work would go round."""
    skill = candidate.skill
    if session is None:
        return {"skill": skill, "loop": "", "command": ""}
    chain = chain_of(session)
    loop = drawn(chain, skill) if skill in chain else ""
    return {
        "skill": skill,
        "loop": loop,
        "command": str(
            at.command("handoff send", skill, session=session.id, facts=facts, root=named_root(candidate))
        ),
    }
