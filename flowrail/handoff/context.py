"""What handing over and receiving need of the world."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from flowrail.command import Command, Option
from flowrail.discovery.index import Discovery
from flowrail.handoff.payload.integrity import moment
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.store import Store


class Desk(NamedTuple):
    """Where handoffs are kept, who is at work, and how skills are found.

    *own* are folders whose skills may run without leave; *project* is the folder that relative paths of
    a session's files are of. *shown_store* is named in every printed command.
    """

    store: Store
    discover: Callable[[], Discovery]
    now: Callable[[], str]
    by: str
    state: str
    project: str
    own: Collection[str] = ()
    environ: Mapping[str, str] = {}
    shown_store: str | None = None
    wait: float = 10.0
    random: Callable[[int], bytes] = os.urandom

    @property
    def handoffs(self) -> Handoffs:
        """The handoffs of the store."""
        return Handoffs(self.store.path, self.store.owner)

    def moment(self, stamp: str | None = None) -> datetime:
        """Return a stamp of ours as a moment; this one where none is given."""
        return moment(self.now() if stamp is None else stamp) or datetime.now(UTC)

    def command(self, verb: str, *arguments: str, root: str = "", **options: Option) -> Command:
        """Return a command for this store. *root* is a folder of skills that has to be named."""
        return Command(verb, *arguments, store=self.shown_store, **options, root=root or None)
