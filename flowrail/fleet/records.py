"""The tables of the fleet beside its queue: sessions, workers, pools, and one record for each run of an agent.

The tables are in the database of the queue. Starts and runs are only added, never changed: a start reserves the
estimated cost, and the run that ends it has the outcome. All times are seconds since 1970 on the clock of the
database, so that machines need not agree on theirs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple, get_args, get_type_hints

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
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from flowrail.fleet.errors import FleetDatabaseError
from flowrail.storage.database import open_engine, parse_address, problem_of

DAY = 24 * 3600
_LONG = 1_000


class RunOutcome(StrEnum):
    """How a run of an agent ended.

    `finished` and `failed` are results that the session has; `failed` is not tried again. `waiting` means that the
    session waits for its sub-agents or for the user. After `no result`, `timed out`, `crashed` and `refused`, which means
    that the work could not be taken, the agent is started again, up to the pool's number of attempts. `quota`,
    `worker lost` and `stopped` do not count as attempts. The result of a `fenced` run came after another run had taken over.
    """

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
REOPENED = frozenset({RunOutcome.WORKER_LOST, RunOutcome.STOPPED, RunOutcome.FENCED})
"""The outcomes that do not end a job: another worker runs it again."""
UNCOUNTED = REOPENED | {RunOutcome.QUOTA}
"""The outcomes that say nothing about the work."""


class FleetSession(NamedTuple):
    """A session that the fleet runs. ``problem`` says why the fleet gave it up; the session itself stays open."""

    session: str
    pool: str
    by: str
    at: float
    worktree: bool = False
    problem: str = ""


class WorkerRecord(NamedTuple):
    """A process that runs jobs. ``ended`` is empty, `stopped` or `lost`."""

    id: str
    pool: str
    machine: str
    pid: int
    slots: int
    started_at: float
    seen_at: float
    ended: str = ""


class PoolState(NamedTuple):
    """Why a pool starts no jobs: until ``until``, or with `None` until a user resumes it."""

    pool: str
    until: float | None
    reason: str


class Start(NamedTuple):
    """The start of a run: the worker, the target, and the cost that is reserved for it."""

    run: str
    job: str
    target: str
    pool: str
    worker: str
    reserved: float
    at: float = 0.0


class AgentRun(NamedTuple):
    """The record of a run. ``target`` is the session, with the dispatch if it is one: `session/dispatch`.

    Its first fields are those of its `Start`.
    """

    run: str
    job: str
    target: str
    pool: str
    worker: str
    outcome: RunOutcome
    started_at: float
    ended_at: float = 0.0
    machine: str = ""
    command: str = ""
    exit_status: int | None = None
    cost: float | None = None
    tokens: int | None = None
    log: str = ""
    log_sha256: str = ""
    note: str = ""


_TYPES = {str: Text, bool: Boolean, int: Integer, float: Float}
_METADATA = MetaData()


def _table(name: str, row: type, *more: Column[Any], key: str = "", indexed: Sequence[str] = ()) -> Table:
    """Return a table with a column for each field of *row*, and *more* columns."""
    columns: list[Column[Any]] = []
    for field, hint in get_type_hints(row).items():
        kind, *none_types = get_args(hint) or (hint,)
        column_type = next(_TYPES[base] for base in kind.__mro__ if base in _TYPES)
        columns.append(
            Column(
                field,
                column_type,
                primary_key=field == key,
                index=field in indexed,
                nullable=bool(none_types),
            )
        )
    return Table(name, _METADATA, *columns, *more)


_SESSIONS = _table(
    "fleet_sessions", FleetSession, Column("open", Boolean, nullable=False, index=True), key="session"
)
_WORKERS = _table("fleet_workers", WorkerRecord, key="id")
_POOLS = _table("fleet_pools", PoolState, key="pool")
_STARTS = _table("fleet_starts", Start, key="run", indexed=("job", "target", "at"))
_RUNS = _table(
    "fleet_runs", AgentRun, Column("number", Integer, primary_key=True), indexed=("run", "target", "ended_at")
)
_TURNS = Table(
    "fleet_turns", _METADATA, Column("duty", Text, primary_key=True), Column("at", Float, nullable=False)
)


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

    def now(self) -> float:
        """Return the time on the clock of the database."""
        with self._transaction() as connection:
            return _now(connection)

    # Sessions

    def add_session(self, session: str, pool: str, *, by: str, worktree: bool) -> None:
        """Record that the fleet runs a session, even if the fleet gave it up before."""
        with self._transaction() as connection:
            connection.execute(_SESSIONS.delete().where(_SESSIONS.c.session == session))
            row = FleetSession(session, pool, by, _now(connection), worktree)
            connection.execute(insert(_SESSIONS).values(**row._asdict(), open=True))

    def sessions(self, *, newest_ended: int = 0) -> list[FleetSession]:
        """Return the sessions that the fleet runs, oldest first, and before them the newest that have ended."""
        query = select(*(_SESSIONS.c[name] for name in FleetSession._fields)).order_by(_SESSIONS.c.at.desc())
        with self._transaction() as connection:
            rows = [*connection.execute(query.where(_SESSIONS.c.open))]
            rows += connection.execute(query.where(~_SESSIONS.c.open).limit(newest_ended))
        return [FleetSession(*row) for row in reversed(rows)]

    def end_session(self, session: str, problem: str = "") -> bool:
        """Record that the fleet has finished with a session, and the problem if it gave the session up.

        Return whether this was not yet recorded.
        """
        with self._transaction() as connection:
            row = update(_SESSIONS).where(_SESSIONS.c.session == session, _SESSIONS.c.open)
            return bool(connection.execute(row.values(open=False, problem=problem)).rowcount)

    # Workers

    def register(self, worker: str, pool: str, machine: str, pid: int, slots: int) -> None:
        """Record that a worker has started."""
        with self._transaction() as connection:
            at = _now(connection)
            row = WorkerRecord(worker, pool, machine, pid, slots, at, at)
            connection.execute(insert(_WORKERS).values(**row._asdict()))

    def beat(self, worker: str) -> bool:
        """Record that a worker is alive; return `False` if it was declared lost."""
        with self._transaction() as connection:
            row = update(_WORKERS).where(_WORKERS.c.id == worker, _WORKERS.c.ended == "")
            return bool(connection.execute(row.values(seen_at=_now(connection))).rowcount)

    def end_worker(self, worker: str, ended: str) -> None:
        """Record that a worker has stopped or is lost."""
        with self._transaction() as connection:
            row = update(_WORKERS).where(_WORKERS.c.id == worker, _WORKERS.c.ended == "")
            connection.execute(row.values(ended=ended))

    def workers(self) -> list[WorkerRecord]:
        """Return all workers that have not ended, oldest first."""
        query = select(_WORKERS).where(_WORKERS.c.ended == "").order_by(_WORKERS.c.started_at)
        with self._transaction() as connection:
            return [WorkerRecord(*row) for row in connection.execute(query)]

    def take_turn(self, duty: str, seconds: float) -> bool:
        """Return whether it is the caller's turn for a duty that one worker does every *seconds* seconds."""
        with self._transaction() as connection:
            _lock(connection, duty)
            at = _now(connection)
            newest = connection.execute(select(_TURNS.c.at).where(_TURNS.c.duty == duty)).scalar()
            if newest is not None and newest > at - seconds:
                return False
            connection.execute(_TURNS.delete().where(_TURNS.c.duty == duty))
            connection.execute(insert(_TURNS).values(duty=duty, at=at))
        return True

    def lose_workers(self, pool: str, seconds: float) -> list[WorkerRecord]:
        """Record that the workers of *pool* without a heartbeat for so long are lost, and return them."""
        lost = update(_WORKERS).where(_WORKERS.c.pool == pool, _WORKERS.c.ended == "").values(ended="lost")
        with self._transaction() as connection:
            silent = lost.where(_WORKERS.c.seen_at < _now(connection) - seconds)
            return [WorkerRecord(*row) for row in connection.execute(silent.returning(*_WORKERS.c))]

    # Pools

    def pause(self, pool: str, *, until: float | None, reason: str) -> None:
        """Start no jobs of *pool* until then. A pause is never shortened."""
        with self._transaction() as connection:
            paused = _paused(connection, pool)
            if paused is not None and until is not None and (paused.until is None or paused.until >= until):
                return
            connection.execute(_POOLS.delete().where(_POOLS.c.pool == pool))
            connection.execute(insert(_POOLS).values(pool=pool, until=until, reason=reason))

    def unpause(self, pool: str) -> bool:
        """Let a pool start jobs again; return whether it was paused."""
        with self._transaction() as connection:
            was_paused = _paused(connection, pool) is not None
            connection.execute(_POOLS.delete().where(_POOLS.c.pool == pool))
        return was_paused

    def paused(self) -> list[PoolState]:
        """Return the pools that are paused."""
        with self._transaction() as connection:
            rows = [_paused(connection, name) for (name,) in connection.execute(select(_POOLS.c.pool))]
        return [state for state in rows if state is not None]

    # Runs

    def start(self, start: Start, *, daily_budget: float | None) -> PoolState | None:
        """Record the start of a run and reserve its cost, or return why the pool may not start it now.

        Starts of one pool follow each other, so that together they stay within the budget.
        """
        with self._transaction() as connection:
            _lock(connection, start.pool)
            state = _paused(connection, start.pool)
            if state is not None:
                return state
            existing = select(_STARTS.c.run).where(_STARTS.c.run == start.run)
            if connection.execute(existing).first() is not None:
                return None  # the answer of the first try was lost
            at = _now(connection)
            if daily_budget is not None:
                spent = _spent(connection, start.pool, at - DAY)
                exhausted = over_budget(start.pool, spent, start.reserved, daily_budget)
                if exhausted is not None:
                    return exhausted
            connection.execute(insert(_STARTS).values(**start._replace(at=at)._asdict()))
        return None

    def open_start(self, job: str) -> Start | None:
        """Return the newest start of *job* that no run has ended, if any."""
        ended = select(_RUNS.c.run).where(_RUNS.c.job == job)
        query = select(_STARTS).where(_STARTS.c.job == job, _STARTS.c.run.not_in(ended))
        with self._transaction() as connection:
            row = connection.execute(query.order_by(_STARTS.c.at.desc())).first()
        return None if row is None else Start(*row)

    def running(self) -> list[Start]:
        """Return all starts that no run has ended, oldest first."""
        has_ended = select(_RUNS.c.run).where(_RUNS.c.run == _STARTS.c.run).exists()
        query = select(_STARTS).where(~has_ended).order_by(_STARTS.c.at)
        with self._transaction() as connection:
            return [Start(*row) for row in connection.execute(query)]

    def record(self, run: AgentRun) -> None:
        """Add the record of a run. The same record again adds nothing: the answer of the first try was lost."""
        existing = select(_RUNS.c.run).where(_RUNS.c.run == run.run, _RUNS.c.outcome == run.outcome)
        with self._transaction() as connection:
            if connection.execute(existing).first() is None:
                connection.execute(insert(_RUNS).values(**run._asdict()))

    def runs(self, target: str | None = None, *, newest: int = _LONG) -> list[AgentRun]:
        """Return the newest records, of one target or of all, oldest first."""
        columns = (_RUNS.c[name] for name in AgentRun._fields)
        query = select(*columns).order_by(_RUNS.c.number.desc()).limit(newest)
        if target is not None:
            query = query.where(_RUNS.c.target == target)
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        runs = [AgentRun(*row) for row in reversed(rows)]
        return [run._replace(outcome=RunOutcome(run.outcome)) for run in runs]

    def started_by(self, target: str) -> set[str]:
        """Return the ids of all runs of a target, which are the conversations that its session had in the fleet."""
        with self._transaction() as connection:
            rows = connection.execute(select(_STARTS.c.run).where(_STARTS.c.target == target)).all()
        return {run for (run,) in rows}

    def spent(self, pool: str) -> float:
        """Return what the runs of the last 24 hours cost, and what is reserved for those at work, in dollars."""
        with self._transaction() as connection:
            return _spent(connection, pool, _now(connection) - DAY)

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


def over_budget(pool: str, spent: float, cost: float, daily_budget: float) -> PoolState | None:
    """Return why a run of that cost must wait, if it would exceed the budget."""
    if spent + cost <= daily_budget:
        return None
    reason = f"${spent:.2f} of the daily budget of ${daily_budget:.2f} are spent or reserved"
    return PoolState(pool, None, reason)


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


def _paused(connection: Connection, pool: str) -> PoolState | None:
    query = select(_POOLS.c.pool, _POOLS.c.until, _POOLS.c.reason).where(_POOLS.c.pool == pool)
    row = connection.execute(query).first()
    if row is None or (row.until is not None and row.until <= _now(connection)):
        return None
    return PoolState(*row)


def _spent(connection: Connection, pool: str, since: float) -> float:
    """Return the cost of the runs since then, and the reservations of those that have not ended or have no cost."""
    cost = func.coalesce(func.sum(_RUNS.c.cost), 0.0)
    recorded = connection.execute(
        select(cost).where(_RUNS.c.pool == pool, _RUNS.c.ended_at > since)
    ).scalar_one()
    ended = select(_RUNS.c.run).where(_RUNS.c.cost.is_not(None), _RUNS.c.ended_at > since)
    reserved = (
        select(func.coalesce(func.sum(_STARTS.c.reserved), 0.0))
        .where(_STARTS.c.pool == pool, _STARTS.c.at > since)
        .where(_STARTS.c.run.not_in(ended))
    )
    return float(recorded) + float(connection.execute(reserved).scalar_one())


def _engine(url: str) -> Engine:
    engine = open_engine(parse_address(url))

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
