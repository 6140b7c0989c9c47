"""The world as the verbs of `skills.runs` want it. Importing this imports the engine, quickly."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.cli.asyncio_later import load_engine

load_engine()

from flowrail.cli import streams  # noqa: E402 - the engine comes first, or asyncio comes with it
from flowrail.cli.here import Here  # noqa: E402 - the same
from flowrail.skills.runs import World  # noqa: E402 - the same


def world(*, store: str | None, roots: Sequence[str] = (), wait: float = 10.0) -> World:
    """Return what a verb needs, looked up where the command was called.

    From here on standard output is kept for the answer.
    """
    here = Here(store=store, roots=roots)
    streams.keep_apart()
    return World(
        store=here.store,
        roots=here.roots,
        state=here.state,
        now=lambda: here.now,
        by=here.by,
        shown_store=here.shown_store,
        wait=wait,
    )
