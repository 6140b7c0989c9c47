"""The tables of the fleet beside its queue: sessions, workers, used-up quotas, and one row for each run of an agent.

All times are on the clock of the database, so that machines need not agree on theirs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from flowrail.fleet.errors import FleetDatabaseError
from flowrail.storage.database import open_engine, parse_address, problem_of
from flowrail.text.phrases import iso_time


class RunOutcome(StrEnum):
    """How a run of an agent ended.

    `finished` and `failed` are results that the session has; `failed` is not tried again. `waiting` means that the
    session waits for its sub-agents or for the user. After `no result`, `timed out`, `crashed` and `refused`, which means
    that the work could not be taken, the agent is started again, up to the number of attempts. `quota`,
    `worker lost` and `stopped` do not count as attempts. The result of a `fenced` run came after another had taken over.
    """

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    WAITING = "waiting"
    NO_RESULT = "no result"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    WORKER_LOST = "worker lost"
    QUOTA = "quota"
    STOPPED = "stopped"
    FENCED = "fenced"
    REFUSED = "refused"


ATTEMPTS = frozenset({RunOutcome.NO_RESULT, RunOutcome.TIMED_OUT, RunOutcome.CRASHED, RunOutcome.REFUSED})
"""The outcomes that count as failed attempts."""
REOPENED = frozenset({RunOutcome.RUNNING, RunOutcome.WORKER_LOST, RunOutcome.STOPPED, RunOutcome.FENCED})
"""The outcomes that do not end a job: another worker runs it again."""
UNCOUNTED = REOPENED | {RunOutcome.QUOTA}
"""The outcomes that say nothing about the work."""


@dataclass(frozen=True)
class FleetSession:
    """A session that the fleet runs."""

    session: str
    program: str
    by: str
    at: str
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
    ended: str = ""
    """Empty, `stopped` or `lost`."""


@dataclass(frozen=True)
class AgentRun:
    """One run of an agent."""

    run: str
    job: str
    target: str
    """The session, with the dispatch if it is one."""
    program: str
    worker: str
    machine: str
    outcome: RunOutcome = RunOutcome.RUNNING
    started_at: str = ""
    ended_at: str | None = None
    exit_status: int | None = None
    cost: float | None = None
    """In dollars, if the program says it."""
    log: str = ""
    note: str = ""


_TYPES = {str: Text, bool: Boolean, int: Integer, float: Float}
_METADATA = MetaData()


def _table(name: str, row: type, *, key: str) -> Table:
    """Return a table with a column for each field of *row*."""
    columns: list[Column[Any]] = []
    for field, hint in get_type_hints(row).items():
        kind, *none_types = get_args(hint) or (hint,)
        column_type = next(_TYPES[base] for base in kind.__mro__ if base in _TYPES)
        indexed = field in {"job", "target", "outcome"}
        nullable = bool(none_types)
        columns.append(Column(field, column_type, primary_key=field == key, index=indexed, nullable=nullable))
    return Table(name, _METADATA, *columns)


_SESSIONS = _table("fleet_sessions", FleetSession, key="session")
_WORKERS = _table("fleet_workers", WorkerRecord, key="id")
_RUNS = _table("fleet_runs", AgentRun, key="run")
_MOMENTS = Table(
    "fleet_moments", _METADATA, Column("name", Text, primary_key=True), Column("at", Float, nullable=False)
)
"""When a duty was last done, and until when the quota of a program is used up."""


class FleetRecords:
    """The tables of a fleet in the database at *url*. They are created if they do not exist."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        with database_errors():
            try:
                _METADATA.create_all(self._engine)
            except DBAPIError:  # two workers created them at the same time
                _METADATA.create_all(self._engine)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # Sessions

    def add_session(self, session: str, program: str, *, by: str) -> None:
        """Record that the fleet runs a session, even if the fleet gave it up before."""
        with self._transaction() as connection:
            connection.execute(_SESSIONS.delete().where(_SESSIONS.c.session == session))
            row = FleetSession(session, program, by, iso_time(_now(connection)))
            connection.execute(insert(_SESSIONS).values(**asdict(row)))

    def sessions(self, *, newest_ended: int = 0) -> list[FleetSession]:
        """Return the sessions that the fleet runs, oldest first, and before them the newest that have ended."""
        query = select(_SESSIONS).order_by(_SESSIONS.c.at.desc())
        with self._transaction() as connection:
            rows = [*connection.execute(query.where(_SESSIONS.c.open))]
            rows += connection.execute(query.where(~_SESSIONS.c.open).limit(newest_ended))
        return [FleetSession(*row) for row in reversed(rows)]

    def end_session(self, session: str, problem: str = "") -> None:
        """Record that the fleet has finished with a session, and the problem if it gave the session up."""
        with self._transaction() as connection:
            row = update(_SESSIONS).where(_SESSIONS.c.session == session, _SESSIONS.c.open)
            connection.execute(row.values(open=False, problem=problem))

    # Workers

    def register(self, worker: WorkerRecord) -> None:
        """Record that a worker has started."""
        with self._transaction() as connection:
            at = iso_time(_now(connection))
            connection.execute(insert(_WORKERS).values(**{**asdict(worker), "started_at": at, "seen_at": at}))

    def beat(self, worker: str) -> bool:
        """Record that a worker is alive; return `False` if it was declared lost."""
        with self._transaction() as connection:
            row = update(_WORKERS).where(_WORKERS.c.id == worker, _WORKERS.c.ended == "")
            return bool(connection.execute(row.values(seen_at=iso_time(_now(connection)))).rowcount)

    def end_worker(self, worker: str) -> None:
        """Record that a worker has stopped."""
        with self._transaction() as connection:
            row = update(_WORKERS).where(_WORKERS.c.id == worker, _WORKERS.c.ended == "")
            connection.execute(row.values(ended="stopped"))

    def workers(self) -> list[WorkerRecord]:
        """Return all workers that have not ended, oldest first."""
        query = select(_WORKERS).where(_WORKERS.c.ended == "").order_by(_WORKERS.c.started_at)
        with self._transaction() as connection:
            return [WorkerRecord(*row) for row in connection.execute(query)]

    def take_turn(self, duty: str, seconds: float) -> bool:
        """Return whether it is the caller's turn for a duty that one worker does every *seconds* seconds."""
        with self._transaction() as connection:
            _lock(connection, duty)
            at, newest = _now(connection), _moment(connection, duty)
            if newest is not None and newest > at - seconds:
                return False
            _set_moment(connection, duty, at)
        return True

    def lose_workers(self, program: str, seconds: float) -> list[WorkerRecord]:
        """Record that the workers of *program* without a heartbeat for so long are lost, and return them."""
        theirs = update(_WORKERS).where(_WORKERS.c.program == program, _WORKERS.c.ended == "")
        with self._transaction() as connection:
            silent = theirs.where(_WORKERS.c.seen_at < iso_time(_now(connection) - seconds)).values(
                ended="lost"
            )
            return [WorkerRecord(*row) for row in connection.execute(silent.returning(*_WORKERS.c))]

    # Quotas

    def wait_for_quota(self, program: str, until: float) -> None:
        """Start no agents of *program* until then. A later time that is known already stays."""
        name = f"quota of {program}"
        with self._transaction() as connection:
            _lock(connection, name)
            _set_moment(connection, name, max(until, _moment(connection, name) or 0.0))

    def quota_until(self, program: str) -> float | None:
        """Return until when the quota of *program* is used up, or `None`."""
        with self._transaction() as connection:
            until = _moment(connection, f"quota of {program}")
            return until if until is not None and until > _now(connection) else None

    # Runs

    def start(self, run: AgentRun) -> None:
        """Record the start of a run."""
        with self._transaction() as connection:
            if connection.execute(select(_RUNS.c.run).where(_RUNS.c.run == run.run)).first() is None:
                row = {**asdict(run), "started_at": iso_time(_now(connection))}
                connection.execute(insert(_RUNS).values(**row))

    def end(self, run: AgentRun) -> None:
        """Record the end of a run. The end that another worker recorded for a lost one stays."""
        ended = asdict(run)
        with self._transaction() as connection:
            row = update(_RUNS).where(_RUNS.c.run == run.run, _RUNS.c.outcome == RunOutcome.RUNNING)
            kept = ("run", "started_at", "ended_at")
            values = {name: value for name, value in ended.items() if name not in kept}
            connection.execute(row.values(**values, ended_at=iso_time(_now(connection))))

    def runs(self, target: str | None = None, *, newest: int = 1_000) -> list[AgentRun]:
        """Return the newest runs, of one target or of all, oldest first."""
        query = select(_RUNS).order_by(_RUNS.c.started_at.desc()).limit(newest)
        if target is not None:
            query = query.where(_RUNS.c.target == target)
        return self._runs(query)

    def running(self) -> list[AgentRun]:
        """Return all runs that have not ended."""
        return self._runs(select(_RUNS).where(_RUNS.c.outcome == RunOutcome.RUNNING))

    def _runs(self, query: Any) -> list[AgentRun]:
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        names = [field.name for field in fields(AgentRun)]
        plain = (dict(zip(names, row, strict=True)) for row in reversed(rows))
        return [AgentRun(**{**row, "outcome": RunOutcome(row["outcome"])}) for row in plain]

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with database_errors(), self._engine.begin() as connection:
            yield connection


@contextmanager
def database_errors() -> Iterator[None]:
    """Raise `FleetDatabaseError` for an error of the database."""
    try:
        yield
    except SQLAlchemyError as error:
        raise FleetDatabaseError(
            f"the database of the fleet failed: {problem_of(error)}",
            hint="check the database and the permissions of its user, then run the command again",
        ) from None


def _lock(connection: Connection, name: str) -> None:
    """Let only one transaction at a time use *name*. On SQLite, each transaction locks the whole database."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": f"flow fleet {name}"}
        )


def _now(connection: Connection) -> float:
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _moment(connection: Connection, name: str) -> float | None:
    found: float | None = connection.execute(select(_MOMENTS.c.at).where(_MOMENTS.c.name == name)).scalar()
    return found


def _set_moment(connection: Connection, name: str, at: float) -> None:
    connection.execute(_MOMENTS.delete().where(_MOMENTS.c.name == name))
    connection.execute(insert(_MOMENTS).values(name=name, at=at))


def _engine(url: str) -> Engine:
    engine = open_engine(parse_address(url))

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
