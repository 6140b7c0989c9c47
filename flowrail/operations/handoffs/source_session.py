"""Which session is meant where work is handed over and nobody said."""

from __future__ import annotations

from collections.abc import Callable

from flowrail.command import Command, Hint
from flowrail.operations.running.steps import (
    NoOpenSessionError,
    SeveralOpenError,
    World,
    name_one,
    the_open_session,
)
from flowrail.operations.sessions.session_list import summaries


def to_hand_over(world: World, by: Callable[[str], Command]) -> str:
    """Return the one open session's id; where there is none or several, the refusal says how to name one.

    *by* gives the command that hands over the session of an id.
    """
    try:
        return the_open_session(world).session.id
    except SeveralOpenError as error:
        ids = error.details["sessions"]
        lines = [by(each) for each in ids] if isinstance(ids, list) else []
        raise SeveralOpenError(
            error.message, hint=name_one(world, lines), sessions=ids, commands=[str(line) for line in lines]
        ) from None
    except NoOpenSessionError as error:
        over = [each.kept for each in summaries(world.store, every=True) if each.kept]
        mine = [each.session.id for each in over if not each.session.parent]
        if not mine:
            raise
        raise NoOpenSessionError(error.message, hint=Hint("name one that is over: ", by(mine[0]))) from None
