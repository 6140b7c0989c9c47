"""The environment of a command: standard output is kept for the answer, author's functions have a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from flowrail.cli.lazy_imports import load_engine

load_engine()

from flowrail.cli import output, streams  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.operations.environment import Environment, limit_functions  # noqa: E402 - the same
from flowrail.operations.running.steps import World  # noqa: E402 - the same

if TYPE_CHECKING:
    from flowrail.handoff.context import HandoffContext


def world(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> World:
    """Return what sessions need, looked up where the command was called.

    From here on standard output is kept for the answer, and each function of an author is called
    under a time limit.
    """
    return _environment(store, roots).world(wait=wait)


def desk(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> tuple[HandoffContext, World]:
    """Return what handoffs need, and what sessions need."""
    environment = _environment(store, roots)
    return environment.handoff_context(wait=wait), environment.world(wait=wait)


def _environment(store: str | None, roots: Sequence[str]) -> Environment:
    streams.keep_apart()
    reset = limit_functions()
    command = click.get_current_context(silent=True)
    if command is not None:
        command.call_on_close(reset)
    return Environment(store=store, roots=roots, tell=lambda line: output.notes([line]))
