"""The context of handoffs, from the environment of a command, and the session to hand off if none was named."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from flowrail.command import Command, Hint
from flowrail.discovery.index import Discovery, discover, with_bundled
from flowrail.discovery.locations import bundled_folder
from flowrail.handoff.context import HandoffContext
from flowrail.operations.environment import Environment, World
from flowrail.operations.running.conversations import NoOpenSessionError, summaries, the_open_session


def handoff_context_of(environment: Environment, *, wait: float) -> HandoffContext:
    """Return the context of handoffs. A call waits *wait* seconds for a handoff that another process holds."""

    @cache
    def installed() -> Discovery:
        return discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)

    return HandoffContext(
        store=environment.store,
        discover=cache(lambda: with_bundled(installed())),
        skills=cache(lambda: _names(installed()) | frozenset(os.listdir(bundled_folder()))),
        now=lambda: environment.now,
        by=environment.by,
        state=environment.state,
        project=environment.cwd,
        trusted_roots=frozenset({bundled_folder()}),
        environ=environment.environ,
        shown_store=environment.shown_store,
        wait=wait,
    )


def _names(discovery: Discovery) -> frozenset[str]:
    """Return the names of all skills that were found, targets or not."""
    skipped = (skill.skill for skill in discovery.skipped if skill.is_skill)
    return frozenset((*(candidate.skill for candidate in discovery.candidates), *skipped))


def session_to_hand_off(world: World, send_command: Callable[[str], Command]) -> str:
    """Return the id of the only open session; if there are none or several, the hint shows how to name one.

    *send_command* gives the command that hands off the session with a given id.
    """
    try:
        return the_open_session(world, send_command).session.id
    except NoOpenSessionError as error:
        stored = [summary.kept for summary in summaries(world.store, every=True) if summary.kept]
        own = [record.session.id for record in stored if not record.session.parent]
        if not own:
            raise
        hint = Hint("name a session that has ended: ", send_command(own[0]))
        raise NoOpenSessionError(error.message, hint=hint) from None
