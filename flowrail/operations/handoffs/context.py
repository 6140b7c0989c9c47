"""What handoffs need of the environment in which a command or a tool call runs."""

from __future__ import annotations

from functools import cache

from flowrail.discovery.index import Discovery, discover
from flowrail.handoff.context import HandoffContext
from flowrail.operations.environment import Environment
from flowrail.skills.bundled import with_bundled
from flowrail.skills.catalog import bundled_folder


def handoff_context_of(environment: Environment, *, wait: float) -> HandoffContext:
    """Return what handoffs need. A call waits *wait* seconds for a handoff that another process holds."""
    return HandoffContext(
        store=environment.store,
        discover=cache(lambda: _discover(environment)),
        now=lambda: environment.now,
        by=environment.by,
        state=environment.state,
        project=environment.cwd,
        trusted_roots=frozenset({bundled_folder()}),
        environ=environment.environ,
        shown_store=environment.shown_store,
        wait=wait,
    )


def _discover(environment: Environment) -> Discovery:
    """Return the skills that can take over work: installed ones, and the bundled ones after them."""
    return with_bundled(
        discover(
            environment.cwd,
            environment.home,
            environment.environ,
            extra=environment.extra,
        )
    )
