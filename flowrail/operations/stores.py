"""Copy all sessions and handoffs of a store to another one. Records are copied as they were written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flowrail.errors import ConflictError
from flowrail.handoff.store import Handoffs
from flowrail.machines.sessions.store import Store
from flowrail.storage.file_store import JOURNAL, LOCK
from flowrail.storage.record_store import Chained, RecordStore

T = TypeVar("T", bound=Chained)


@dataclass(frozen=True)
class CopyResult:
    """How many sessions and handoffs were copied, and how many the other store had already."""

    sessions: int
    handoffs: int
    known: int


def copy_store(source: Store, target: Store, *, now: Callable[[], str], by: str) -> CopyResult:
    """Copy all sessions and handoffs. Those that the target has already are left as they are.

    Working files and payloads are copied too if both stores are folders.
    """
    sessions, known = _copy_records(source.entries, target.entries, now, by)
    if not source.is_database and not target.is_database:
        for session_id in sessions:
            _copy_files(source.folder(session_id), target.folder(session_id))
    handoffs, known_handoffs = _copy_records(Handoffs(source).entries, Handoffs(target).entries, now, by)
    return CopyResult(len(sessions), len(handoffs), known + known_handoffs)


def _copy_records(
    source: RecordStore[T], target: RecordStore[T], now: Callable[[], str], by: str
) -> tuple[list[str], int]:
    """Copy the records that the target does not have. Return their ids, and how many it had already."""
    copied: list[str] = []
    present = target.stamps()
    for key in source.stamps():
        lines = source.lines(key)
        if key not in present:
            target.restore(key, lines, at=now(), by=by)
            copied.append(key)
        elif any(mine != theirs for mine, theirs in zip(lines, target.lines(key), strict=False)):
            raise ConflictError(
                f"`{key}` has other records in the target",
                code="DIFFERENT_SESSION",
                hint="copy into an empty store",
                id=key,
            )
    return copied, len(source.stamps()) - len(copied)


def _copy_files(source: str, target: str) -> None:
    """Copy working files and payloads."""
    for name in os.listdir(source):
        path = os.path.join(source, name)
        if name in {JOURNAL, LOCK} or name.startswith(".") or os.path.islink(path):
            continue
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(target, name), symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(path, os.path.join(target, name))
