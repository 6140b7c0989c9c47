"""Everything that sending and receiving need from outside: store, discovery, clock and randomness."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from flowrail.command import Command, Option
from flowrail.discovery.index import Discovery
from flowrail.handoff.store import Handoffs
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.sessions.store import Store
from flowrail.text.phrases import moment


@dataclass(frozen=True)
class HandoffContext:
    """Where handoffs are stored, who acts, and how skills are found."""

    store: Store
    discover: Callable[[], Discovery]
    skills: Callable[[], Collection[str]]
    """Returns the names of all skills that are installed or bundled."""
    now: Callable[[], str]
    by: str
    state: str
    """The folder of approvals."""
    project: str
    """The folder that relative paths in facts refer to."""
    trusted_roots: Collection[str] = ()
    """Skills below these folders may run without approval."""
    environ: Mapping[str, str] = Frozen()
    shown_store: str | None = None
    """Added to every printed command."""
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
