"""The environment of a command: standard output is kept for the answer, author's functions have a time limit."""

from __future__ import annotations

from collections.abc import Sequence

import click

from flowrail.cli.lazy_imports import load_engine

load_engine()

from flowrail.cli import output, streams  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.machines.engine.outcome import limit_functions  # noqa: E402 - the same
from flowrail.operations.environment import Environment  # noqa: E402 - the same
from flowrail.operations.running.world import World, world_of  # noqa: E402 - the same


def world(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> World:
    """Return what sessions need, looked up where the command was called.

    From here on standard output is kept for the answer, and each function of an author is called
    under a time limit.
    """
    return world_of(environment(store, roots), wait=wait)


def environment(store: str | None, roots: Sequence[str], *, conversation: str | None = None) -> Environment:
    """Look up where the command was called, and see to its output and to the author's functions as `world` says.

    *conversation* is that of the caller if it is not the one that the host names; empty for none.
    """
    streams.keep_apart()
    reset = limit_functions()
    command = click.get_current_context(silent=True)
    if command is not None:
        command.call_on_close(reset)
    return Environment(
        store=store, roots=roots, tell=lambda line: output.notes([line]), conversation=conversation
    )
