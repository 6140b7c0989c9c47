"""The tables of the fleet beside its queue: the sessions that it runs, and the workers that are alive.

All times are on the clock of the database, so that machines need not agree on theirs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    delete,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.types import TypeEngine

from flowrail.storage.database import WAIT_SECONDS, Database
from flowrail.text.phrases import iso_time


@dataclass(frozen=True)
class FleetSession:
    """A session that the fleet runs."""

    session: str
    program: str
    at: str = ""
    """When it was given to the fleet."""
    open: bool = True
    problem: str = ""
    """Why the fleet gave it up; the session itself stays open."""


@dataclass(frozen=True)
class WorkerRecord:
    """A process that runs jobs."""

    id: str
    program: str
    machine: str
    pid: int
    slots: int
    started_at: str = ""
    seen_at: str = ""
    """When it sent its last heartbeat."""


_METADATA = MetaData()


def _table(name: str, record: type[FleetSession | WorkerRecord]) -> Table:
    """Return a table with a column for each field of *record*; the first one is the key."""
    kinds: dict[str, type[TypeEngine[Any]]] = {"str": Text, "int": Integer, "bool": Boolean}
    columns = (
        Column(field.name, kinds[str(field.type)], primary_key=not number, nullable=False)
        for number, field in enumerate(fields(record))
    )
    return Table(name, _METADATA, *columns)


_SESSIONS = _table("fleet_sessions", FleetSession)
_WORKERS = _table("fleet_workers", WorkerRecord)


class FleetRecords:
    """The tables of a fleet in the database at *address*. They are created if they do not exist."""

    def __init__(self, address: str) -> None:
        self.database = Database(address, tables=_METADATA)
        self.database.init()

    def add_session(self, session: str, program: str) -> None:
        """Record that the fleet runs a session, even if the fleet gave it up before."""
        with self.database.changing(WAIT_SECONDS) as connection:
            connection.execute(delete(_SESSIONS).where(_SESSIONS.c.session == session))
            row = FleetSession(session, program, iso_time(_now(connection)))
            connection.execute(insert(_SESSIONS).values(**asdict(row)))

    def sessions(self, *, newest_ended: int = 0) -> list[FleetSession]:
        """Return the sessions that the fleet runs, oldest first, and before them the newest that have ended."""
        query = select(_SESSIONS).order_by(_SESSIONS.c.at.desc())
        with self.database.reading() as connection:
            rows = [*connection.execute(query.where(_SESSIONS.c.open))]
            rows += connection.execute(query.where(~_SESSIONS.c.open).limit(newest_ended))
        return [FleetSession(*row) for row in reversed(rows)]

    def end_session(self, session: str, problem: str = "") -> None:
        """Record that the fleet has finished with a session, and the problem if it gave the session up."""
        with self.database.changing(WAIT_SECONDS) as connection:
            row = update(_SESSIONS).where(_SESSIONS.c.session == session, _SESSIONS.c.open)
            connection.execute(row.values(open=False, problem=problem))

    def add_worker(self, worker: WorkerRecord) -> None:
        """Record that a worker has started."""
        with self.database.changing(WAIT_SECONDS) as connection:
            at = iso_time(_now(connection))
            connection.execute(insert(_WORKERS).values(**{**asdict(worker), "started_at": at, "seen_at": at}))

    def beat(self, worker: str) -> bool:
        """Record that a worker is alive; return `False` if others took over its jobs."""
        with self.database.changing(WAIT_SECONDS) as connection:
            row = update(_WORKERS).where(_WORKERS.c.id == worker)
            return bool(connection.execute(row.values(seen_at=iso_time(_now(connection)))).rowcount)

    def end_worker(self, worker: str) -> None:
        """Record that a worker has stopped."""
        with self.database.changing(WAIT_SECONDS) as connection:
            connection.execute(delete(_WORKERS).where(_WORKERS.c.id == worker))

    def workers(self) -> list[WorkerRecord]:
        """Return all workers, oldest first."""
        query = select(_WORKERS).order_by(_WORKERS.c.started_at, _WORKERS.c.id)
        with self.database.reading() as connection:
            return [WorkerRecord(*row) for row in connection.execute(query)]

    @contextmanager
    def lost_workers(self, seconds: float) -> Iterator[list[WorkerRecord]]:
        """Yield the workers without a heartbeat for so long, and delete them at the end of the block.

        They are locked until then, so only one worker takes over the jobs of a lost one. After an error they stay.
        """
        with self.database.changing(WAIT_SECONDS) as connection:
            silent = _WORKERS.c.seen_at < iso_time(_now(connection) - seconds)
            query = select(_WORKERS).where(silent).with_for_update(skip_locked=True)
            lost = [WorkerRecord(*row) for row in connection.execute(query)]
            yield lost
            connection.execute(delete(_WORKERS).where(_WORKERS.c.id.in_([worker.id for worker in lost])))


def _now(connection: Connection) -> float:
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
