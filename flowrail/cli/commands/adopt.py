"""`flow adopt`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.formatters.data import session_item
from flowrail.skills.adopting import adopt


@click.command("adopt")
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> None:
    """Take over a session that came from elsewhere

    Shows what it is. It goes on for this user from then on; nothing in it is changed.
    """
    here = world(store=store)
    kept = adopt(here.store, session_id)
    if as_json:
        output.data(session_item(kept, store=here.shown_store))
    else:
        session = kept.session
        output.text(
            f"{session.id} is yours now: {session.skill}, {session.status}, at {session.step or 'its end'}, "
            f"revision {session.revision}, started {session.started_at}"
        )
