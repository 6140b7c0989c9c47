"""Verify sessions: read their journals from the first record to the last. Nothing is changed, and nothing is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from flowrail.errors import FlowError, StorageError, UsageError
from flowrail.machines.definition.plain_form import workflow_fingerprint
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.store import ForeignSessionError, Store, UnknownSessionError
from flowrail.storage.file_store import JOURNAL

_HEAD = re.compile(r"[0-9a-f]{8,64}\Z")


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


def verify(store: Store, session_id: str, *, head: str | None = None) -> VerificationResult:
    """Verify one session; *head* is a hash that was seen earlier, whole or its beginning."""
    if head is not None and not _HEAD.match(head):
        raise UsageError(
            f"`{head[:80]}` is not the head of a session",
            code="BAD_HEAD",
            hint="give the `head` of an answer: 8 or more of its digits",
            head=head[:80],
        )
    journal = os.path.join(store.folder(session_id), JOURNAL)
    problems: list[Discrepancy] = []
    hashes: list[str] = []
    moves = 0
    newest: Record | None = None
    try:
        with suppress(StorageError):  # reading all records reports the problem with its location
            store.read(session_id)
    except ForeignSessionError as error:
        problem = Discrepancy(error.code, f"{journal}:1", f"{error.message}; {error.hint}")
        return VerificationResult(session_id, 0, 0, "", (problem,))
    try:
        for newest in store.records(session_id):
            hashes.append(newest.hash)
            moves += newest.kind == "move"
    except StorageError as error:
        location = str(error.details.get("place", journal))
        at = location if ":" in location else f"{location}:{max(1, len(hashes))}"
        problems.append(Discrepancy(error.code, at, error.message.removeprefix(f"{location}: ")))
        newest = None
    with suppress(FlowError):
        if newest is not None and _has_other_workflow(store, newest):
            message = "its workflow is not the one that its last record was made with"
            problems.append(Discrepancy("DEFINITION_CHANGED", f"{journal}:1", message))
    if head is not None and not any(digest.startswith(head) for digest in hashes):
        message = f"no record has the head {head}: what was seen earlier is not in this journal"
        problems.append(Discrepancy("HEAD_GONE", f"{journal}:{max(1, len(hashes))}", message))
    newest_head = hashes[-1][:16] if hashes else ""
    return VerificationResult(session_id, len(hashes), moves, newest_head, tuple(problems))


def verify_all(store: Store, ids: Iterable[str] | None = None) -> Iterator[VerificationResult]:
    """Verify every session of a store, or those with the given *ids*."""
    for session_id in store.ids() if ids is None else ids:
        with suppress(UnknownSessionError):  # its start was interrupted
            yield verify(store, session_id)


def _has_other_workflow(store: Store, newest: Record) -> bool:
    session = newest.session
    return workflow_fingerprint(store.workflow(session)) != session.workflow_fingerprint
