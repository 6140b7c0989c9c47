"""Verify a session: read its journal from the first record to the last.

The journal checks the chain of hashes and the long texts. Here each record must continue the one before it, and the
definition must be the one that the newest record was made with. Nothing is changed, and nothing is run.
`flow skill replay` makes the moves again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, UsageError
from flowrail.machines.definition.workflow import from_plain, workflow_fingerprint
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import DEFINITION, ForeignSessionError, Store, UnknownSessionError
from flowrail.storage.file_store import JOURNAL

_HEAD = re.compile(r"[0-9a-f]{8,64}\Z")
_FIXED = ("id", "skill", "source", "started_at", "parent", "received")
_UNMOVED = ("step", "revision", "params", "visits", "moved_at", "last", "workflow_fingerprint")


class BadHeadError(UsageError):
    """The given head of the journal has the wrong form."""

    code = "BAD_HEAD"


class Discrepancy(NamedTuple):
    """Something that was changed; ``place`` is file and line."""

    code: str
    place: str
    message: str


class VerificationResult(NamedTuple):
    """The result of verifying a session."""

    session: str
    records: int
    moves: int
    head: str
    problems: tuple[Discrepancy, ...]
    notes: tuple[str, ...]


def verify(store: Store, session_id: str, *, head: str | None = None) -> VerificationResult:
    """Verify one session; *head* is a hash that was seen earlier, whole or its beginning."""
    if head is not None and not _HEAD.match(head):
        raise BadHeadError(
            f"`{head[:80]}` is not the head of a session",
            hint="give the `head` of an answer: 8 or more of its digits",
            head=head[:80],
        )
    check = _Verification(store, session_id)
    check.run()
    if head is not None and not any(digest.startswith(head) for digest in check.hashes):
        check.add("HEAD_GONE", f"no record has the head {head}: what was seen earlier is not in this journal")
    return VerificationResult(
        session=session_id,
        records=len(check.hashes),
        moves=check.moves,
        head=check.hashes[-1][:16] if check.hashes else "",
        problems=tuple(check.problems),
        notes=tuple(check.notes()),
    )


def verify_all(store: Store, ids: Iterable[str] | None = None) -> Iterator[VerificationResult]:
    """Verify every session of a store, or those with the given *ids*."""
    for session_id in store.ids() if ids is None else ids:
        with suppress(UnknownSessionError):  # its start was interrupted
            yield verify(store, session_id)


class _Verification:
    """One session while it is verified."""

    def __init__(self, store: Store, session_id: str) -> None:
        self.problems: list[Discrepancy] = []
        self.hashes: list[str] = []
        self.moves = 0
        self._store = store
        self._id = session_id
        self._folder = store.folder(session_id)
        self._graph = ""
        self._newest: Record | None = None
        self._torn = 0

    def run(self) -> None:
        """Read all records that can be read."""
        try:
            self._torn = self._store.read(self._id).torn
        except ForeignSessionError as error:
            self.add(error.code, f"{error.message}; {error.hint}")
            return
        except StorageError:
            pass  # the records name the place
        self._definition()
        try:
            for record in self._store.records(self._id):
                self.hashes.append(record.hash)
                self.moves += record.kind == "move"
                for problem in _problems(self._newest, record):
                    self.add("RECORD_WRONG", problem)
                self._newest = record
            self._check_definition()
        except StorageError as error:
            place = str(error.details.get("place", self._folder))
            self.add(error.code, error.message.removeprefix(f"{place}: "), place=place)
        if not self.hashes and not self.problems:
            raise UnknownSessionError(
                f"session `{self._id}` was never started",
                hint=Hint("see all sessions: ", Command("sessions", all=True)),
                session=self._id,
            )

    def add(self, code: str, message: str, *, place: str = "") -> None:
        """Note that something is wrong, by default with the record that was read last."""
        place = place or os.path.join(self._folder, JOURNAL)
        line = max(1, len(self.hashes))
        self.problems.append(Discrepancy(code, place if ":" in place else f"{place}:{line}", message))

    def notes(self) -> Iterator[str]:
        """Yield notes that are not errors."""
        if self._torn:
            yield f"{self._torn} bytes at the end are an interrupted write; the next record removes them"
        newest = self._newest
        if newest is not None and self._graph and self._graph != newest.session.workflow_fingerprint:
            yield "definition.json is not that of the newest record; the next step or migration renews it"

    def _definition(self) -> None:
        place = f"{os.path.join(self._folder, DEFINITION)}:1"
        try:
            self._graph = workflow_fingerprint(from_plain(self._store.definition(self._id)["workflow"]))
        except StorageError as error:
            self.add("DEFINITION_DAMAGED", error.message, place=place)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.add("DEFINITION_DAMAGED", f"it holds no workflow ({type(error).__name__})", place=place)

    def _check_definition(self) -> None:
        """Compare the definition with the digest in the newest record, unless a later one was about to be used."""
        newest = self._newest
        if newest is None or newest.session.workflow_fingerprint != self._graph:
            return
        if newest.definition not in {"", self._store.definition_digest(self._id)}:
            place = f"{os.path.join(self._folder, DEFINITION)}:1"
            self.add("DEFINITION_CHANGED", "it is not what the newest record was made with", place=place)


def _problems(newest: Record | None, record: Record) -> Iterator[str]:
    """Yield what is wrong with a record, given the one before it."""
    after = record.session
    if newest is None:
        if record.kind != "fork" and (record.kind != "start" or after.revision or after.last is not None):
            yield f"the journal begins with `{record.kind}` at revision {after.revision}"
        return
    before = newest.session
    for name in _FIXED:
        if getattr(before, name) != getattr(after, name):
            yield f"`{name}` is another than before"
    if record.kind in {"move", "rewind"} and after.revision != before.revision + 1:
        yield f"revision {before.revision} is followed by {after.revision}"
    if record.kind == "move":
        yield from _move_problems(before, after)
    elif record.kind not in {"rewind", "migrate"}:
        for name in _UNMOVED:
            if getattr(before, name) != getattr(after, name):
                yield f"a record of the kind `{record.kind}` changed `{name}`"


def _move_problems(before: Session, after: Session) -> Iterator[str]:
    """Yield what cannot come from any workflow."""
    move = after.last
    if not before.is_open:
        yield f"the session was {before.status} already"
    if move is None:
        yield "a move is on record without what was reported"
    elif (move.step, move.to) != (before.step, after.step):
        yield f"a move from `{move.step}` to `{move.to}` led from `{before.step}` to `{after.step}`"
