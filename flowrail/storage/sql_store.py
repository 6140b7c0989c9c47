"""Records in a database: PostgreSQL or SQLite, through SQLAlchemy. Needs the extra `flowrail[sql]`.

Each session and each handoff is a row with the number and hash of its newest record; its records and long texts are
rows of two more tables. A record is stored as the same line that a journal has, so the chain can be verified, and
copied between stores, as it was written.

A change holds the lock of its row for as long as it lasts, and is one transaction: SQLite locks the whole database.
A change inside another one, such as a child session that starts while its parent is held, is part of that transaction.
Access is controlled by the database; there are no foreign sessions here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Transaction,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from flowrail.errors import ConflictError, DocumentError, StorageError, UsageError
from flowrail.storage import journal
from flowrail.storage.file_store import ALPHABET, Kind, SideFiles, Stamp
from flowrail.storage.files import LockTimeoutError, MissingFileError
from flowrail.storage.journal import Chained, DamagedError, Encoding, JournalFullError
from flowrail.text import limits

SCHEMA_VERSION = 1
DIALECTS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite"}
_BATCH = 500
_BUSY = ("55P03", "database is locked")
"""How PostgreSQL and SQLite say that a lock was not free in time."""

T = TypeVar("T", bound=Chained)


class DatabaseError(StorageError):
    """The database did not answer, or refused."""

    code = "DATABASE_FAILED"


class SchemaError(StorageError):
    """The database has no tables of ours, or those of a different version of flowrail."""

    code = "SCHEMA_DIFFERS"


class ChangedMeanwhileError(ConflictError):
    """Another process added a record although this one held the session."""

    code = "CHANGED_MEANWHILE"


class Tables(NamedTuple):
    """The tables of one kind: its values, their records, and their long texts."""

    values: Table
    records: Table
    texts: Table


def _tables(metadata: MetaData, noun: str) -> Tables:
    prefix = "" if noun == "session" else f"{noun}_"
    return Tables(
        Table(
            f"{noun}s",
            metadata,
            Column("id", String(200), primary_key=True),
            Column("seq", Integer, nullable=False),
            Column("hash", String(64), nullable=False),
            Column("bytes", Integer, nullable=False),
        ),
        Table(
            f"{prefix}records",
            metadata,
            Column(noun, String(200), primary_key=True),
            Column("seq", Integer, primary_key=True, autoincrement=False),
            Column("line", LargeBinary, nullable=False),
        ),
        Table(
            f"{prefix}texts",
            metadata,
            Column(noun, String(200), primary_key=True),
            Column("name", String(200), primary_key=True),
            Column("data", LargeBinary, nullable=False),
        ),
    )


METADATA = MetaData()
TABLES: Mapping[str, Tables] = {noun: _tables(METADATA, noun) for noun in ("session", "handoff")}
VERSION = Table(
    "flowrail_schema", METADATA, Column("version", Integer, primary_key=True, autoincrement=False)
)


class Database:
    """One database, and the transaction of the current thread in it.

    *shown* is its address as messages and commands name it, without a password.
    """

    def __init__(self, address: str, *, folder: str = "") -> None:
        self._url = parse_address(address, folder)
        self.shown = _without_password(self._url)
        self._engine: Engine | None = None
        self._current = threading.local()

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password."""
        return self._url.password is not None

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a SQLite file."""
        return self._url.get_backend_name() == "sqlite"

    def init(self) -> None:
        """Create the tables, if they do not exist yet."""
        with self._errors(), self._open().begin() as connection:
            METADATA.create_all(connection)
            if connection.execute(select(VERSION.c.version)).scalar() is None:
                connection.execute(insert(VERSION).values(version=SCHEMA_VERSION))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection: that of the current change of this thread, if there is one."""
        current: Connection | None = getattr(self._current, "connection", None)
        with self._errors():
            if current is not None:
                yield current
                return
            with self._checked().connect() as connection:
                yield connection

    @contextmanager
    def changing(self, wait: float) -> Iterator[Connection]:
        """Hold a transaction that waits at most *wait* seconds for locks; inside another one, be part of it.

        What was added counts even if the caller then refuses: a failed handoff is recorded, and refused after that.
        """
        current: Connection | None = getattr(self._current, "connection", None)
        with self._errors():
            if current is not None:
                with _committed(current.begin_nested()):
                    yield current
                return
            options = {"flowrail_wait": wait}
            with (
                self._checked().connect().execution_options(**options) as connection,
                _committed(connection.begin()),
            ):
                self._current.connection = connection
                try:
                    yield connection
                finally:
                    self._current.connection = None

    def records(self, kind: Kind[T]) -> SqlStore[T]:
        """Return all sessions, or all handoffs."""
        return SqlStore(self, kind)

    def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def forget_connections(self) -> None:
        """Open others from now on, and leave those that are open as they are."""
        if self._engine is not None:
            self._engine.dispose(close=False)
            self._engine = None

    def _open(self) -> Engine:
        if self._engine is None:
            if self.is_sqlite:
                self._engine = create_engine(self._url)
                _prepare_sqlite(self._engine)
            else:  # a server that restarted is noticed; text is UTF-8 even if the database has no encoding
                arguments = {"client_encoding": "utf8"}
                self._engine = create_engine(self._url, pool_pre_ping=True, connect_args=arguments)
        return self._engine

    def _checked(self) -> Engine:
        """Return the engine after the version of the tables was checked, once per process."""
        if self._engine is not None:
            return self._engine
        if self.is_sqlite and not os.path.exists(str(self._url.database)):
            raise self._schema_error(None)  # connecting would create an empty file
        engine = self._open()
        try:
            with engine.connect() as connection:
                has_tables = inspect(connection).has_table(VERSION.name)
                version = connection.execute(select(VERSION.c.version)).scalar() if has_tables else None
        except SQLAlchemyError:
            self.close()
            raise
        if version == SCHEMA_VERSION:
            return engine
        self.close()
        raise self._schema_error(version)

    def _schema_error(self, version: int | None) -> SchemaError:
        """Return the refusal of tables of this version, or of a database without tables."""
        if version is None:
            message, hint = "has no tables of flowrail", f"create them: flow store init {self.shown}"
        elif version > SCHEMA_VERSION:
            message, hint = f"has tables of version {version}, newer than this flowrail", "upgrade flowrail"
        else:
            message = f"has tables of version {version}; this flowrail needs {SCHEMA_VERSION}"
            hint = f"upgrade them: flow store upgrade {self.shown}"
        return SchemaError(f"{self.shown} {message}", hint=hint, store=self.shown)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if _is_busy(error):
                raise LockTimeoutError(
                    f"{self.shown} is locked by another process",
                    hint="run the command again",
                    store=self.shown,
                ) from None
            raise DatabaseError(
                f"{self.shown} failed: {_first_line(error)}",
                hint="if you reported a step, run the same command again: it is recorded once",
                store=self.shown,
            ) from None
        except SQLAlchemyError as error:
            raise DatabaseError(
                f"{self.shown} failed: {_first_line(error)}", hint="check the address", store=self.shown
            ) from None


_databases: dict[str, Database] = {}


def open_database(address: str, *, folder: str = "") -> Database:
    """Return the database at *address*, one for each address, so that a server keeps its connections."""
    key = parse_address(address, folder).render_as_string(hide_password=False)
    if key not in _databases:
        _databases[key] = Database(address, folder=folder)
    return _databases[key]


def _forget_connections() -> None:
    """In a forked child: leave the connections to the parent, and open others."""
    for database in _databases.values():
        database.forget_connections()


os.register_at_fork(after_in_child=_forget_connections)


def close_all() -> None:
    """Close the connections of all databases of this process."""
    while _databases:
        _databases.popitem()[1].close()


def parse_address(address: str, folder: str = "") -> URL:
    """Return the address of a database; `UsageError` if it is not one of PostgreSQL or SQLite.

    A relative path of a SQLite file is below *folder*.
    """
    try:
        url = make_url(address)
    except ArgumentError:
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
    plain = URL.create(
        url.get_backend_name(), url.username, None, url.host, url.port, url.database, url.query
    )
    return plain.render_as_string()


class SqlFiles:
    """The long texts of one session or handoff."""

    def __init__(self, database: Database, tables: Tables, key: str) -> None:
        self._database = database
        self._texts = tables.texts
        self._mine = tables.texts.c[0] == key
        self._key = key

    def read(self, name: str, limit: int, what: str) -> bytes:
        """Return a text of at most *limit* bytes, or raise `DocumentError`."""
        query = select(self._texts.c.data).where(self._mine, self._texts.c.name == name)
        with self._database.reading() as connection:
            data: bytes | None = connection.execute(query).scalar()
        if data is None:
            raise MissingFileError(
                f"{what} does not exist", hint="restore the database from a backup", place=name
            )
        if len(data) > limit:
            raise DocumentError(f"{what} has more than {limit} bytes", hint="shorten it", place=name)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Replace a text, durably."""
        with self._database.changing(wait=10.0) as connection:
            connection.execute(delete(self._texts).where(self._mine, self._texts.c.name == name))
            connection.execute(
                insert(self._texts).values({self._texts.c[0]: self._key, "name": name, "data": data})
            )

    def size(self, name: str) -> int:
        """Return the size of a text, or -1 if it does not exist."""
        query = select(self._texts.c.data).where(self._mine, self._texts.c.name == name)
        with self._database.reading() as connection:
            data: bytes | None = connection.execute(query).scalar()
        return -1 if data is None else len(data)

    def names(self) -> list[str]:
        """Return the names of the texts."""
        with self._database.reading() as connection:
            return list(connection.execute(select(self._texts.c.name).where(self._mine)).scalars())


class HeldRow(Generic[T]):
    """A session or handoff whose row is locked."""

    torn = 0
    """A database leaves no incomplete records."""

    def __init__(
        self,
        connection: Connection,
        tables: Tables,
        key: str,
        newest: T,
        size: int,
        encoding: Encoding[T],
        files: SideFiles,
    ) -> None:
        self.newest = newest
        self._connection = connection
        self._tables = tables
        self._key = key
        self._size = size
        self._encoding = encoding
        self._files = files
        self._last_length = 0

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash. It is stored when the change ends."""
        line = self._encoding.prepare(record)
        if self._size + len(line.text) > limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"`{self._key}` has {self._size} bytes and no room for another record",
                hint="start again",
                bytes=self._size,
            )
        for name, data in line.side_files.items():
            if self._files.size(name) != len(data):
                self._files.write(name, data)
        values, records = self._tables.values, self._tables.records
        moved = self._connection.execute(
            update(values)
            .where(values.c.id == self._key, values.c.seq == record.seq - 1, values.c.hash == record.prev)
            .values(seq=record.seq, hash=line.hash, bytes=self._size + len(line.text))
        )
        if moved.rowcount != 1:
            raise ChangedMeanwhileError(
                f"`{self._key}` was changed by another process", hint="run the command again", id=self._key
            )
        self._connection.execute(
            insert(records).values({records.c[0]: self._key, "seq": record.seq, "line": line.text})
        )
        self._size += len(line.text)
        self._last_length = len(line.text)
        return line.hash

    def has_room(self, reserve: int) -> bool:
        """Return whether further records fit and leave *reserve* bytes free."""
        return self._size + 2 * self._last_length <= limits.JOURNAL_BYTES - reserve


class SqlStore(Generic[T]):
    """All sessions, or all handoffs, in a database."""

    def __init__(self, database: Database, kind: Kind[T]) -> None:
        self._database = database
        self._kind = kind
        self._tables = TABLES[kind.noun]

    def ids(self) -> list[str]:
        """Return the ids of everything in the store, in order."""
        return sorted(self.stamps())

    def stamps(self) -> dict[str, Stamp]:
        """Return a value for each id that changes with each record."""
        values = self._tables.values
        with self._database.reading() as connection:
            rows = connection.execute(select(values.c.id, values.c.seq, values.c.bytes)).all()
        return {key: (seq, size) for key, seq, size in rows}

    def new_id(self, stem: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an unused id that begins with *stem*."""
        while True:
            key = f"{stem}-{''.join(ALPHABET[byte % len(ALPHABET)] for byte in random(6))}"
            if self._row(key) is None:
                return key

    def create(self, key: str, record: T, side_files: dict[str, bytes] | None = None) -> str:
        """Store a first record and return its hash; the id must be new."""
        encoding = self._encoding(key)
        line = encoding.prepare(record)
        values, records = self._tables.values, self._tables.records
        try:
            with self._database.changing(wait=10.0) as connection:
                connection.execute(insert(values).values(id=key, seq=0, hash=line.hash, bytes=len(line.text)))
                connection.execute(insert(records).values({records.c[0]: key, "seq": 0, "line": line.text}))
                for name, data in {**(side_files or {}), **line.side_files}.items():
                    self.side_files(key).write(name, data)
        except IntegrityError:
            raise StorageError(f"{self._kind.noun} `{key}` exists already", hint="start again") from None
        return line.hash

    def newest(self, key: str, *, foreign: bool = False) -> tuple[T, int]:
        """Return the newest record. Nothing follows it: a database leaves no incomplete records."""
        del foreign
        with self._database.reading() as connection:
            return self._newest(connection, key)[0], 0

    def first(self, key: str, *, foreign: bool = False) -> T:
        """Return the first record."""
        del foreign
        with self._database.reading() as connection:
            return self._record(connection, key, 0)

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldRow[T]]:
        """Hold the lock and yield the session or handoff. What was appended is stored when the block ends."""
        with self._database.changing(wait) as connection:
            self._lock(connection, key, wait)
            newest, size = self._newest(connection, key)
            yield HeldRow(
                connection, self._tables, key, newest, size, self._encoding(key), self.side_files(key)
            )

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against its row."""
        del foreign
        record: T | None = None
        for record in journal.chained(self._encoding(key), self._lines(key), self._place(key)):
            self._check_id(record, key)
            yield record
        row = self._row(key)
        if row is None:
            raise self._kind.unknown(key, self.ids)
        if record is None or record.seq < row[0]:
            raise DamagedError(self._place(key), row[0] + 1, "the newest record is missing")

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first."""
        yield from reversed(list(self.records(key)))

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""
        return self._lines(key)

    def restore(self, key: str, lines: Sequence[bytes], side_files: Mapping[str, bytes]) -> None:
        """Store records as they were written elsewhere; the id must be new."""
        values, records = self._tables.values, self._tables.records
        if self._row(key) is not None:
            raise StorageError(f"{self._kind.noun} `{key}` exists already", hint="nothing was changed")
        with self._database.changing(wait=10.0) as connection:
            for name, data in side_files.items():
                self.side_files(key).write(name, data)
            *_, newest = journal.chained(self._encoding(key), lines, key)
            self._check_id(newest, key)
            size = sum(map(len, lines))
            connection.execute(insert(values).values(id=key, seq=newest.seq, hash=newest.hash, bytes=size))
            rows = [{records.c[0].name: key, "seq": seq, "line": line} for seq, line in enumerate(lines)]
            connection.execute(insert(records), rows)

    def is_foreign(self, key: str) -> bool:
        """Return `False`: the permissions of the database decide who may read and write."""
        del key
        return False

    def adopt(self, key: str) -> None:
        """Do nothing: everything in a database may be continued."""

    def delete(self, key: str) -> None:
        """Delete it with all its records and texts."""
        values, records, texts = self._tables
        with self._database.changing(wait=10.0) as connection:
            connection.execute(delete(texts).where(texts.c[0] == key))
            connection.execute(delete(records).where(records.c[0] == key))
            connection.execute(delete(values).where(values.c.id == key))

    def delete_leftovers(self) -> None:
        """Do nothing: deletions are not interrupted half-way."""

    def side_files(self, key: str) -> SqlFiles:
        """Return its long texts."""
        return SqlFiles(self._database, self._tables, key)

    def _encoding(self, key: str) -> Encoding[T]:
        return self._kind.encoding(self.side_files(key))

    def _row(self, key: str) -> tuple[int, int] | None:
        values = self._tables.values
        with self._database.reading() as connection:
            row = connection.execute(select(values.c.seq, values.c.bytes).where(values.c.id == key)).first()
        return None if row is None else (row[0], row[1])

    def _lock(self, connection: Connection, key: str, wait: float) -> None:
        if self._database.is_sqlite:
            return  # the transaction has the lock of the whole database
        values = self._tables.values
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(wait * 1000))}")
        connection.execute(select(values.c.id).where(values.c.id == key).with_for_update())

    def _newest(self, connection: Connection, key: str) -> tuple[T, int]:
        values, records = self._tables.values, self._tables.records
        query = (
            select(records.c.line, values.c.seq, values.c.bytes)
            .join(values, (records.c[0] == values.c.id) & (records.c.seq == values.c.seq))
            .where(values.c.id == key)
        )
        row = connection.execute(query).first()
        if row is None:
            known = self._row(key)
            if known is None:
                raise self._kind.unknown(key, self.ids)
            raise DamagedError(self._place(key), known[0] + 1, "the newest record is missing")
        record = journal.decoded(self._encoding(key), row[0], self._place(key), row[1] + 1)
        self._check_id(record, key)
        return record, row[2]

    def _record(self, connection: Connection, key: str, seq: int) -> T:
        records = self._tables.records
        query = select(records.c.line).where(records.c[0] == key, records.c.seq == seq)
        line: bytes | None = connection.execute(query).scalar()
        if line is None:
            raise self._kind.unknown(key, self.ids)
        return journal.decoded(self._encoding(key), line, self._place(key), seq + 1)

    def _lines(self, key: str) -> Iterator[bytes]:
        """Yield the lines of all records, some at a time."""
        records = self._tables.records
        after = -1
        while True:
            query = (
                select(records.c.seq, records.c.line)
                .where(records.c[0] == key, records.c.seq > after)
                .order_by(records.c.seq)
                .limit(_BATCH)
            )
            with self._database.reading() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield from (line for _, line in rows)
            after = rows[-1][0]

    def _place(self, key: str) -> str:
        return f"{self._database.shown}#{key}"

    def _check_id(self, record: T, key: str) -> None:
        if self._kind.id_of(record) != key:
            what = f"the record belongs to `{self._kind.id_of(record)}`"
            raise DamagedError(self._place(key), record.seq + 1, what)


def _prepare_sqlite(engine: Engine) -> None:
    """Let changes take the database's only write lock at once, and make every commit durable."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        wait = connection.get_execution_options().get("flowrail_wait")
        connection.exec_driver_sql(f"PRAGMA busy_timeout={round((10.0 if wait is None else wait) * 1000)}")
        connection.exec_driver_sql("BEGIN" if wait is None else "BEGIN IMMEDIATE")


def _is_busy(error: DBAPIError) -> bool:
    return isinstance(error, OperationalError) and (
        getattr(error.orig, "sqlstate", None) == _BUSY[0] or _BUSY[1] in str(error.orig)
    )


def _first_line(error: SQLAlchemyError) -> str:
    text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return (text.strip().splitlines() or [type(error).__name__])[0]
