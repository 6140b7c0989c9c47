"""Move sessions between stores: all of a store, or one as a file. Records are copied as they were written."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64decode, b64encode
from typing import Any, NamedTuple, TypeVar

from flowrail.errors import ConflictError, DocumentError
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.store import SESSION_ID, Store
from flowrail.storage.file_store import RecordStore, WrittenRecords
from flowrail.storage.files import read_bounded
from flowrail.storage.journal import Chained, DamagedError
from flowrail.text import json as strict_json
from flowrail.text import limits

T = TypeVar("T", bound=Chained)
EXPORT_FORMAT = 1
_RECORDS = frozenset(
    {"journal.jsonl", "session.json", "handoff.json", "definition.json", "owner", "lock", "texts"}
)
"""The files of a session's folder that are written with its records; the others are working files and payloads."""


class DifferentSessionError(ConflictError):
    """The other store has a session or handoff of that id with other records."""

    code = "DIFFERENT_SESSION"


class CopyResult(NamedTuple):
    """How many sessions and handoffs were copied, and how many the other store had already."""

    sessions: int
    handoffs: int
    known: int


def copy_store(source: Store, target: Store) -> CopyResult:
    """Copy all sessions and handoffs. Those that the target has already are left as they are.

    Working files and payloads are copied too if both stores are folders.
    """
    sessions, known = _copy_records(source.entries, target.entries)
    if not source.is_database and not target.is_database:
        for session_id in sessions:
            _copy_files(source.folder(session_id), target.folder(session_id))
    handoffs, known_handoffs = _copy_records(Handoffs(source).entries, Handoffs(target).entries)
    return CopyResult(len(sessions), len(handoffs), known + known_handoffs)


def _copy_records(source: RecordStore[T], target: RecordStore[T]) -> tuple[list[str], int]:
    """Copy the records that the target does not have. Return their ids, and how many it had already."""
    copied: list[str] = []
    present = target.stamps()
    for key in source.stamps():
        written = source.written(key)
        if key not in present:
            target.restore(key, written)
            copied.append(key)
            continue
        known = target.written(key).lines
        if any(mine != theirs for mine, theirs in zip(written.lines, known, strict=False)):
            raise DifferentSessionError(
                f"`{key}` has other records in the target", hint="copy into an empty store", id=key
            )
    return copied, len(source.stamps()) - len(copied)


def export_session(store: Store, session_id: str) -> bytes:
    """Return a session as one document. It contains everything that was recorded, but no working files."""
    written = store.entries.written(session_id)
    document = {
        "flowrail_session": EXPORT_FORMAT,
        "id": session_id,
        "records": [line.decode().rstrip("\n") for line in written.lines],
        "files": {name: b64encode(data).decode() for name, data in written.side_files.items()},
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


def import_session(store: Store, path: str) -> str:
    """Store the session in the document at *path*, as this user's own, and return its id."""
    data = read_bounded(path, limit=2 * limits.JOURNAL_BYTES, what="the exported session")
    try:
        document: dict[str, Any] = strict_json.parse(data.decode())
        session_id, files = document["id"], document["files"]
        is_ours = document["flowrail_session"] == EXPORT_FORMAT and document["records"]
        if not is_ours or not SESSION_ID.match(session_id):
            raise ValueError  # noqa: TRY301 - handled with the other forms that are wrong
        if not all(
            name == "definition.json" or (name.startswith("texts/") and ".." not in name) for name in files
        ):
            raise ValueError  # noqa: TRY301
        lines = tuple(f"{line}\n".encode() for line in document["records"])
        written = WrittenRecords(
            lines, {name: b64decode(text, validate=True) for name, text in files.items()}
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DocumentError(
            "is not a session written by `flow session export`", hint="export the session again", place=path
        ) from None
    try:
        store.entries.restore(session_id, written)
    except DamagedError as error:
        fact = f"record {error.line} of the session is damaged: {error.problem}"
        raise DocumentError(fact, hint="export the session again", place=path) from None
    return str(session_id)


def _copy_files(source: str, target: str) -> None:
    """Copy working files and payloads."""
    for name in os.listdir(source):
        path = os.path.join(source, name)
        if name in _RECORDS or name.startswith(".") or os.path.islink(path):
            continue
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(target, name), symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(path, os.path.join(target, name))
