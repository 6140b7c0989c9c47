"""Everything that sending and receiving need from outside: store, discovery, clock and randomness."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from flowrail.command import Command, Option
from flowrail.discovery.index import Discovery
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.store import Store
from flowrail.text.phrases import moment


class HandoffContext(NamedTuple):
    """Where handoffs are stored, who acts, and how skills are found.

    Skills below ``trusted_roots`` may run without approval. ``project`` is the folder that relative paths in
    facts refer to. ``shown_store`` is added to every printed command.
    """

    store: Store
    discover: Callable[[], Discovery]
    now: Callable[[], str]
    by: str
    state: str
    project: str
    trusted_roots: Collection[str] = ()
    environ: Mapping[str, str] = {}
    shown_store: str | None = None
    wait: float = 10.0
    random: Callable[[int], bytes] = os.urandom

    @property
    def handoffs(self) -> Handoffs:
        """The handoffs of the store."""
        return Handoffs(self.store)

    def current_time(self) -> datetime:
        """Return the current time."""
        return moment(self.now()) or datetime.now(UTC)

    def command(self, verb: str, *arguments: str, root: str = "", **options: Option) -> Command:
        """Return a command for this store, with ``--root`` if the target is found only there."""
        return Command(verb, *arguments, store=self.shown_store, **options, root=root or None)
