"""The proof that nothing was changed: journals, their copies, the way of the machine, and every payload."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, FlowError
from flowrail.handoff.entries import Entry
from flowrail.handoff.handoff import INVOCATION, Handoff
from flowrail.handoff.lifecycle.machine import edges
from flowrail.handoff.payload import file
from flowrail.handoff.retention import PRUNED
from flowrail.handoff.store import (
    COPY,
    Handoffs,
    UnknownHandoffError,
    witness,
)
from flowrail.handoff.telling import plain
from flowrail.machines.guidance.received_work import now_at
from flowrail.machines.sessions import limits
from flowrail.machines.sessions import snapshot as session_witness
from flowrail.machines.sessions.journal import UnknownSessionError
from flowrail.machines.sessions.session import Session
from flowrail.machines.sessions.store import Store
from flowrail.storage import files
from flowrail.storage.journal import Record
from flowrail.storage.records import RecordError, from_plain, to_plain

_LONGEST = 200
"""Longer than any id or digest of ours."""


class Finding(NamedTuple):
    """One thing that a verification found wrong: what it is about, and what is so."""

    id: str
    code: str
    message: str


class Verified(NamedTuple):
    """What was looked at, and everything that is wrong."""

    handoffs: int
    sessions: int
    records: int
    payloads: int
    findings: tuple[Finding, ...]


def verify(store: Store, handoffs: Handoffs) -> Verified:
    """Prove that every journal is as it was written and that each payload is the one that was sent."""
    found: list[Finding] = []
    records = payloads = 0
    noted: dict[str, str] = {}
    session_ids, handoff_ids = _begun(store.sessions, store.ids()), _begun(handoffs.path, handoffs.ids())
    for session_id in session_ids:
        try:
            lines = _held(store, session_id)
            copied = list(_session_copy(store, session_id, lines))
        except UnknownSessionError:
            continue  # its start was interrupted: it never began
        except FlowError as error:
            found.append(Finding(session_id, error.code, error.message))
            continue
        records += len(lines)
        found += copied
        noted |= {
            str(line.note.get("handoff")): str(line.note.get("sha256"))
            for line in lines
            if line.kind == "handoff"
        }
        payloads += _received(store, session_id, lines, found)
    digests, kept = set[str](), {*session_ids}
    for handoff_id in handoff_ids:
        try:
            seen = witness(handoffs.folder(handoff_id))
            last, entries = _looked_through(handoffs.records(handoff_id), -1 if seen is None else seen["seq"])
        except UnknownHandoffError:
            continue
        except FlowError as error:
            found.append(Finding(handoff_id, error.code, error.message))
            continue
        records += len(entries)
        found += [
            *_signed(handoffs, handoff_id),
            *_copy(handoffs, handoff_id, entries, seen),
            *_legal(entries),
        ]
        handoff = last.handoff
        digests.add(handoff.digest)
        if any(each.handoff.phase == INVOCATION for each in entries):
            payloads += 1
            pruned = any(each.kind == PRUNED for each in entries)
            path = handoff.payload
            if handoff.session in kept and not handoff.foreign:
                path = now_at(path, os.path.join(store.folder(handoff.session), file.FOLDER))
            found += _payload(handoff, path, noted.get(handoff.id), pruned=pruned)
    for session_id in session_ids:
        found += _newest(store.folder(session_id), session_id, digests)
    return Verified(len(handoff_ids), len(session_ids), records, payloads, tuple(found))


def _looked_through(records: Iterable[Entry], copied: int) -> tuple[Entry, list[Entry]]:
    """Return the last of *records*, and of all of them what is compared; that of the copy is whole."""
    entries: list[Entry] = []
    last: Entry | None = None
    for last in records:
        handoff = last.handoff if last.seq == copied else Handoff(last.handoff.id, "", "", last.handoff.phase)
        entries.append(last._replace(handoff=handoff, by="", note={}))
    if last is None:
        raise UnknownHandoffError(
            "the journal has no record", hint=Hint("see all: ", Command("handoff status", all=True))
        )
    return last, entries


def _held(store: Store, session_id: str) -> list[Record]:
    """Return the records of a session, whole where they are compared: the last two, and that of the copy."""
    seen = session_witness.seen_by(store.folder(session_id), half=True)
    found: list[Record] = []
    for each in store.records(session_id):
        if len(found) > 1 and (seen is None or found[-2].seq != seen.seq):
            short = found[-2]
            note = {
                name: str(short.note[name])[:_LONGEST] for name in ("handoff", "sha256") if name in short.note
            }
            found[-2] = short._replace(session=Session("", "", None), by="", note=note)
        found.append(each)
    return found


def _begun(folder: str, ids: Iterable[str]) -> list[str]:
    """Return those of *ids* that have a journal or a copy of one; the others never began."""
    traces = ("journal.jsonl", "session.json", "handoff.json")
    return [each for each in ids if any(_filled(os.path.join(folder, each, name)) for name in traces)]


def _filled(path: str) -> bool:
    try:
        return os.lstat(path).st_size > 0
    except OSError:
        return False


def _signed(handoffs: Handoffs, handoff_id: str) -> Iterator[Finding]:
    unsigned = handoffs.unsigned(handoff_id)
    if 0 in unsigned:
        yield Finding(handoff_id, "FOREIGN_HANDOFF", "its first record was not written with your key")
        return
    for number in unsigned:
        yield Finding(handoff_id, "RECORD_FORGED", f"record {number} was not written with your key")


def _copy(
    handoffs: Handoffs, handoff_id: str, entries: list[Entry], seen: Mapping[str, Any] | None
) -> Iterator[Finding]:
    """Compare a copy with the record that it names, the only one of *entries* that is whole."""
    if seen is None:
        if os.path.lexists(os.path.join(handoffs.folder(handoff_id), COPY)):
            yield Finding(handoff_id, "COPY_UNREADABLE", "handoff.json cannot be read")
    elif not _is_copy(
        seen["seq"], seen["hash"], seen["handoff"], [(each.hash, each.handoff) for each in entries]
    ):
        yield Finding(handoff_id, "COPY_DIFFERS", "handoff.json is not what its record says")


def _is_copy(seq: int, digest: str, copy: object, records: Sequence[tuple[str, Handoff | Session]]) -> bool:
    """Whether a copy is one of the record that it names, be it an earlier one: its writer died before the next."""
    if not 0 <= seq < len(records):
        return False
    known, record = records[seq]
    return digest == known and _says(copy, record)


def _says(copy: object, record: Handoff | Session) -> bool:
    """Whether a copy says what the record does, also one from before there were fields that it lacks."""
    try:
        written = plain(copy)
        return written == plain(to_plain(record)) or bool(from_plain(written, type(record)) == record)
    except (RecordError, RecursionError):  # nested more deeply than anything of ours
        return False


def _session_copy(store: Store, session_id: str, lines: list[Record]) -> Iterator[Finding]:
    folder = store.folder(session_id)
    path = os.path.join(folder, session_witness.COPY)
    seen = session_witness.seen_by(folder, half=True)
    good = seen is not None and _is_copy(
        seen.seq, seen.hash, seen.session, [(each.hash, each.session) for each in lines]
    )
    if not good and os.path.lexists(path) and not _half_written(path, lines):
        code, what = (
            ("COPY_DIFFERS", "is not what its record says") if seen else ("COPY_UNREADABLE", "cannot be read")
        )
        yield Finding(session_id, code, f"session.json {what}")
    if store.read(session_id, adopt=True).foreign:
        yield Finding(session_id, "FOREIGN_SESSION", "its newest record was not written with your key")


def _half_written(path: str, lines: list[Record]) -> bool:
    """Whether a copy begins as that of the last record and goes on as that before it: its writer was killed."""
    try:
        data = files.read_bounded(path, limit=4 * limits.LARGEST_LINE, what="the session's copy")
    except DocumentError:
        return False
    copies = [session_witness.copy_of(each.seq, each.hash, to_plain(each.session)) for each in lines[-2:]]
    new, old = copies[-1], copies[0] if len(copies) > 1 else b""
    pairs = enumerate(zip(data, new, strict=False))
    cut = next((at for at, (one, other) in pairs if one != other), min(len(data), len(new)))
    return cut > 0 and data[cut:] == old[cut:]


def _legal(entries: list[Entry]) -> Iterator[Finding]:
    ways = {(edge.source, edge.target) for edge in edges()}
    for before, after in pairwise(entries):
        step = (before.handoff.phase, after.handoff.phase)
        if step[0] != step[1] and step not in ways:
            told = f"record {after.seq} goes from {step[0]} to {step[1]}, which the lifecycle does not have"
            yield Finding(after.handoff.id, "ILLEGAL_STEP", told)


def _payload(handoff: Handoff, path: str, noted: str | None, *, pruned: bool) -> Iterator[Finding]:
    now = file.digest_of(path)
    if not handoff.foreign and noted is not None and noted != handoff.digest:
        told = "the session's journal has another digest of the payload than that of the handoff"
        yield Finding(handoff.id, "DIGESTS_DIFFER", told)
    if (
        not now and not handoff.foreign and not pruned
    ):  # what came from elsewhere may go again: its receiver has a copy
        yield Finding(handoff.id, "PAYLOAD_GONE", f"{path} cannot be read")
    elif now and now != handoff.digest:
        yield Finding(handoff.id, "PAYLOAD_CHANGED", f"{path} is not what was sent")


def _newest(folder: str, session_id: str, digests: set[str]) -> Iterator[Finding]:
    """Yield a copy of the newest payload that is none of those that were sent."""
    for ending in ("yaml", "json"):
        path = os.path.join(folder, f"{file.NEWEST}.{ending}")
        if os.path.lexists(path) and file.digest_of(path) not in digests:
            yield Finding(session_id, "PAYLOAD_CHANGED", f"{path} is no payload that was sent")


def _received(store: Store, session_id: str, lines: list[Record], found: list[Finding]) -> int:
    """Add what is wrong with the payload that a session took over; return how many there are."""
    received = lines[-1].session.received
    if not received:
        return 0
    path = now_at(str(received.get("payload")), store.folder(session_id))
    now = file.digest_of(path)
    if now != received.get("sha256"):
        what = "is not what was received" if now else "cannot be read"
        found.append(Finding(session_id, "PAYLOAD_CHANGED", f"{path} {what}"))
    return 1
