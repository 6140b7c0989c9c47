"""The sessions of a project: their records, and the folders of their working files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, TrustError, UsageError
from flowrail.machines.plain_form import from_plain
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record, RecordNote
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.work_folder import WORK, default_work_folder
from flowrail.machines.workflow import Workflow
from flowrail.session_status import ENDED, OPEN
from flowrail.storage.backend import Backend
from flowrail.storage.file_store import prepare_folder, remove_folder
from flowrail.storage.journal import too_large
from flowrail.storage.record_store import HeldEntry, JournalFullError, Kind, RecordStore, Stamp
from flowrail.text import size_limits
from flowrail.text.phrases import did_you_mean

SESSION_ID = re.compile(
    r"(?=.{1,140}\Z)[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}(?:\.\d{1,9}\.\d{1,3}(?:-\d{1,4})?)*\Z"
)
"""The id of a session: the skill and six characters, for a child session followed by its place in the parent."""

_LABELS = {
    "skill": ("session", "skill"),
    "status": ("session", "status"),
    "conversation": ("session", "host", "id"),
    "moved_at": ("session", "moved_at"),
}


class UnknownSessionError(UsageError):
    """The store has no session with that id."""

    code = "UNKNOWN_SESSION"


class ForeignSessionError(TrustError):
    """The session was not started by this user on this machine; it may have come with a clone."""

    code = "FOREIGN_SESSION"


class Store(RecordStore[Record]):
    """The sessions of one project, whose records are in *backend*.

    *named* is the name of the store in the commands of hints, `None` for the project's own. *tell* is called with
    messages to the user besides the answer. *conversation* is the conversation of a host that uses the store.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        named: str | None = None,
        tell: Callable[[str], object] = lambda _: None,
        conversation: str = "",
    ) -> None:
        kind = Kind(
            "session", Record, SESSION_ID, ("session", "id"), _unknown, self.foreign, _accepted, _LABELS
        )
        super().__init__(backend.lines(kind), kind)
        self.backend = backend
        self.path = backend.folder
        self.sessions = f"{self.path}/sessions"
        self.named = named
        self.tell = tell
        self.conversation = conversation

    def add(
        self,
        session: Session,
        definition: StoredDefinition,
        *,
        at: str,
        by: str,
        note: RecordNote | None = None,
        kind: str = "start",
    ) -> Record:
        """Store a new session and return its first record; the id must be new."""
        check_size(definition)
        record = Record(
            0,
            kind,
            at,
            by,
            replace(session, definition=0),
            note or {},
            "",
            definition=definition,
            conversation=self.conversation,
        )
        if self.is_database:
            prepare_folder(self.path, self.folder(session.id))
        return self.create(session.id, record)

    def folder(self, session_id: str) -> str:
        """Return the folder for the files of a session; refuse an id that is not valid."""
        if not SESSION_ID.match(session_id):
            raise _unknown(session_id, list)
        return f"{self.sessions}/{session_id}"

    @property
    def address(self) -> str | None:
        """The store as commands name it that may be run in another folder.

        `None` for a database that the environment or the user's configuration names.
        """
        return self.named if self.is_database else self.path

    @property
    def is_database(self) -> bool:
        """Whether the sessions are in a database. Other machines may then use them, but do not have their files."""
        return not self.backend.is_folder

    def open_ids(self, skill: str = "") -> list[str]:
        """Return the ids of the sessions that may be open, of one skill or of all; the caller checks each."""
        labels = {"status": OPEN, "skill": (skill,)} if skill else {"status": OPEN}
        return self.ids(labels)

    def ended_ids(self, since: str) -> list[str]:
        """Return the ids of the sessions that may have ended since that moment; the caller checks each."""
        return self.ids({"status": ENDED}, since)

    def ids_of_conversations(self, conversations: Sequence[str]) -> list[str]:
        """Return the ids of the sessions that may belong to these conversations; the caller checks each."""
        return self.ids({"conversation": conversations})

    def stamps_since(self, moment: str) -> dict[str, Stamp]:
        """Return the stamps of the open sessions and of those that ended since *moment*; a store of files returns all."""
        open_ones = self.stamps({"status": OPEN})
        return {**self.stamps({"status": ENDED}, moment), **open_ones}

    def work_folder(self, session_id: str, *, is_child: bool = False) -> str:
        """Return the folder for a session's working files as it is printed: absolute if other folders may be current."""
        is_absolute = is_child or self.named is not None
        return f"{self.folder(session_id)}/{WORK}" if is_absolute else default_work_folder(session_id)

    def read(self, session_id: str) -> Record:
        """Return the newest record of a session, without waiting for a lock."""
        return self.located(self.newest(session_id))

    def find(self, session_id: str) -> Record | None:
        """Return the newest record of a session, or `None` if it was not started."""
        try:
            return self.read(session_id) if self.exists(session_id) else None
        except UnknownSessionError:
            return None  # its start was interrupted

    def located(self, record: Record) -> Record:
        """Return a record whose session has its own folder: a path in a record is not believed."""
        session = record.session
        folder = self.work_folder(session.id, is_child=session.parent is not None)
        return record if session.work == folder else replace(record, session=replace(session, work=folder))

    @contextmanager
    def change(self, session_id: str, *, wait: float = 10.0) -> Iterator[SessionChange]:
        """Hold a session's lock and yield the session as it is under that lock."""
        with self.hold(session_id, wait=wait) as held:
            yield SessionChange(self, held)

    def definition(self, session: Session) -> StoredDefinition:
        """Return the definition that the session keeps of its workflow."""
        definition = self.record(session.id, session.definition).definition
        if definition is None:
            raise self._without_definition(session)
        return definition

    def workflow(self, session: Session, definition: StoredDefinition | None = None) -> Workflow:
        """Return the workflow of a session's *definition*, by default the stored one, without the author's functions."""
        definition = definition or self.definition(session)
        try:
            return from_plain(definition.workflow)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._without_definition(session) from None

    def _without_definition(self, session: Session) -> StorageError:
        return StorageError(
            f"record {session.definition} of `{session.id}` has no workflow",
            hint=Hint(
                "continue with the newest one: ", Command("session migrate", session.id, store=self.named)
            ),
            session=session.id,
        )

    def delete(self, session_id: str) -> None:
        """Delete a session with all its files."""
        super().delete(session_id)
        if self.is_database:
            remove_folder(self.folder(session_id))

    def foreign(self, session_id: str) -> ForeignSessionError:
        """Return the refusal of a foreign session."""
        trust = Command("trust", session=session_id, store=self.named)
        return ForeignSessionError(
            f"session `{session_id}` was not started by you on this machine",
            hint=Hint("to continue it, a person runs: ", trust),
            session=session_id,
        )


class SessionChange:
    """A session held under its lock, to which records can be added. ``kept`` is its newest record."""

    def __init__(self, store: Store, held: HeldEntry[Record]) -> None:
        self.kept = store.located(held.newest)
        self._incomplete_bytes = held.torn
        self._held = held
        self._store = store

    @property
    def folder(self) -> str:
        """The folder of the session's files."""
        return self._store.folder(self.kept.session.id)

    @property
    def is_full(self) -> bool:
        """Whether the journal has room only for a record that closes it."""
        return not self._held.has_room(size_limits.CLOSING_BYTES)

    def commit(
        self,
        session: Session,
        *,
        kind: str,
        at: str,
        by: str,
        note: RecordNote | None = None,
        last: bool = False,
        definition: StoredDefinition | None = None,
    ) -> Record:
        """Add one record and return it once it is stored. The *last* one has room in a full journal.

        *definition* replaces the one that the session keeps of its workflow.
        """
        before = self.kept
        record = Record(
            before.seq + 1,
            kind,
            at,
            by,
            session if definition is None else replace(session, definition=before.seq + 1),
            note or {},
            before.hash,
            definition=definition,
            conversation=self._store.conversation,
        )
        try:
            self.kept = self._held.append(record, reserve=0 if last else size_limits.CLOSING_BYTES)
        except JournalFullError as error:
            raise self._full(session, error) from None
        if self._incomplete_bytes:
            self._store.tell(
                f"removed {self._incomplete_bytes} bytes of an incomplete record left by an interrupted write"
            )
            self._incomplete_bytes = 0
        return self.kept

    def _full(self, session: Session, error: JournalFullError) -> JournalFullError:
        again = Command(
            "session rewind",
            session.id,
            to=self.kept.session.revision,
            as_new=True,
            store=self._store.named,
        )
        return JournalFullError(
            f"the journal of `{session.id}` has {error.details['bytes']} bytes and no room for another record",
            hint=Hint("continue in a new session: ", again),
            session=session.id,
            bytes=error.details["bytes"],
            command=str(again),
        )


def check_size(definition: StoredDefinition) -> None:
    """Refuse a workflow that is too large for a record."""
    size = len(json.dumps(definition.workflow))
    if size > size_limits.DEFINITION_BYTES:
        hint = "split the workflow, or put long texts into files and name their paths"
        raise too_large("the workflow", size, size_limits.DEFINITION_BYTES, hint=hint)


def _accepted(records: Sequence[Record], at: str, by: str) -> Record:
    """Return the record that accepts a session of another user. It has the definition, too, so that both are marked."""
    newest = records[-1]
    return Record(
        newest.seq + 1,
        "accept",
        at,
        by,
        replace(newest.session, definition=newest.seq + 1),
        {},
        newest.hash,
        definition=records[newest.session.definition].definition,
    )


def _unknown(session_id: str, list_ids: Callable[[], list[str]]) -> UnknownSessionError:
    names = [name for name in list_ids() if name != session_id]
    remedy = Hint(
        "see all sessions: ",
        Command("sessions", all=True),
        "; run the command in the project where the session was started",
    )
    return UnknownSessionError(
        f"there is no session `{session_id[:140]}` here",
        hint=did_you_mean(session_id, names, remedy),
        session=session_id[:140],
    )
