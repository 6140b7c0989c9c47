"""Sessions on disk: the journal is the truth, the copy beside it a witness, the lock the kernel's.

    sessions/<id>/journal.jsonl     appended and flushed: what is there has happened
    sessions/<id>/session.json      the newest record, readable; written over after each commit
    sessions/<id>/definition.json   the workflow as data, with the digests of its files
    sessions/<id>/texts/            long texts that records name
    sessions/<id>/lock              held while a record is added

A reader takes no lock: a line that is not whole yet is not there yet. A copy that is ahead of its
journal means that lines were lost, which is refused and never overwritten. A copy that is behind means
that a writer died in between, so the last line is flushed again before anybody is answered from it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, TrustError
from flowrail.machines.sessions import (
    attachments,
    definition_snapshot,
    journal,
    notes,
    ownership,
    snapshot,
)
from flowrail.machines.sessions.definition_snapshot import DEFINITION, Vouched
from flowrail.machines.sessions.journal import JOURNAL, UnknownSessionError, unknown
from flowrail.machines.sessions.session import ENDED, Session
from flowrail.machines.sessions.stored_session import Change, Kept
from flowrail.machines.sessions.user_key import Owner
from flowrail.storage import files
from flowrail.storage import journal as storage_journal
from flowrail.storage.journal import DamagedError, Record

SESSION_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}\Z")
LONGEST_ID = 140
LOCK = "lock"
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class ForeignSessionError(TrustError):
    """The session was not started by this user; it may have come with a clone."""

    code = "FOREIGN_SESSION"


class Store:
    """The sessions of one project, as *owner* may use them.

    *named* is the store as commands in hints name it, `None` where it is the project's own. *tell* hears
    what a user should know beside the answer.
    """

    def __init__(
        self,
        path: str,
        owner: Owner,
        *,
        named: str | None = None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.path = path
        self.sessions = os.path.join(path, "sessions")
        self.owner = owner
        self.named = named
        self._tell = tell
        self._checked = False

    def create(
        self,
        session: Session,
        definition: Mapping[str, Any],
        *,
        at: str,
        by: str,
        note: Mapping[str, Any] | None = None,
        kind: str = "start",
    ) -> Kept:
        """Keep a new session and return it; its id must be new."""
        folder = self.folder(session.id)
        record = Record(0, kind, at, by, session, note or {}, "", "")
        written = storage_journal.write(record, self.owner.key())
        data = definition_snapshot.to_bytes(definition, session.id, self.owner.key())
        self._prepare()
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            raise StorageError(f"there is a session `{session.id}` already", hint="start again") from None
        except OSError as error:
            raise StorageError(
                f"{folder} could not be made ({error.strerror})", hint="check the disk and its permissions"
            ) from None
        files.write_atomic(os.path.join(folder, DEFINITION), data)
        attachments.keep(folder, written.texts)
        fd = journal.open_journal(folder, journal.CREATE)
        try:
            journal.append(fd, written.line, 0, os.path.join(folder, JOURNAL))
        finally:
            os.close(fd)
        journal.flush_names(folder)
        kept = Kept(session, 0, written.record.hash, folder)
        with suppress(StorageError):
            snapshot.write_copy(folder, 0, kept.hash, written.session)
        return kept

    def new_id(self, skill: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an id for a session of *skill* that is not taken."""
        stem = skill.replace("/", "-")
        while True:
            letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in random(6))
            if not os.path.lexists(os.path.join(self.sessions, f"{stem}-{letters}")):
                return f"{stem}-{letters}"

    def folder(self, session_id: str) -> str:
        """Return the folder of a session; nothing but an id of ours becomes a path."""
        if not SESSION_ID.match(session_id) or len(session_id) > LONGEST_ID:
            raise UnknownSessionError(
                f"`{session_id[:80]}` is no id of a session",
                hint=Hint("see all sessions: ", Command("sessions", all=True)),
                session=session_id[:80],
            )
        return f"{self.sessions}/{session_id}"

    def ids(self) -> list[str]:
        """Return the ids of all sessions, in order of their names."""
        self._check_owner()
        try:
            return sorted(name for name in os.listdir(self.sessions) if SESSION_ID.match(name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise journal.unlisted(self.sessions, error) from None

    def read(self, session_id: str, *, adopt: bool = False) -> Kept:
        """Return a session as it is now, without waiting for anybody.

        A session of somebody else is refused unless *adopt* says that this is known.
        """
        folder = self.folder(session_id)
        fd = self._open(folder, session_id, journal.READ)
        try:
            kept, _, behind, _ = self._load(fd, folder, session_id)
            if behind:
                with suppress(OSError, StorageError):  # where nothing can be flushed, reading still works
                    os.fsync(fd)
                    journal.flush_names(folder)
        finally:
            os.close(fd)
        if kept.foreign and not adopt:
            raise self.foreign(session_id)
        return kept

    @contextmanager
    def change(self, session_id: str, *, wait: float = 10.0) -> Iterator[Change]:
        """Hold a session's lock, and give it as it is under that lock."""
        folder = self.folder(session_id)
        fd = self._open(folder, session_id, journal.CHANGE)
        try:
            with files.locked(f"{folder}/{LOCK}", wait=wait, what=f"session `{session_id}`"):
                kept, tail, behind, signed = self._load(fd, folder, session_id)
                if kept.foreign:
                    raise self.foreign(session_id)
                if not signed:
                    path = f"{folder}/{JOURNAL}"
                    ownership.sign_from_here(
                        self.owner, storage_journal.first_line(fd, path), tail.line, path
                    )
                if behind:
                    journal.make_sure(folder, tail.line, tail.end)
                    files.sweep(folder)
                    with suppress(StorageError):
                        session = json.loads(tail.line)["session"]
                        snapshot.write_copy(folder, kept.seq, kept.hash, session)
                key = self.owner.key()
                yield Change(kept, fd, tail, key=key, tell=self._tell, named=self.named)
        finally:
            os.close(fd)

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield every record of a session in order, each checked against the one before it and in its note.

        Long texts stay references; `whole` loads them.
        """
        folder = self.folder(session_id)
        path = os.path.join(folder, JOURNAL)
        seen = snapshot.newest_seen(folder)
        fd = self._open(folder, session_id, journal.READ)
        try:
            before, number, migrations, size, passed, vouched = "", 0, 0, 0, 0, False
            for number, line in enumerate(storage_journal.lines(fd, path), start=1):
                record, size = storage_journal.read(line, path, number), size + len(line)
                passed += len(record.session.last.passed) if record.session.last is not None else 0
                if not vouched and notes.is_too_much(number, size, passed):
                    if self.is_foreign(session_id):
                        raise DamagedError(path, number, notes.TOO_LONG)
                    vouched = True
                if record.prev != before or record.seq != number - 1:
                    raise DamagedError(path, number, "the record does not follow the one before it")
                migrations += record.kind == "migrate"
                wrong = notes.wrong_in(record.kind, record.note)
                if wrong is None and (len(line) > notes.LONGEST_WORD or migrations > notes.MOST_MIGRATIONS):
                    wrong = self._too_much_in(record, line, migrations)
                if wrong is not None:
                    raise DamagedError(path, number, f"the record is of another form: {wrong}")
                before = record.hash
                yield record
            snapshot.check(folder, number - 1, before, seen)
        finally:
            os.close(fd)

    def _too_much_in(self, record: Record, line: bytes, migrations: int) -> str | None:
        """Return what a record holds too much of, where it is not signed by this user."""
        wrong = notes.too_long_in(record)
        if wrong is None and migrations > notes.MOST_MIGRATIONS and record.kind == "migrate":
            wrong = f"it is one of more than {notes.MOST_MIGRATIONS} migrations"
        return wrong if wrong is not None and not ownership.is_signed(self.owner, line) else None

    def whole(self, session_id: str, record: Record) -> Record:
        """Return one of the session's records with its long texts loaded."""
        folder = self.folder(session_id)
        return storage_journal.whole(record, attachments.loader(folder), os.path.join(folder, JOURNAL))

    def origin(self, session_id: str) -> tuple[Record, bool]:
        """Return a session's first record, and whether somebody else began it or went on with it."""
        _, (first, last) = self._ends(session_id)
        path = os.path.join(self.folder(session_id), JOURNAL)
        return storage_journal.read(first, path, 1), ownership.is_foreign(self.owner, first, last, path)

    def trusted(self, session_id: str) -> int:
        """Return how many of a session's records, from the first on, this user wrote or took over."""
        with self._reading(session_id) as (fd, path):
            return ownership.trusted(self.owner, storage_journal.lines(fd, path), path)

    def is_foreign(self, session_id: str) -> bool:
        """Return whether a session is somebody else's, by the ends of its journal and without parsing them."""
        with self._reading(session_id) as (fd, path):
            tail = storage_journal.tail(fd, path)
            if not tail.line:
                return True
            first = tail.line if tail.end == len(tail.line) else storage_journal.first_line(fd, path)
        return ownership.is_foreign(self.owner, first, tail.line, path)

    def newest_first(self, session_id: str) -> Iterator[Record]:
        """Yield the records of a session from the last to the first, each checked against the next."""
        folder = self.folder(session_id)
        path = os.path.join(folder, JOURNAL)
        fd = self._open(folder, session_id, journal.READ)
        try:
            after: Record | None = None
            for line in storage_journal.backwards(fd, path):
                if after is None:
                    record = _last_record(line, fd, path)
                else:
                    record = storage_journal.read(line, path, after.seq)
                    if (record.seq, record.hash) != (after.seq - 1, after.prev):
                        what = "the record does not follow the one before it"
                        raise DamagedError(path, after.seq + 1, what)
                yield record
                after = record
        finally:
            os.close(fd)

    def had_ended(self, session_id: str) -> bool:
        """Return whether a session that cannot be read had ended, as far as its copy tells."""
        seen = snapshot.seen_by(self.folder(session_id))
        status = seen.session.get("status") if seen and isinstance(seen.session, Mapping) else None
        return isinstance(status, str) and status in ENDED

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
        path = os.path.join(self.folder(session_id), DEFINITION)
        vouched, key = self._vouched(session_id), self.owner.key()
        return definition_snapshot.read(
            path, session_id, key, vouched, lambda verb: str(Command(verb, session_id, store=self.named))
        )

    def keep_definition(self, session_id: str, definition: Mapping[str, Any]) -> None:
        """Replace what the session keeps of its workflow."""
        data = definition_snapshot.to_bytes(definition, session_id, self.owner.key())
        first, _ = self._ends(session_id)
        taken = self.owner.taken(first)
        path = os.path.join(self.folder(session_id), DEFINITION)
        if taken is not None and taken.definitions is not None:  # both hold until the file is replaced
            now = definition_snapshot.digest(path)
            self.owner.adopt(
                first, taken.head, (*({now} & {*taken.definitions}), hashlib.sha256(data).hexdigest())
            )
        files.write_atomic(path, data)

    def take_over(self, session_id: str, first_hash: str, head: str) -> None:
        """Make a session this user's own, as far as *head* and with the definition that it has now.

        One that cannot be gone on with is not taken over with it.
        """
        path = os.path.join(self.folder(session_id), DEFINITION)
        self.owner.adopt(first_hash, head, (definition_snapshot.usable(path),))

    def _ends(self, session_id: str) -> tuple[str, tuple[bytes, bytes]]:
        """Return the hash of the first record, and the lines of the first and the last."""
        with self._reading(session_id) as (fd, path):
            first, last = storage_journal.first_line(fd, path), storage_journal.tail(fd, path).line
        return storage_journal.hash_of(first, path, 1), (first, last)

    def _vouched(self, session_id: str) -> Vouched:
        try:
            digest, ends = self._ends(session_id)
            foreign = ownership.is_foreign(self.owner, *ends, os.path.join(self.folder(session_id), JOURNAL))
        except StorageError:
            return Vouched(own=False, marked=False, taken=None)
        own = ownership.began(self.owner, ends[0]) and not foreign
        marked = own and ownership.is_signed(self.owner, ends[0])
        return Vouched(own, marked, self.owner.taken(digest))

    def _prepare(self) -> None:
        files.make_private_dir(self.path)
        files.make_private_dir(self.sessions)
        named = os.path.basename(os.path.abspath(self.path)) == ".flow"  # else it may be anybody's folder
        ignore = os.path.join(self.path if named else self.sessions, ".gitignore")
        if not os.path.lexists(ignore):
            files.write_atomic(ignore, b"*\n")
        files.sync_dir(self.path)  # whoever made them may have died before they were flushed
        files.sync_dir(os.path.dirname(os.path.abspath(self.path)))

    def _check_owner(self) -> None:
        if not self._checked:
            files.check_private_dir(self.path)
            files.check_private_dir(self.sessions)
            self._checked = True

    @contextmanager
    def _reading(self, session_id: str) -> Iterator[tuple[int, str]]:
        """Give a session's journal, open to be read, and its path."""
        folder = self.folder(session_id)
        fd = self._open(folder, session_id, journal.READ)
        try:
            yield fd, os.path.join(folder, JOURNAL)
        finally:
            os.close(fd)

    def _open(self, folder: str, session_id: str, how: int) -> int:
        self._check_owner()
        try:
            return journal.open_journal(folder, how)
        except FileNotFoundError:
            snapshot.check(folder, -1, "", snapshot.seen_by(folder))
            is_there = os.path.lexists(folder)  # of one that was never begun no other name is meant
            raise unknown(session_id, list if is_there else self.ids) from None

    def _load(self, fd: int, folder: str, session_id: str) -> tuple[Kept, storage_journal.Tail, bool, bool]:
        """Return a session, the end of its journal, whether its copy has not seen that yet, whether it is signed."""
        path = f"{folder}/{JOURNAL}"
        seen = snapshot.newest_seen(folder)  # before the journal, which can only be further on then
        tail = storage_journal.tail(fd, path)
        if not tail.line:
            snapshot.check(folder, -1, "", seen)
            raise UnknownSessionError(
                f"session `{session_id}` was never started",
                hint=Hint("see all sessions: ", Command("sessions", all=True)),
                session=session_id,
            )
        record = _last_record(tail.line, fd, path, attachments.loader(folder))
        if record.session.id != session_id:
            raise DamagedError(path, 1, f"the journal is that of `{record.session.id}`")
        foreign, signed = False, ownership.is_signed(self.owner, tail.line)
        if not signed:
            first = tail.line if tail.end == len(tail.line) else storage_journal.first_line(fd, path)
            _check_stranger(record.session, path)
            foreign = ownership.is_foreign(self.owner, first, tail.line, path)
        kept = Kept(
            session=record.session,
            seq=record.seq,
            hash=record.hash,
            folder=folder,
            torn=tail.torn,
            foreign=foreign,
        )
        snapshot.check(folder, kept.seq, kept.hash, seen)
        return kept, tail, seen is None or seen.seq < kept.seq, signed

    def foreign(self, session_id: str) -> ForeignSessionError:
        """Return the refusal of a session that is somebody else's."""
        with self._reading(session_id) as (fd, path):
            theirs = ownership.was_theirs(self.owner, storage_journal.first_line(fd, path), path)
        return ForeignSessionError(
            f"somebody else went on with session `{session_id}`, not you on this machine"
            if theirs
            else f"session `{session_id}` was not started by you on this machine",
            hint=Hint(
                "look at it: ",
                Command("history", session_id, store=self.named),
                "; to take it over, a person types: ",
                Command("adopt", session_id, store=self.named),
            ),
            session=session_id,
        )


def _check_stranger(session: Session, path: str) -> None:
    from flowrail.machines.sessions import (
        strangers,
    )  # brings all that agents, questions and gates are made of

    try:
        strangers.check_session(session)
    except strangers.StrangeError as error:
        raise DamagedError(path, 1, f"the session is of another form: {error}") from None


def _last_record(line: bytes, fd: int, path: str, load: attachments.Load | None = None) -> Record:
    """Return the record of a journal's last line; the lines are only counted where it is damaged."""
    try:
        return storage_journal.read(line, path, 0, load)
    except DamagedError as error:
        raise DamagedError(path, storage_journal.count_lines(fd), error.message.partition(": ")[2]) from None
