"""Where the server stands: the world of each call, looked up when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowrail.cli.desk import desk_in
from flowrail.cli.world import limit_functions, world_in
from flowrail.handoff.payload.document import Payload, text_at
from flowrail.handoff.receiving import Ours
from flowrail.handoff.receiving_context import params_from
from flowrail.mcp.verbs import Place
from flowrail.operations.environment import Here
from flowrail.operations.handoffs import receive
from flowrail.operations.running.steps import World
from flowrail.skills.catalog import UnknownSkillError

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
            what = receive.opened(world, skill)
        except UnknownSkillError:
            return None

        def begin(session_id: str, taken: Payload, received: Mapping[str, Any]) -> None:
            filled = params_from(what.workflow.params, taken)
            receive.begin(world, what, session_id, filled=filled, given=tuple(given), received=received)

        return Ours(begin, lambda: world.store.new_id(skill))

    return ours
