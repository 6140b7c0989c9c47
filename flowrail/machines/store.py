"""Sessions on disk: the journal is the truth, the copy beside it a witness, the lock the kernel's.

    sessions/<id>/journal.jsonl     appended and flushed: what is there has happened
    sessions/<id>/session.json      the newest record, readable; replaced after each commit
    sessions/<id>/definition.json   the workflow as data, with the digests of its files
    sessions/<id>/lock              held while a record is added

A reader takes no lock: a line that is not whole yet is not there yet. A copy that is ahead of its
journal means that lines were lost, which is refused and never overwritten.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from flowrail import _files
from flowrail._codec import to_plain
from flowrail.errors import DocumentError, StorageError, TrustError, UsageError
from flowrail.machines import ledger
from flowrail.machines.keys import Owner
from flowrail.machines.ledger import DamagedError, Record, TooLargeError
from flowrail.machines.session import Session
from flowrail.machines.wording import did_you_mean

SESSION_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}\Z")
LARGEST_STATE = 256 * 1024
LARGEST_DEFINITION = 8 * 1024 * 1024
LONGEST_ID = 140
JOURNAL, COPY, DEFINITION, LOCK = "journal.jsonl", "session.json", "definition.json", "lock"
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_JOURNAL_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class UnknownSessionError(UsageError):
    """There is no session of that id in this store."""

    code = "UNKNOWN_SESSION"


class ForeignSessionError(TrustError):
    """The session was not started by this user; it may have come with a clone."""

    code = "FOREIGN_SESSION"


class LinesLostError(StorageError):
    """The copy knows of records that the journal does not have."""

    code = "LINES_LOST"


class Kept(NamedTuple):
    """A session as it is on disk.

    ``torn`` counts bytes of a line that was never finished; ``foreign`` says that the first
    record was not written with this user's key.
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

    def __init__(self, kept: Kept, fd: int, end: int) -> None:
        self.kept = kept
        self._fd = fd
        self._end = end

    def commit(
        self, session: Session, *, kind: str, at: str, by: str, note: Mapping[str, Any] | None = None
    ) -> Kept:
        """Add one record; when this returns, it has happened."""
        check_state(session)
        record = Record(self.kept.seq + 1, kind, at, by, session, note or {}, self.kept.hash, "")
        line, record = ledger.write(record)
        if self._end + len(line) > ledger.LARGEST_JOURNAL:
            raise TooLargeError(
                f"the journal of `{session.id}` has {self._end} bytes; {ledger.LARGEST_JOURNAL} are the most",
                hint=f"go on in a new session: flow fork {session.id} --at {self.kept.session.revision}",
            )
        if self.kept.torn:
            os.ftruncate(self._fd, self._end)
        _append(self._fd, line, self._end, os.path.join(self.kept.folder, JOURNAL))
        self._end += len(line)
        self.kept = self.kept._replace(session=session, seq=record.seq, hash=record.hash, torn=0)
        with suppress(StorageError):  # the record stands; the copy is made again by the next one
            _write_copy(self.kept)
        return self.kept


class Store:
    """The sessions of one project, as *owner* may use them."""

    def __init__(self, path: str, owner: Owner) -> None:
        self.path = path
        self.sessions = os.path.join(path, "sessions")
        self.owner = owner

    def create(
        self,
        session: Session,
        definition: Mapping[str, Any],
        *,
        at: str,
        by: str,
        note: Mapping[str, Any] | None = None,
    ) -> Kept:
        """Keep a new session and return it; its id must be new."""
        check_state(session)
        self._prepare()
        folder = self.folder(session.id)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            raise StorageError(f"there is a session `{session.id}` already", hint="start again") from None
        except OSError as error:
            raise StorageError(
                f"{folder} could not be made ({error.strerror})", hint="check the disk and its permissions"
            ) from None
        _files.write_atomic(os.path.join(folder, DEFINITION), _definition_bytes(definition))
        line, record = ledger.write(Record(0, "start", at, by, session, note or {}, "", ""), self.owner.key())
        fd = _open_journal(folder, session.id, create=True)
        try:
            _append(fd, line, 0, os.path.join(folder, JOURNAL))
        finally:
            os.close(fd)
        _files.sync_dir(folder)
        _files.sync_dir(self.sessions)
        kept = Kept(session, 0, record.hash, folder)
        with suppress(StorageError):
            _write_copy(kept)
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
                hint="`flow sessions --all` lists them",
                session=session_id[:80],
            )
        return os.path.join(self.sessions, session_id)

    def ids(self) -> list[str]:
        """Return the ids of all sessions, in order of their names."""
        try:
            return sorted(name for name in os.listdir(self.sessions) if SESSION_ID.match(name))
        except OSError:
            return []

    def read(self, session_id: str, *, adopt: bool = False) -> Kept:
        """Return a session as it is now, without waiting for anybody.

        A session of somebody else is refused unless *adopt* says that this is known.
        """
        folder = self.folder(session_id)
        fd = _open_journal(folder, session_id, known=self.ids)
        try:
            kept, _ = self._load(fd, folder, session_id)
        finally:
            os.close(fd)
        if kept.foreign and not adopt:
            raise _foreign(session_id)
        return kept

    @contextmanager
    def change(self, session_id: str, *, wait: float = 10.0) -> Iterator[Change]:
        """Hold a session's lock, and give it as it is under that lock."""
        folder = self.folder(session_id)
        fd = _open_journal(folder, session_id, known=self.ids)
        try:
            with _files.locked(os.path.join(folder, LOCK), wait=wait, what=f"session `{session_id}`"):
                kept, end = self._load(fd, folder, session_id)
                if kept.foreign:
                    raise _foreign(session_id)
                yield Change(kept, fd, end)
        finally:
            os.close(fd)

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield every record of a session in order, each checked against the one before it."""
        folder = self.folder(session_id)
        path = os.path.join(folder, JOURNAL)
        seen = _witness(folder)
        fd = _open_journal(folder, session_id, known=self.ids)
        try:
            before, number = "", 0
            for number, line in enumerate(ledger.lines(fd), start=1):
                record = ledger.read(line, path, number)
                if record.prev != before or record.seq != number - 1:
                    raise DamagedError(path, number, "the record does not follow the one before it")
                before = record.hash
                yield record
            _check_witness(folder, number - 1, before, seen)
        finally:
            os.close(fd)

    def definition(self, session_id: str) -> dict[str, Any]:
        """Return what the session keeps of its workflow."""
        path = os.path.join(self.folder(session_id), DEFINITION)
        try:
            value = json.loads(
                _files.read_bounded(path, limit=LARGEST_DEFINITION, what="the session's definition")
            )
        except (DocumentError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise StorageError(
                f"{path} is damaged", hint="the journal is whole; `flow migrate` writes it anew", place=path
            )
        return value

    def keep_definition(self, session_id: str, definition: Mapping[str, Any]) -> None:
        """Replace what the session keeps of its workflow."""
        _files.write_atomic(os.path.join(self.folder(session_id), DEFINITION), _definition_bytes(definition))

    def _prepare(self) -> None:
        fresh = not os.path.isdir(self.sessions)
        _files.make_private_dir(self.path)
        _files.make_private_dir(self.sessions)
        ignore = os.path.join(self.path, ".gitignore")
        if not os.path.lexists(ignore):
            _files.write_atomic(ignore, b"*\n")
        if fresh:
            _files.sync_dir(self.path)
            _files.sync_dir(os.path.dirname(os.path.abspath(self.path)))

    def _load(self, fd: int, folder: str, session_id: str) -> tuple[Kept, int]:
        path = os.path.join(folder, JOURNAL)
        seen = _witness(folder)  # before the journal, which can only be further on then
        tail = ledger.tail(fd, path)
        if not tail.line:
            _check_witness(folder, -1, "", seen)
            raise UnknownSessionError(
                f"session `{session_id}` was never started",
                hint="`flow sessions --all` lists those that were",
            )
        try:
            record = ledger.read(tail.line, path, 0)
        except DamagedError as error:
            raise DamagedError(path, ledger.count_lines(fd), error.message.partition(": ")[2]) from None
        if record.session.id != session_id:
            raise DamagedError(path, 1, f"the journal is that of `{record.session.id}`")
        first = tail.line if tail.end == len(tail.line) else ledger.first_line(fd, path)
        kept = Kept(
            session=record.session,
            seq=record.seq,
            hash=record.hash,
            folder=folder,
            torn=tail.torn,
            foreign=not ledger.signed_by(first, self.owner.key())
            and not self.owner.adopted(ledger.read(first, path, 1).hash),
        )
        _check_witness(folder, kept.seq, kept.hash, seen)
        return kept, tail.end


def check_state(session: Session) -> None:
    """Refuse a session whose state is larger than a record may hold."""
    size = len(json.dumps(to_plain(session.state)))
    if size > LARGEST_STATE:
        raise TooLargeError(
            f"the state would have {size} bytes; {LARGEST_STATE} are the most",
            hint="put long texts into files and report their paths",
            bytes=size,
        )


def _foreign(session_id: str) -> ForeignSessionError:
    return ForeignSessionError(
        f"session `{session_id}` was not started by you on this machine",
        hint=f"look at it with `flow history {session_id}`; `flow adopt {session_id}` takes it over",
        session=session_id,
    )


def _open_journal(
    folder: str, session_id: str, *, create: bool = False, known: Callable[[], list[str]] | None = None
) -> int:
    path = os.path.join(folder, JOURNAL)
    try:
        fd = os.open(path, _JOURNAL_FLAGS | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
    except FileNotFoundError:
        _check_witness(folder, -1, "", _witness(folder))
        names = [name for name in known() if name != session_id] if known else []
        raise UnknownSessionError(
            f"there is no session `{session_id}` here",
            hint=did_you_mean(session_id, names, "`flow sessions --all` lists them"),
            session=session_id,
        ) from None
    except OSError as error:
        raise StorageError(
            f"{path} could not be opened ({error.strerror})", hint="check its permissions", place=path
        ) from None
    about = os.fstat(fd)
    problem = _problem(about)
    if problem:
        os.close(fd)
        raise StorageError(f"{path} {problem}", hint="a journal is a file of your own", place=path)
    return fd


def _problem(about: os.stat_result) -> str:
    import stat

    if not stat.S_ISREG(about.st_mode):
        return "is no file"
    if about.st_uid != os.geteuid():
        return "belongs to another user"
    return "is too large" if about.st_size > ledger.LARGEST_JOURNAL else ""


def _append(fd: int, line: bytes, end: int, path: str) -> None:
    try:
        _files.append_durable(fd, line, what=path)
    except StorageError:
        with suppress(OSError):
            os.ftruncate(fd, end)
        raise


def _write_copy(kept: Kept) -> None:
    copy = {"seq": kept.seq, "hash": kept.hash, "session": to_plain(kept.session)}
    data = json.dumps(copy, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")
    _files.write_atomic(os.path.join(kept.folder, COPY), data + b"\n", durable=False)


def _witness(folder: str) -> tuple[int, str] | None:
    """Return the newest record that the copy has seen, or `None` where it tells nothing."""
    path = os.path.join(folder, COPY)
    try:
        copy = json.loads(_files.read_bounded(path, limit=4 * ledger.LARGEST_LINE, what="the session's copy"))
        return int(copy["seq"]), str(copy["hash"])
    except (DocumentError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _check_witness(folder: str, seq: int, digest: str, seen: tuple[int, str] | None) -> None:
    """Refuse a journal that has fewer records than its copy has seen, or other ones."""
    if seen is None or seen[0] < seq or seen == (seq, digest):
        return
    path = os.path.join(folder, COPY)
    another = "another " if seen[0] == seq else ""
    raise LinesLostError(
        f"{path} has seen record {seen[0]}, the journal {f'ends with {another}record {seq}' if seq >= 0 else 'has none'}",
        hint="nothing was changed; restore journal.jsonl from a copy, or start anew",
        place=path,
    )


def _definition_bytes(definition: Mapping[str, Any]) -> bytes:
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
