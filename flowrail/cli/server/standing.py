"""Where the server stands: the world of each call, looked up when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowrail.cli.desk import desk_in
from flowrail.cli.here import Here
from flowrail.cli.server.verbs import Place
from flowrail.cli.world import limit_functions, world_in
from flowrail.handoff.context import params_from
from flowrail.handoff.payload import Payload, text_at
from flowrail.handoff.receiving import Ours
from flowrail.skills import taking_over
from flowrail.skills.catalog import UnknownSkillError
from flowrail.skills.runs import World

WAIT = 5.0
"""How long a call waits for a session that another process holds; others wait for it meanwhile."""


def place(*, store: str | None, roots: Sequence[str]) -> Place:
    """Return where calls are made."""
    limit_functions()

    def world() -> World:
        return world_in(Here(store=store, roots=roots), wait=WAIT)

    return Place(world, lambda: desk_in(Here(store=store, roots=roots), world(), wait=WAIT), _taking_over)


def _taking_over(world: World, given: Sequence[str]) -> Callable[[Payload], Ours | None]:
    """Return how a receiver's session is begun, `None` where the target is no workflow of ours."""

    def ours(payload: Payload) -> Ours | None:
        skill = text_at(payload.handoff, "target.skill") or text_at(payload.handoff, "consumer")
        try:
            what = taking_over.opened(world, skill)
        except UnknownSkillError:
            return None

        def begin(session_id: str, taken: Payload, received: Mapping[str, Any]) -> None:
            filled = params_from(what.workflow.params, taken)
            taking_over.begin(world, what, session_id, filled=filled, given=tuple(given), received=received)

        return Ours(begin, lambda: world.store.new_id(skill))

    return ours
