"""The world as the verbs of `skills.runs` want it. Importing this imports the engine, quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from flowrail.cli.lazy_imports import load_engine

load_engine()

from flowrail.cli import streams  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.machines.definition.step import StepContext  # noqa: E402 - the same
from flowrail.machines.engine.outcome import caller  # noqa: E402 - the same
from flowrail.machines.sessions.host_binding import host_id  # noqa: E402 - the same
from flowrail.operations.environment import Here  # noqa: E402 - the same
from flowrail.operations.running.steps import World  # noqa: E402 - the same


def world(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> World:
    """Return what a verb needs, looked up where the command was called.

    From here on standard output is kept for the answer, and every function of an author is called
    under a time limit.
    """
    streams.keep_apart()
    give_back = limit_functions()
    command = click.get_current_context(silent=True)
    if command is not None:
        command.call_on_close(give_back)
    return world_in(Here(store=store, roots=roots), wait=wait)


def limit_functions() -> Callable[[], None]:
    """Let every function of an author be called under a time limit; what is returned takes that back."""
    before = caller.set(_limited)
    return lambda: caller.reset(before)


def world_in(here: Here, *, wait: float) -> World:
    """Return what a verb needs, as it is *here*."""
    return World(
        store=here.store,
        roots=here.roots,
        state=here.state,
        now=lambda: here.now,
        by=here.by,
        shown_store=here.shown_store,
        wait=wait,
        host=host_id(here.environ),
    )


def _limited(function: Callable[..., Any], context: StepContext, arguments: Mapping[str, Any]) -> Any:
    from flowrail.cli.time_limit import call_limited  # nearly no workflow has functions

    return call_limited(function, context, arguments)
