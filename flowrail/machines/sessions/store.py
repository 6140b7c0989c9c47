"""The sessions of a project: their records, and what lies beside them.

    sessions/<id>/definition.json   the workflow as this session uses it
    sessions/<id>/texts/            long texts that records name

Journal, snapshot, mark and lock are those of every `RecordStore`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, TrustError, UsageError
from flowrail.machines.sessions import definition_snapshot
from flowrail.machines.sessions.definition_snapshot import DEFINITION
from flowrail.machines.sessions.record import Record, encoding
from flowrail.machines.sessions.session import ENDED, Session
from flowrail.machines.sessions.stored_session import SessionChange, StoredSession
from flowrail.storage import snapshot
from flowrail.storage.file_store import FileStore, Kind
from flowrail.storage.ownership import Owner
from flowrail.text.suggestions import did_you_mean

SESSION_ID = re.compile(r"(?=.{1,140}\Z)[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}\Z")


class UnknownSessionError(UsageError):
    """There is no session of that id in this store."""

    code = "UNKNOWN_SESSION"


class ForeignSessionError(TrustError):
    """The session was not started by this user on this machine; it may have come with a clone."""

    code = "FOREIGN_SESSION"


class Store:
    """The sessions of one project, as *owner* may use them.

    *named* is the store as commands in hints name it, `None` for the project's own. *tell* is called with what
    a user should know beside the answer. *conversation* is the conversation of a host that uses the store.
    """

    def __init__(
        self,
        path: str,
        owner: Owner,
        *,
        named: str | None = None,
        tell: Callable[[str], object] = lambda _: None,
        conversation: str = "",
    ) -> None:
        kind = Kind("session", SESSION_ID, encoding, _id_of, _unknown, self.foreign)
        self._files = FileStore(path, kind, owner)
        self.path = path
        self.sessions = self._files.folders
        self.owner = owner
        self.named = named
        self._tell = tell
        self._conversation = conversation

    def create(
        self,
        session: Session,
        definition: Mapping[str, object],
        *,
        at: str,
        by: str,
        note: Mapping[str, object] | None = None,
        kind: str = "start",
    ) -> StoredSession:
        """Store a new session and return it; its id must be new."""
        data = definition_snapshot.to_bytes(definition)
        digest = definition_snapshot.digest_of(data)
        record = Record(
            0, kind, at, by, session, note or {}, "", definition=digest, conversation=self._conversation
        )
        first = self._files.create(session.id, record, {DEFINITION: data})
        return StoredSession(session, 0, first, self.folder(session.id), at=at)

    def new_id(self, skill: str) -> str:
        """Return an unused id for a session of *skill*."""
        return self._files.new_id(skill.replace("/", "-"))

    def folder(self, session_id: str) -> str:
        """Return the folder of a session; nothing but a valid id becomes a path."""
        return self._files.folder(session_id)

    def ids(self) -> list[str]:
        """Return the ids of all sessions, in order."""
        return self._files.ids()

    def read(self, session_id: str) -> StoredSession:
        """Return a session as it is now, without waiting for a lock."""
        record, torn = self._files.newest(session_id)
        return StoredSession(
            record.session, record.seq, record.hash, self.folder(session_id), torn, record.at
        )

    @contextmanager
    def change(self, session_id: str, *, wait: float = 10.0) -> Iterator[SessionChange]:
        """Hold a session's lock, and give it as it is under that lock."""
        with self._files.change(session_id, wait=wait) as held:
            side_files = self._files.side_files(session_id)
            yield SessionChange(
                held,
                self.folder(session_id),
                side_files,
                tell=self._tell,
                named=self.named,
                conversation=self._conversation,
            )

    def first(self, session_id: str) -> Record:
        """Return a session's first record."""
        return self._files.first(session_id)

    def newest(self, session_id: str) -> Record:
        """Return a session's newest record."""
        return self._files.newest(session_id)[0]

    def records(self, session_id: str, *, foreign: bool = False) -> Iterator[Record]:
        """Yield every record of a session in order, each checked against the one before it.

        A session that is *foreign* is only read to adopt it.
        """
        return self._files.records(session_id, foreign=foreign)

    def newest_first(self, session_id: str) -> Iterator[Record]:
        """Yield the records of a session from the last to the first, each checked against the next."""
        return self._files.newest_first(session_id)

    def arrival(self, session_id: str, revision: int, *, most: int) -> Record | None:
        """Return the record by which a session got to *revision*, if it is among the *most* newest."""
        found: Record | None = None
        for record in islice(self.newest_first(session_id), most):
            if record.session.revision < revision:
                return found
            found = record if record.session.revision == revision else None
        return found if found is not None and found.seq == 0 else None

    def definition(self, session_id: str) -> dict[str, Any]:
        """Return what the session keeps of its workflow."""
        value = definition_snapshot.read(self._files.side_files(session_id))
        if value is None:
            path = f"{self.folder(session_id)}/{DEFINITION}"
            migrate = Command("session migrate", session_id, store=self.named)
            raise StorageError(
                f"{path} is damaged",
                hint=Hint("the journal is intact; write it again: ", migrate),
                place=path,
            )
        return value

    def definition_digest(self, session_id: str) -> str:
        """Return the digest of what the session keeps of its workflow, or nothing if there is none."""
        return definition_snapshot.kept_digest(self._files.side_files(session_id))

    def keep_definition(self, session_id: str, definition: Mapping[str, object]) -> None:
        """Replace what the session keeps of its workflow."""
        self._files.side_files(session_id).write(DEFINITION, definition_snapshot.to_bytes(definition))

    def had_ended(self, session_id: str) -> bool:
        """Return whether a session that cannot be read had ended, as far as its snapshot says."""
        seen = snapshot.content(f"{self.folder(session_id)}/session.json") or {}
        session = seen.get("session")
        return isinstance(session, dict) and session.get("status") in ENDED

    def is_foreign(self, session_id: str) -> bool:
        """Return whether a session has no valid mark of this user."""
        return self._files.is_foreign(session_id)

    def adopt(self, session_id: str) -> None:
        """Make a foreign session this user's own."""
        self._files.adopt(session_id)

    def delete(self, session_id: str) -> None:
        """Delete a session with all its files."""
        self._files.delete(session_id)

    def delete_leftovers(self) -> None:
        """Finish deletions that were interrupted."""
        self._files.delete_leftovers()

    def foreign(self, session_id: str) -> ForeignSessionError:
        """Return the refusal of a foreign session."""
        adopt = Command("session adopt", session_id, store=self.named)
        return ForeignSessionError(
            f"session `{session_id}` was not started by you on this machine",
            hint=Hint("to continue it, a person runs: ", adopt),
            session=session_id,
        )


def _id_of(record: Record) -> str:
    return record.session.id


def _unknown(session_id: str, others: Callable[[], list[str]]) -> UnknownSessionError:
    names = [name for name in others() if name != session_id]
    return UnknownSessionError(
        f"there is no session `{session_id[:140]}` here",
        hint=did_you_mean(session_id, names, Hint("see all sessions: ", Command("sessions", all=True))),
        session=session_id[:140],
    )
