"""A session as it is stored, and the way to add a record to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.machines.sessions import definition_snapshot
from flowrail.machines.sessions.definition_snapshot import DEFINITION
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session
from flowrail.storage.file_store import Held, SideFiles
from flowrail.storage.journal import JournalFullError
from flowrail.text import limits


class StoredSession(NamedTuple):
    """A session as it is stored.

    ``torn`` counts the bytes of an interrupted write at the end of its journal. ``at`` is the time of its newest
    record.
    """

    session: Session
    seq: int
    hash: str
    folder: str
    torn: int = 0
    at: str = ""

    @property
    def head(self) -> str:
        """The short hash of the newest record."""
        return self.hash[:16]


class SessionChange:
    """A session held under its lock, to which records can be added."""

    def __init__(
        self,
        held: Held[Record],
        folder: str,
        side_files: SideFiles,
        *,
        tell: Callable[[str], object],
        named: str | None,
        conversation: str,
    ) -> None:
        record = held.newest
        self.kept = StoredSession(record.session, record.seq, record.hash, folder, held.torn, record.at)
        self._held = held
        self._definition = record.definition
        self._side_files = side_files
        self._tell = tell
        self._named = named
        self._conversation = conversation

    @property
    def is_full(self) -> bool:
        """Whether the journal has no room for a record like its last one, but for one that closes it."""
        return not self._held.has_room(limits.CLOSING_BYTES)

    def commit(
        self,
        session: Session,
        *,
        kind: str,
        at: str,
        by: str,
        note: Mapping[str, object] | None = None,
        last: bool = False,
        definition: Mapping[str, object] | None = None,
    ) -> StoredSession:
        """Add one record; when this returns, it has happened. The *last* one has room in a full journal.

        *definition* replaces what the session keeps of its workflow. It is written after the record: if the
        process dies in between, the next move writes it again.
        """
        data = b"" if definition is None else definition_snapshot.to_bytes(definition)
        digest = definition_snapshot.digest_of(data) if data else self._definition
        before = self.kept
        record = Record(
            before.seq + 1,
            kind,
            at,
            by,
            session,
            note or {},
            before.hash,
            definition=digest,
            conversation=self._conversation,
        )
        try:
            written = self._held.append(record, reserve=0 if last else limits.CLOSING_BYTES)
        except JournalFullError as error:
            raise self._full(session, error) from None
        self._definition = digest
        self.kept = StoredSession(session, record.seq, written, before.folder, at=at)
        if before.torn:
            self._tell(f"removed {before.torn} bytes of an incomplete record left by an interrupted write")
        if data:
            with suppress(StorageError):
                self._side_files.write(DEFINITION, data)
        return self.kept

    def _full(self, session: Session, error: JournalFullError) -> JournalFullError:
        fork = Command("session fork", session.id, at=self.kept.session.revision, store=self._named)
        return JournalFullError(
            f"the journal of `{session.id}` has {error.details['bytes']} bytes and no room for another record",
            hint=Hint("continue in a new session: ", fork),
            session=session.id,
            bytes=error.details["bytes"],
            command=str(fork),
        )
