"""The session to hand off if the caller did not name one."""

from __future__ import annotations

from collections.abc import Callable

from flowrail.command import Command, Hint
from flowrail.operations.environment import World
from flowrail.operations.running.conversations import NoOpenSessionError, summaries, the_open_session


def session_to_hand_off(world: World, send_command: Callable[[str], Command]) -> str:
    """Return the id of the only open session; if there are none or several, the hint shows how to name one.

    *send_command* gives the command that hands off the session with a given id.
    """
    try:
        return the_open_session(world, send_command).session.id
    except NoOpenSessionError as error:
        stored = [summary.kept for summary in summaries(world.store, every=True) if summary.kept]
        own = [kept.session.id for kept in stored if not kept.session.parent]
        if not own:
            raise
        hint = Hint("name a session that has ended: ", send_command(own[0]))
        raise NoOpenSessionError(error.message, hint=hint) from None
