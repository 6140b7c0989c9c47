"""One line of a session's journal: what happened, when, by whom, and the whole session after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flowrail.machines.session import Session

RecordNote: TypeAlias = dict[str, Any]
"""What a record says besides the session: the keys depend on its kind."""


@dataclass(frozen=True)
class StoredDefinition:
    """The workflow as a session uses it, and where it came from."""

    skill: str
    source: str
    folder: str
    """The skill's folder: its name if the skill is bundled, and empty if a Python program defined the workflow."""
    file: str
    """The workflow's file in the folder."""
    files: Mapping[str, str]
    """The digests of all files that were read."""
    functions: bool
    """Whether code of the author is needed to continue."""
    workflow: Mapping[str, Any]

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps as they are stored."""
        steps: Sequence[Mapping[str, Any]] = self.workflow["steps"]
        return steps


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
