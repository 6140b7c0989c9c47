"""Verify a session: read its journal from the first record to the last and replay every move.

The journal itself checks the chain of hashes and the long texts. Here the engine makes each move again, from the
session before it and what was reported, and the result must be the session on record. Nothing is changed, and
no code of the workflow is run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, StorageError, UsageError
from flowrail.machines.definition.reader import CodeNotStoredError
from flowrail.machines.definition.workflow import Workflow, from_plain, workflow_fingerprint
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.agents import recorded_dispatches
from flowrail.machines.engine.migration import given_params
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Move, Report, Session
from flowrail.machines.sessions.store import DEFINITION, ForeignSessionError, Store, UnknownSessionError
from flowrail.storage.file_store import JOURNAL
from flowrail.storage.records import to_plain
from flowrail.text.safe_text import shortened

_HEAD = re.compile(r"[0-9a-f]{8,64}\Z")
_LONGEST_REFUSAL = 400
_FIXED = ("id", "skill", "source", "started_at", "parent", "received")
_UNMOVED = ("step", "revision", "params", "visits", "moved_at", "last", "workflow_fingerprint")


class BadHeadError(UsageError):
    """The given head of the journal has the wrong form."""

    code = "BAD_HEAD"


class Discrepancy(NamedTuple):
    """Something that was changed, or that the engine decides differently; ``place`` is file and line."""

    code: str
    place: str
    message: str


class VerificationResult(NamedTuple):
    """The result of verifying a session. The engine repeated ``judged`` of its ``moves``."""

    session: str
    records: int
    moves: int
    judged: int
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
        judged=check.judged,
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
        self.moves = self.judged = 0
        self._store = store
        self._id = session_id
        self._folder = store.folder(session_id)
        self._workflow: Workflow | None = None
        self._graph = ""
        self._newest: Record | None = None
        self._states: dict[int, Mapping[str, object]] = {}
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
                for problem in self._replayed(record):
                    self.add("RECORD_WRONG", problem)
                self._newest = record
                self._states.setdefault(record.session.revision, record.session.state)
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
        if self.judged < self.moves:
            yield (
                f"{self.moves - self.judged} of {self.moves} moves were not made again: "
                "they were made under an earlier definition, or decided by code"
            )

    def _definition(self) -> None:
        place = f"{os.path.join(self._folder, DEFINITION)}:1"
        try:
            self._workflow = from_plain(self._store.definition(self._id)["workflow"])
            self._graph = workflow_fingerprint(self._workflow)
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

    def _replayed(self, record: Record) -> list[str]:
        """Return what is wrong with a record, given those before it."""
        session = record.session
        workflow = self._workflow if session.workflow_fingerprint == self._graph else None
        if self._newest is None:
            return _begun(record, workflow)
        before = self._newest.session
        wrong = [
            f"`{name}` is another than before"
            for name in _FIXED
            if getattr(before, name) != getattr(session, name)
        ]
        if record.kind == "move":
            self.moves += 1
            found, again = _moved(before, record, workflow)
            self.judged += again
            return [*wrong, *found]
        if record.kind == "rewind":
            return [*wrong, *self._rewound(before, record)]
        if record.kind == "migrate":
            return [*wrong, *_migrated(before, session)]
        return [
            *wrong,
            *(
                f"a record of the kind `{record.kind}` changed `{name}`"
                for name in _UNMOVED
                if getattr(before, name) != getattr(session, name)
            ),
        ]

    def _rewound(self, before: Session, record: Record) -> Iterator[str]:
        session, to = record.session, record.note.get("to")
        yield from _counts(before, session)
        if to not in self._states:
            yield f"the session never was at revision {to}"
        elif self._states[to] != session.state:
            yield f"the state is not that of revision {to}"


def _begun(record: Record, workflow: Workflow | None) -> list[str]:
    session = record.session
    if record.kind == "fork":
        return []
    if record.kind != "start" or session.revision or session.last is not None:
        return [f"the journal begins with `{record.kind}` at revision {session.revision}"]
    if workflow is None:
        return []
    if not session.params.keys() <= workflow.params.keys():
        return ["there are parameters that the workflow does not have"]
    try:
        again = start(
            workflow,
            given_params(session, workflow),
            session_id=session.id,
            source=session.source,
            now=session.started_at,
            parent=session.parent,
            work=session.work,
        )
    except FlowError as error:
        return [f"the workflow cannot be started like this: {shortened(error.message, _LONGEST_REFUSAL)}"]
    return _differences(again._replace(received=session.received), session)


def _moved(before: Session, record: Record, workflow: Workflow | None) -> tuple[list[str], bool]:
    """Return what is wrong with a move, and whether the engine repeated it."""
    after, move = record.session, record.session.last
    if move is None:
        return ["a move is on record without what was reported"], False
    wrong = list(_shape(before, after, move))
    if workflow is None:
        return wrong, False
    before = before._replace(dispatches=recorded_dispatches(before, record.note))
    try:
        again = advance(
            workflow,
            before,
            Report(move.reported, move.facts, move.found, move.remember),
            now=move.at,
            evidence=move.evidence or None,
        )
    except CodeNotStoredError:
        return wrong, False  # code decided it, which is not run here
    except FlowError as error:
        refusal = shortened(error.message, _LONGEST_REFUSAL)
        return [*wrong, f"the engine refuses what was reported: {refusal}"], True
    return wrong or _differences(again, after), True


def _shape(before: Session, after: Session, move: Move) -> Iterator[str]:
    """Yield what cannot come from any workflow."""
    yield from _counts(before, after)
    if not before.is_open:
        yield f"the session was {before.status} already"
    if move.step != before.step:
        yield f"step `{move.step}` was reported while the session was at `{before.step}`"
    if move.to != after.step:
        yield f"the move leads to `{move.to}`, and the session is at `{after.step}`"
    if any(name not in after.state for name in (*before.state, *move.facts)):
        yield "facts are missing from the state"


def _counts(before: Session, after: Session) -> Iterator[str]:
    if after.revision != before.revision + 1:
        yield f"revision {before.revision} is followed by {after.revision}"


def _migrated(before: Session, after: Session) -> Iterator[str]:
    if after.revision not in {before.revision, before.revision + 1}:
        yield f"revision {before.revision} is followed by {after.revision}"
    if after.state != before.state:
        yield "a migration changed the state"


def _differences(again: Session, recorded: Session) -> list[str]:
    made, written = _essence(again), _essence(recorded)
    return [
        f"`{name}` is {_short(written[name])}; by the workflow it is {_short(made[name])}"
        for name in made
        if made[name] != written[name] and name != "format"
    ]


def _essence(session: Session) -> dict[str, object]:
    """Return the part of *session* that follows from its definition and reports alone, as plain data.

    Texts of questions, names of agents and the topic may change without the graph, and the conversation with each
    report. Files that evidence was compared with may be gone.
    """
    plain = to_plain(
        session._replace(
            host=None, topic="", work="", work_machine="", work_digest="", project="", evidence={}
        )
    )
    plain["questions"] = [
        [each["id"], each.get("source"), [option.get("outcome") for option in each.get("options", ())]]
        for each in plain["questions"]
    ]
    plain["dispatches"] = [
        [each["id"], each.get("workflow"), each.get("item")] for each in plain["dispatches"]
    ]
    essence: dict[str, object] = json.loads(json.dumps(plain))
    return essence


def _short(value: object, longest: int = 80) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
