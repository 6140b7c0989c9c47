"""Create a store in a database, and copy all sessions and handoffs of a store to another one."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from typing import Annotated

from flowrail.errors import ConflictError, UsageError
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.operation import Help, operation
from flowrail.storage.backend import examples
from flowrail.storage.file_store import JOURNAL, LOCK
from flowrail.storage.hash_chain import T
from flowrail.storage.record_store import RecordStore
from flowrail.text.phrases import count
from flowrail.text.report import Report


@dataclass(frozen=True)
class InitializedStore:
    """A database that can hold sessions and handoffs."""

    store: str
    """Its address, without a password."""

    def report(self) -> Report:
        """Return what a person reads."""
        yield f"{self.store} is ready. To use it: export FLOW_STORE={shlex.quote(self.store)}"


@dataclass(frozen=True)
class CopiedStore:
    """How many sessions and handoffs were copied, and how many the other store had already."""

    sessions: int
    handoffs: int
    known: int
    """How many the other store had already."""

    def report(self) -> Report:
        """Return what a person reads."""
        known = f"; {self.known} were there already" if self.known else ""
        yield f"copied {count(self.sessions, 'session')} and {count(self.handoffs, 'handoff')}{known}"


@operation("store init", "flow store init postgresql://me@db.example/flow")
def init(
    environment: Environment,
    address: Annotated[str | None, Help("The address of the database.")] = None,
) -> InitializedStore:
    """Create the tables of a store in a database

    Without ADDRESS, of the store that FLOW_STORE or the configuration names. Nothing changes if they exist.
    Give a password in FLOW_STORE, PGPASSWORD or ~/.pgpass. Needs the extra flowrail[sql].
    """
    named = Environment(store=address) if address is not None else environment
    backend = named.backend
    if backend.is_folder:
        raise UsageError(f"`{backend.shown}` is not the address of a database", hint=f"write {examples()}")
    backend.init()
    return InitializedStore(backend.shown)


@operation("store copy", "flow store copy .flow postgresql://me@db.example/flow")
def copy(
    environment: Environment,
    from_: Annotated[str, Help("The folder or database to copy from.", metavar="FROM")],
    to: Annotated[str, Help("The folder or database to copy to.", metavar="TO")],
) -> CopiedStore:
    """Copy all sessions and handoffs to another store

    FROM and TO are folders or addresses of databases. Records are copied as they were written. Sessions that TO has already
    stay as they are, so the command can be repeated. Working files are copied between folders only.
    """
    from_environment, to_environment = Environment(store=from_), Environment(store=to)
    source, target = from_environment.store, to_environment.store
    at, by = environment.now, environment.by
    sessions, known = _copy_records(source, target, at, by)
    if not source.is_database and not target.is_database:
        for session_id in sessions:
            _copy_files(source.folder(session_id), target.folder(session_id))
    handoffs, known_handoffs = _copy_records(
        handoffs_of(from_environment).entries, handoffs_of(to_environment).entries, at, by
    )
    return CopiedStore(len(sessions), len(handoffs), known + known_handoffs)


def _copy_records(source: RecordStore[T], target: RecordStore[T], at: str, by: str) -> tuple[list[str], int]:
    """Copy the records that the target does not have. Return their ids, and how many it had already."""
    copied: list[str] = []
    present = target.stamps()
    for key in source.stamps():
        lines = source.lines(key)
        if key not in present:
            target.restore(key, lines, at=at, by=by)
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

    def left_out(folder: str, names: list[str]) -> list[str]:
        """Return what stays at the top: the records, hidden files and links."""
        top = names if folder == source else []
        return [n for n in top if n in {JOURNAL, LOCK} or n[0] == "." or os.path.islink(f"{folder}/{n}")]

    shutil.copytree(source, target, symlinks=True, ignore=left_out, dirs_exist_ok=True)
