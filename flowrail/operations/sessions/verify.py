"""A session examined from its first record to its last: chain, signature, each record, copy and texts.

Nothing is run, nothing is changed, and nothing that is found hides the rest.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, StorageError, UsageError
from flowrail.machines.definition.fingerprint import graph_print
from flowrail.machines.definition.serialization import from_plain
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.conduct import (
    ENGINE,
    Arrival,
    arrival_of,
    judge,
)
from flowrail.machines.sessions import attachments, limits, snapshot
from flowrail.machines.sessions.definition_snapshot import DEFINITION
from flowrail.machines.sessions.journal import JOURNAL, UnknownSessionError
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.strangers import StrangeError, check_record
from flowrail.storage import files, journal
from flowrail.storage.journal import Record
from flowrail.storage.records import to_plain

MOST_PROBLEMS = 500
"""So many are named of one session, and the rest is counted: a stranger's may have one for every record."""
_NEVER_FINISHED = "the copy was never finished; the next record renews it"
_JUST_NOW = 5.0
_HEAD = re.compile(r"[0-9a-f]{8,64}\Z")


class BadHeadError(UsageError):
    """What was given as a head seen earlier cannot be one."""

    code = "BAD_HEAD"


class Problem(NamedTuple):
    """Something that is not as it was written, or not as it must be; ``place`` is file and line."""

    code: str
    place: str
    message: str


class Verified(NamedTuple):
    """What examining a session came to. ``judged`` of its ``moves`` were judged again by the engine."""

    session: str
    records: int
    moves: int
    judged: int
    head: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def verify(store: Store, session_id: str, *, head: str | None = None) -> Verified:
    """Examine one session; *head* is one that somebody saw earlier, whole or its beginning."""
    if head is not None and not _HEAD.match(head):
        raise BadHeadError(
            f"`{head[:80]}` is no head of a session",
            hint="give the `head` of an answer: 8 or more of its digits",
            head=head[:80],
        )
    look = _Examination(store, session_id)
    look.signature()
    look.definition()
    look.records()
    if not look.hashes and not look.problems:
        raise UnknownSessionError(
            f"session `{session_id}` was never started",
            hint=Hint("see all sessions: ", Command("sessions", all=True)),
        )
    look.tail()
    look.stray_texts()
    if head is not None and not any(each.startswith(head) for each in look.hashes):
        what = f"no record has the head {head}: what was seen earlier is not in this journal"
        look.add("HEAD_GONE", look.line(), what)
    return Verified(
        session=session_id,
        records=len(look.hashes),
        moves=look.moves,
        judged=look.judged,
        head=look.hashes[-1][:16] if look.hashes else "",
        problems=tuple(look.problems),
        notes=tuple(look.notes()),
    )


def verify_all(store: Store) -> Iterator[Verified]:
    """Examine every session of a store; one whose start was interrupted never began."""
    for session_id in store.ids():
        with suppress(UnknownSessionError):
            yield verify(store, session_id)


class _Examination:
    """One session while it is looked through."""

    def __init__(self, store: Store, session_id: str) -> None:
        self.store = store
        self.id = session_id
        self.folder = store.folder(session_id)
        self.problems: list[Problem] = []
        self.hashes: list[str] = []
        self.moves = self.judged = self.unnamed = 0
        self._notes: list[str] = []
        self._named: set[str] = set()
        self._load = attachments.loader(self.folder)
        self._workflow: Workflow | None = None
        self._newest: Session | None = None
        self._then: dict[int, Arrival] = {}

    def line(self, number: int | None = None) -> str:
        """Return the place of a line of the journal, by default the last that was read."""
        return f"{os.path.join(self.folder, JOURNAL)}:{number or max(1, len(self.hashes))}"

    def add(self, code: str, place: str, message: str) -> None:
        """Note that something is wrong."""
        self.problems.append(Problem(code, place, message))

    def add_of_record(self, code: str, message: str) -> None:
        """Note that something is wrong with the record that was read last, or count it where very much is."""
        if len(self.problems) < MOST_PROBLEMS:
            self.add(code, self.line(), message)
        else:
            self.unnamed += 1

    def refused(self, error: FlowError, place: str) -> None:
        """Note a refusal, at its own place where it has one."""
        where = str(error.details.get("place", place))
        self.add(
            error.code, where if ":" in where else f"{where}:1", error.message.removeprefix(f"{where}: ")
        )

    def signature(self) -> None:
        """Look whose the session is."""
        with suppress(StorageError):  # told with its place when the records are read
            if self.store.origin(self.id)[1]:
                adopt = Command("adopt", self.id, store=self.store.named)
                first = self.store.trusted(self.id) + 1
                which = "the first record" if first == 1 else f"record {first - 1}"
                what = (
                    f"{which} is not signed with your key; to take the session over a person types: {adopt}"
                )
                self.add("FOREIGN_SESSION", self.line(first), what)

    def definition(self) -> None:
        """Read what the session keeps of its workflow, as far as it can be read."""
        place = f"{os.path.join(self.folder, DEFINITION)}:1"
        try:
            self._workflow = from_plain(self.store.definition(self.id)["workflow"])
        except StorageError as error:
            self.add("DEFINITION_DAMAGED", place, error.message)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.add("DEFINITION_DAMAGED", place, f"it holds no workflow ({type(error).__name__}: {error})")

    def records(self) -> None:
        """Look through every record, each against the one before it, as far as they can be read."""
        seen = _settled(self.folder)
        before: Session | None = None
        last: Record | None = None
        earlier: Session | None = None
        try:
            for short in self.store.records(self.id):
                self.hashes.append(short.hash)
                last, earlier = short, self._newest
                if seen is not None and seen.seq == short.seq:
                    self._copy(short, seen)
                record = self._whole(short)
                if record is not None and not self._is_of_our_form(record):
                    record = None
                if record is not None and (before is not None or record.seq == 0):
                    self._record(before, record)
                before = record.session if record is not None else None
                self._newest = short.session
        except StorageError as error:
            self.refused(error, self.line(len(self.hashes) + 1))
        if seen is None:
            self._no_copy(last, earlier)
        elif seen.seq < len(self.hashes) - 1:
            self._notes.append(f"the copy has seen record {seen.seq} only; the next record renews it")

    def tail(self) -> None:
        """Look for a line that was never finished."""
        with suppress(FlowError):
            torn = self.store.read(self.id, adopt=True).torn
            if torn:
                self._notes.append(
                    f"{torn} bytes at the end were never finished; the next record cuts them off"
                )

    def stray_texts(self) -> None:
        """Look for texts that no record names: their writer died before its record was written."""
        with suppress(OSError):
            found = {
                f"{attachments.FOLDER}/{name}"
                for name in os.listdir(os.path.join(self.folder, attachments.FOLDER))
            }
            if found - self._named and not self.problems:
                self._notes.append(
                    f"{len(found - self._named)} files in {attachments.FOLDER}/ belong to no record"
                )

    def notes(self) -> Iterator[str]:
        """Yield what is worth knowing and is no fault."""
        yield from self._notes
        if self.unnamed:
            yield f"{self.unnamed} more things are wrong, which are not named"
        if self._workflow is not None and self._newest is not None and self._graph != self._newest.graph:
            yield "definition.json is not that of the newest record; the next step or migration mends it"
        if self.judged < self.moves:
            yield (
                f"{self.moves - self.judged} of {self.moves} moves were judged by their shape: "
                "made under an earlier definition, or decided by code"
            )

    @property
    def _graph(self) -> str:
        return graph_print(self._workflow) if self._workflow is not None else ""

    def _whole(self, record: Record) -> Record | None:
        if not record.apart:
            return record
        self._named |= {
            name for name, _ in attachments.names_in([to_plain(record.session), dict(record.note)])
        }
        try:
            return journal.whole(record, self._load, os.path.join(self.folder, JOURNAL))
        except StorageError as error:
            self.add_of_record(error.code, error.message.removeprefix(f"{self.line()}: "))
            return None

    def _is_of_our_form(self, record: Record) -> bool:
        try:
            check_record(record)
        except StrangeError as error:
            self.add_of_record("JOURNAL_DAMAGED", f"the record is of another form: {error}")
            return False
        return True

    def _record(self, before: Session | None, record: Record) -> None:
        workflow = self._workflow if record.session.graph == self._graph else None
        judged = judge(before, record, workflow, self._then)
        for each in judged.problems:
            self.add_of_record("RECORD_WRONG", each)
        if record.kind == "move":
            self.moves += 1
            self.judged += judged.how == ENGINE
        if record.kind == "migrate":
            self._rename(record.note.get("renamed") or {})
        self._then.setdefault(record.session.revision, arrival_of(record.session))

    def _rename(self, names: Mapping[str, str]) -> None:
        """Remember earlier steps under the names that a migration gave them."""
        self._then = {
            revision: arrival._replace(step=names.get(str(arrival.step), arrival.step))
            for revision, arrival in self._then.items()
        }

    def _copy(self, record: Record, seen: snapshot.Seen) -> None:
        """Compare the copy with the record that it says it is of."""
        path = os.path.join(self.folder, snapshot.COPY)
        if not seen.whole and self._half_written(path, record, self._newest):
            self._notes.append(_NEVER_FINISHED)
            return
        if seen.hash != record.hash:
            self.add("COPY_DIFFERS", f"{path}:3", f"it has seen another record {record.seq}")
            return
        expected = snapshot.copy_of(record.seq, record.hash, to_plain(record.session))
        if json.loads(expected)["session"] != seen.session:
            self.add(
                "COPY_DIFFERS", f"{path}:{_first_other_line(path, expected)}", "the journal says otherwise"
            )

    def _no_copy(self, last: Record | None, before: Session | None) -> None:
        """Tell why no copy could be read: there is none, it was never finished, or it is something else."""
        path = os.path.join(self.folder, snapshot.COPY)
        if not os.path.lexists(path):
            self._notes.append("there is no copy to compare with; the next record makes one")
        elif last is not None and self._half_written(path, last, before):
            self._notes.append(_NEVER_FINISHED)
        else:
            self.add(
                "COPY_UNREADABLE", f"{path}:1", "it is no copy of a record, nor one that was never finished"
            )

    def _half_written(self, path: str, record: Record, before: Session | None) -> bool:
        """Return whether the copy begins as that of *record* and goes on as that of the one *before* it."""
        new = snapshot.copy_of(record.seq, record.hash, to_plain(record.session))
        old = b""
        if before is not None:
            old = snapshot.copy_of(record.seq - 1, self.hashes[-2], to_plain(before))
        try:
            data = files.read_bounded(path, limit=4 * limits.LARGEST_LINE, what="the session's copy")
        except FlowError:
            return False
        pairs = enumerate(zip(data, new, strict=False))
        cut = next((at for at, (one, other) in pairs if one != other), min(len(data), len(new)))
        return data[cut:] == old[cut:]


def _settled(folder: str) -> snapshot.Seen | None:
    """Return what the copy says, also where it is not as it was written; a writer may be at it just now."""
    for _ in range(3):
        seen = snapshot.seen_by(folder, half=True)
        if (seen is not None and seen.whole) or not _is_written_now(folder):
            break
        time.sleep(0.005)
    return seen


def _is_written_now(folder: str) -> bool:
    """Return whether somebody may be at the copy: the record that it is of has just been written."""
    with suppress(OSError):
        return abs(time.time() - os.lstat(os.path.join(folder, JOURNAL)).st_mtime) < _JUST_NOW
    return False


def _first_other_line(path: str, expected: bytes) -> int:
    with open(path, "rb") as file:
        actual = file.read(4 * limits.LARGEST_LINE).splitlines()
    pairs = enumerate(zip(expected.splitlines(), actual, strict=False), start=1)
    return next((number for number, (one, other) in pairs if one != other), len(actual))
