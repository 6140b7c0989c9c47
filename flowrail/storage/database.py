"""A database with a store in it: PostgreSQL or SQLite, through SQLAlchemy. Needs the extra `flowrail[sql]`.

A change is one transaction that holds the lock of what it changes; on SQLite, that of the whole database. A change
inside another one, such as a child session that starts while its parent is held, is part of that transaction.
Access is controlled by the database; there are no foreign sessions here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Transaction, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from flowrail.command import Command, Hint
from flowrail.errors import StorageError, UsageError
from flowrail.storage import schema
from flowrail.storage.lock import LockTimeoutError

DIALECTS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite"}
WAIT_SECONDS = 10.0
"""How long a change waits for a lock by default."""
_SECRETS = ("password", "sslpassword")
"""Parameters of an address that are never shown."""
_CONNECTION = {
    "client_encoding": "utf8",  # even if the database has no encoding
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
"""How clients connect to PostgreSQL, unless the address sets these values. A lost connection is noticed in a minute."""
_SETTINGS = (
    f"SET lock_timeout = {round(WAIT_SECONDS * 1000)};"
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
"""The server notices within a minute that a client is gone, and releases its locks."""
_CREATION = 6_516_977
"""The lock of PostgreSQL under which tables are created, by one process at a time."""
_BUSY = ("55P03", "database is locked")
"""How PostgreSQL and SQLite report that a lock was not free in time."""


_REACHABLE = "check that the database can be reached, then run the same command again: a report counts once"
_HINTS = {
    "readonly database": "check the permissions of the file and its folder",
    "unable to open database file": "check the permissions of the file and its folder",
    "disk is full": "free some space on the disk",
    "no space left": "free some space on the disk of the server",
    "permission denied": "ask the owner of the database for the permission to read and write these tables",
}
"""What to do about the problems of databases."""


class Database:
    """One database, and the transaction of the current thread in it.

    *shown* is its address as messages and commands name it, without a password. *tables* are those that it must have.
    """

    def __init__(self, address: str, *, folder: str = "", tables: MetaData = schema.METADATA) -> None:
        self._tables = tables
        self._url = parse_address(address, folder)
        self.shown = _without_password(self._url)
        self._engine: Engine | None = None
        self._current = threading.local()

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password."""
        return self._url.password is not None or any(name in self._url.query for name in _SECRETS)

    @property
    def complete_address(self) -> str:
        """The address with its password, for a library that opens the database itself."""
        if self.is_sqlite:
            return self._url.render_as_string(hide_password=False)
        url = self._url.set(drivername="postgresql")  # text is UTF-8 even if the database has no encoding
        return url.update_query_dict({"client_encoding": "utf8"}).render_as_string(hide_password=False)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a SQLite file."""
        return self._url.get_backend_name() == "sqlite"

    def init(self) -> None:
        """Create the tables that do not exist yet. A new SQLite file is private to the user."""
        with self.errors():
            if self.is_sqlite:
                self._create_file()
            with self._open().begin() as connection:
                self._set_wait(connection, WAIT_SECONDS)
                if not self.is_sqlite:  # on SQLite, the transaction locks the database
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION})")
                self._tables.create_all(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection: that of the current change of this thread, if there is one."""
        current: Connection | None = getattr(self._current, "connection", None)
        with self.errors():
            if current is not None:
                yield current
                return
            with self._checked().connect() as connection:
                yield connection

    @contextmanager
    def changing(self, wait: float) -> Iterator[Connection]:
        """Hold a transaction that waits at most *wait* seconds for locks; inside another one, be part of it.

        Added records stay even if the caller then raises an error: a failed handoff is recorded and then refused.
        """
        current: Connection | None = getattr(self._current, "connection", None)
        with self.errors():
            if current is not None:
                with _committed(current.begin_nested()):
                    yield current
                return
            with self._checked().connect() as connection, _committed(connection.begin()):
                self._set_wait(connection, wait)
                self._current.connection = connection
                try:
                    yield connection
                finally:
                    self._current.connection = None

    def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def forget_connections(self) -> None:
        """Open new connections from now on, and leave the open ones untouched."""
        if self._engine is not None:
            self._engine.dispose(close=False)
            self._engine = None

    def _open(self) -> Engine:
        self._engine = self._engine or open_engine(self._url)
        return self._engine

    def _checked(self) -> Engine:
        """Return the engine after a look for the tables, once per process. Connecting would create a SQLite file."""
        if self._engine is None:
            is_missing = self.is_sqlite and not os.path.exists(str(self._url.database))
            if is_missing or not inspect(self._open()).has_table(self._tables.sorted_tables[0].name):
                self.close()
                raise StorageError(
                    f"{self.shown} {'does not exist' if is_missing else 'has no tables of flowrail'}",
                    code="SCHEMA_DIFFERS",
                    hint=Hint("create them, if it is a new one: ", Command("store init", self.shown)),
                    store=self.shown,
                )
        return self._open()

    def _set_wait(self, connection: Connection, wait: float) -> None:
        """Let a transaction wait at most *wait* seconds for locks. On SQLite, it takes the only lock immediately."""
        milliseconds = max(1, round(wait * 1000))
        if self.is_sqlite:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={milliseconds}")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif wait != WAIT_SECONDS:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")

    def _create_file(self) -> None:
        """Create an empty SQLite file that only the user can read, unless the file exists."""
        try:
            os.close(os.open(str(self._url.database), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise StorageError(
                f"{self.shown} could not be created ({error.strerror})",
                code="DATABASE_FAILED",
                hint="name a file in an existing folder of yours",
                store=self.shown,
            ) from None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise `StorageError` with a hint for an error of the database."""
        try:
            yield
        except SQLAlchemyError as error:
            if _is_busy(error):
                raise LockTimeoutError(
                    f"{self.shown} is locked by another process",
                    hint="run the command again",
                    store=self.shown,
                ) from None
            raise StorageError(
                f"{self.shown} failed: {problem_of(error)}",
                code="DATABASE_FAILED",
                hint=next((hint for text, hint in _HINTS.items() if text in str(error)), _REACHABLE),
                store=self.shown,
            ) from None


OPENED: dict[str, Database] = {}
"""The databases of this process, by address."""


def open_database(address: str, *, folder: str = "") -> Database:
    """Return the database at *address*, one for each address, so that a server keeps its connections."""
    key = parse_address(address, folder).render_as_string(hide_password=False)
    if key not in OPENED:
        OPENED[key] = Database(address, folder=folder)
    return OPENED[key]


def _forget_connections() -> None:
    """In a forked child: leave the connections to the parent, and open new ones."""
    for database in OPENED.values():
        database.forget_connections()


os.register_at_fork(after_in_child=_forget_connections)


def parse_address(address: str, folder: str) -> URL:
    """Return the address of a database; `UsageError` if it is not one of PostgreSQL or SQLite.

    A relative path of a SQLite file is below *folder*.
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise UsageError(
            "the address of the database cannot be read",
            hint="write postgresql://user@host/database or sqlite:///file.db",
        ) from None
    if url.drivername not in DIALECTS:
        raise UsageError(
            f"databases of kind `{url.drivername}` are not supported",
            hint="use postgresql://… or sqlite:///…",
        )
    url = url.set(drivername=DIALECTS[url.drivername])
    if url.get_backend_name() == "sqlite":
        return url.set(database=os.path.abspath(os.path.join(folder, url.database or "flow.db")))
    return url


@contextmanager
def _committed(transaction: Transaction) -> Iterator[None]:
    """Commit at the end, even after an error that does not come from the database."""
    try:
        yield
    except SQLAlchemyError:
        transaction.rollback()
        raise
    except BaseException:
        transaction.commit()
        raise
    transaction.commit()


def _without_password(url: URL) -> str:
    query = {name: value for name, value in url.query.items() if name not in _SECRETS}
    plain = URL.create(url.get_backend_name(), url.username, None, url.host, url.port, url.database, query)
    return plain.render_as_string()


def open_engine(url: URL) -> Engine:
    """Return the engine of a database.

    On SQLite, transactions begin where the caller begins them, not in the driver, and every commit is durable. The server
    of PostgreSQL notices a client that is gone.
    """
    is_sqlite = url.get_backend_name() == "sqlite"
    engine = (
        create_engine(url, paramstyle="named")
        if is_sqlite
        else create_engine(url, connect_args={**_CONNECTION, **url.query}, pool_pre_ping=True)
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        if not is_sqlite:
            connection.autocommit = True
            connection.execute(_SETTINGS)
            connection.autocommit = False
            return
        connection.isolation_level = None
        for setting in (f"busy_timeout={round(WAIT_SECONDS * 1000)}", "journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {setting}")

    return engine


def _is_busy(error: SQLAlchemyError) -> bool:
    return isinstance(error, DBAPIError) and (
        getattr(error.orig, "sqlstate", None) == _BUSY[0] or _BUSY[1] in str(error.orig)
    )


def problem_of(error: SQLAlchemyError) -> str:
    """Return the problem of an error in one line."""
    text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    line = (text.strip().splitlines() or [type(error).__name__])[0]
    return line.removeprefix("connection failed: ")
