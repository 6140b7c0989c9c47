"""The context of handoff commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from flowrail.cli.world import world
from flowrail.discovery.index import Discovery, discover
from flowrail.handoff.context import HandoffContext
from flowrail.operations.environment import Here
from flowrail.operations.running.steps import World
from flowrail.skills.bundled import with_bundled
from flowrail.skills.catalog import bundled_folder


def desk(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> tuple[HandoffContext, World]:
    """Return the handoff context and the world of a command. Bundled skills come last among the targets."""
    standing = world(store=store, roots=roots, wait=wait)
    return desk_in(Here(store=store, roots=roots), standing, wait=wait), standing


def desk_in(here: Here, standing: World, *, wait: float) -> HandoffContext:
    """Return the handoff context at the given place."""

    @cache
    def found() -> Discovery:
        installed = discover(here.cwd, here.home, here.environ, extra=here.extra, ask_git=here.ask_git)
        return with_bundled(installed)

    return HandoffContext(
        store=standing.store,
        discover=found,
        now=standing.now,
        by=standing.by,
        state=standing.state,
        project=here.cwd,
        trusted_roots=frozenset({bundled_folder()}),
        environ=here.environ,
        shown_store=standing.shown_store,
        wait=wait,
    )
