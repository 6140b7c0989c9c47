"""One line of a session's journal: what happened, when, by whom, and the whole session after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from flowrail.machines.session import Session
from flowrail.machines.stored_definition import StoredDefinition

RecordNote: TypeAlias = dict[str, Any]
"""What a record says besides the session: the keys depend on its kind."""


@dataclass(frozen=True)
class Record:
    """A line of the journal: one change, and the session after it."""

    seq: int
    kind: str
    at: str
    """The time of the change."""
    by: str
    """The user, or the name in `FLOW_ACTOR`."""
    session: Session
    note: RecordNote
    prev: str
    """The hash of the record before it."""
    hash: str = ""
    definition: StoredDefinition | None = None
    """The workflow that the session uses from this record on; without one, as before."""
    conversation: str = ""
    """The conversation of a host that wrote the record; empty if a person or a program without one did."""

    @property
    def head(self) -> str:
        """The short hash of the record."""
        return self.hash[:16]
