"""A session as it is on disk, and the way to add a record to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import StorageError
from flowrail.machines.sessions import (
    attachments,
    journal,
    limits,
    snapshot,
)
from flowrail.machines.sessions.session import Session
from flowrail.storage import journal as storage_journal
from flowrail.storage.journal import Record, Tail


class Kept(NamedTuple):
    """A session as it is on disk.

    ``torn`` counts bytes of a line that was never finished; ``foreign`` says that the newest record
    was neither written with this user's key nor taken over.
    """

    session: Session
    seq: int
    hash: str
    folder: str
    torn: int = 0
    foreign: bool = False

    @property
    def head(self) -> str:
        """The short hash of the newest record."""
        return self.hash[:16]


class Change:
    """A session held under its lock, to which records can be added."""

    def __init__(
        self, kept: Kept, fd: int, tail: Tail, *, key: bytes, tell: Callable[[str], object], named: str | None
    ) -> None:
        self.kept = kept
        self._key = key
        self._fd = fd
        self._end = tail.end
        self._usual = len(tail.line)
        self._tell = tell
        self._named = named

    @property
    def is_full(self) -> bool:
        """Whether the journal has no room for a record like its last one, but for one that closes it."""
        return self._end + 2 * self._usual > limits.LARGEST_JOURNAL - limits.LAST_ROOM

    def commit(
        self,
        session: Session,
        *,
        kind: str,
        at: str,
        by: str,
        note: Mapping[str, Any] | None = None,
        last: bool = False,
    ) -> Kept:
        """Add one record; when this returns, it has happened. The *last* one has room in a full journal."""
        record = Record(self.kept.seq + 1, kind, at, by, session, note or {}, self.kept.hash, "")
        written = storage_journal.write(record, self._key)
        room = limits.LARGEST_JOURNAL - (0 if last else limits.LAST_ROOM)
        if self._end + len(written.line) > room:
            raise self._full(session)
        folder, torn = self.kept.folder, self.kept.torn
        path = f"{folder}/{journal.JOURNAL}"
        new = attachments.keep(folder, written.texts)
        try:
            if torn:
                journal.cut(self._fd, self._end, path)
            journal.append(self._fd, written.line, self._end, path)
        except BaseException:
            if os.fstat(self._fd).st_size <= self._end:
                attachments.take_back(new)
            raise
        self._end += len(written.line)
        self.kept = self.kept._replace(session=session, seq=record.seq, hash=written.record.hash, torn=0)
        if torn:
            self._tell(f"cut off {torn} bytes of a record that was never finished")
        with suppress(StorageError):  # the record stands; the copy is made again by the next one
            snapshot.write_copy(folder, record.seq, self.kept.hash, written.session)
        return self.kept

    def _full(self, session: Session) -> limits.TooLargeError:
        fork = Command("fork", session.id, at=self.kept.session.revision, store=self._named)
        return limits.TooLargeError(
            f"the journal of `{session.id}` has {self._end} bytes and no room for another record",
            hint=Hint("continue in a new session: ", fork),
            session=session.id,
            bytes=self._end,
            command=str(fork),
        )
