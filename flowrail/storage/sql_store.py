"""Records in a database. Each session and each handoff is a row with the number and hash of its newest record.

A record is stored as the same line that a journal has, so the chain can be verified, and copied between stores, as it
was written. A change locks the row, and an append succeeds only if the row still names the record before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    Row,
    Select,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)

from flowrail.errors import ConflictError, DocumentError
from flowrail.storage import journal
from flowrail.storage.database import WAIT_SECONDS, Database, open_database
from flowrail.storage.file_store import (
    NO_LABELS,
    HeldEntry,
    Kind,
    RecordStore,
    Stamp,
    WrittenRecords,
)
from flowrail.storage.files import MissingFileError
from flowrail.storage.journal import Chained, DamagedError, Encoding, JournalLine
from flowrail.storage.schema import LABEL_LENGTH, LABELS, TABLES, VERSION, Tables

_BATCH = 500

T = TypeVar("T", bound=Chained)


class ChangedMeanwhileError(ConflictError):
    """Another process added a record although this one held the session."""

    code = "CHANGED_MEANWHILE"


class SqlFiles:
    """The long texts of one session or handoff."""

    def __init__(self, database: Database, tables: Tables, key: str) -> None:
        self._database = database
        self._texts = tables.texts
        self._key = key

    @property
    def _has_key(self) -> ColumnElement[bool]:
        return self._texts.c[0] == self._key

    def read(self, name: str, limit: int, what: str) -> bytes:
        """Return a text of at most *limit* bytes, or raise `DocumentError`."""
        query = select(self._texts.c.data).where(self._has_key, self._texts.c.name == name)
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
        with self._database.changing(wait=WAIT_SECONDS) as connection:
            connection.execute(delete(self._texts).where(self._has_key, self._texts.c.name == name))
            connection.execute(
                insert(self._texts).values({self._texts.c[0]: self._key, "name": name, "data": data})
            )

    def size(self, name: str) -> int:
        """Return the size of a text, or -1 if it does not exist."""
        query = select(func.length(self._texts.c.data)).where(self._has_key, self._texts.c.name == name)
        with self._database.reading() as connection:
            size: int | None = connection.execute(query).scalar()
        return -1 if size is None else size

    def names(self) -> list[str]:
        """Return the names of the texts."""
        with self._database.reading() as connection:
            return list(connection.execute(select(self._texts.c.name).where(self._has_key)).scalars())


class HeldRow(HeldEntry[T]):
    """A session or handoff whose row is locked."""

    def __init__(
        self, store: SqlStore[T], connection: Connection, key: str, newest: T, length: int, size: int
    ) -> None:
        files = store.side_files(key)
        super().__init__(f"`{key}`", newest, store.encoding(key), files, size=size, last_length=length)
        self._store = store
        self._connection = connection
        self._key = key

    def _add(self, record: T, line: JournalLine) -> None:
        parameters = {
            "key": self._key,
            "before": record.prev,
            "record": record.seq,
            "digest": line.hash,
            "size": self._size + len(line.text),
            "text": line.text,
            **{f"label_{label}": value for label, value in self._store.labels_of(record).items()},
        }
        for statement in self._store.append_statements:
            if self._store.database.execute(self._connection, statement, parameters).rowcount != 1:
                raise ChangedMeanwhileError(
                    f"`{self._key}` was changed by another process",
                    hint="run the command again",
                    id=self._key,
                )


class SqlStore(RecordStore[T]):
    """All sessions, or all handoffs, in a database."""

    def __init__(self, database: Database, kind: Kind[T]) -> None:
        super().__init__(kind)
        self.database = database
        self.tables = TABLES[kind.noun]
        self._labels = [label for label in LABELS if label in self.tables.values.c]

    @cached_property
    def append_statements(self) -> Sequence[str]:
        """The statements that add a record if the row still names the record before it. PostgreSQL needs only one."""
        values, records, _ = self.tables
        key: BindParameter[str] = bindparam("key")
        record: BindParameter[int] = bindparam("record")
        labels: dict[str, BindParameter[str]] = {label: bindparam(f"label_{label}") for label in self._labels}
        move = (
            update(values)
            .where(values.c.id == key, values.c.hash == bindparam("before"))
            .values(seq=record, hash=bindparam("digest"), bytes=bindparam("size"), **labels)
        )
        if self.database.is_sqlite:
            add = insert(records).values({records.c[0]: key, "seq": record, "line": bindparam("text")})
            return self.database.compiled(move), self.database.compiled(add)
        moved = move.returning(values.c.id).cte("moved")
        line = bindparam("text", type_=LargeBinary)
        added = select(moved.c.id, cast(record, Integer), line)
        return (self.database.compiled(insert(records).from_select(records.c.keys(), added)),)

    @cached_property
    def _newest_query(self) -> Select[bytes | None, int, int, int]:
        """The newest record of an id. With a join, PostgreSQL may read all its records until it has statistics."""
        values, records, _ = self.tables
        newest = (records.c[0] == values.c.id) & (records.c.seq == values.c.seq)
        line = select(records.c.line).where(newest).scalar_subquery()
        version = select(VERSION.c.version).scalar_subquery()
        return select(line, values.c.seq, values.c.bytes, version).where(values.c.id == bindparam("key"))

    @cached_property
    def _newest_text(self) -> str:
        return self.database.compiled(self._newest_query)

    @cached_property
    def _locked_text(self) -> str:
        """The same query, which locks the row; a transaction on SQLite has the lock of the whole database."""
        locked = self._newest_query.with_for_update(of=self.tables.values)
        return self.database.compiled(locked)  # for SQLite without `FOR UPDATE`

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return the number of the newest record and the size of all."""
        values = self.tables.values
        query = select(values.c.id, values.c.seq, values.c.bytes)
        for label, allowed in labels.items():
            query = query.where(values.c[label].in_([value[:LABEL_LENGTH] for value in allowed]))
        if since:
            query = query.where(values.c.moved_at >= since)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {key: (seq, size) for key, seq, size in rows}

    def create(self, key: str, record: T, side_files: Mapping[str, bytes]) -> str:
        """Store a first record and return its hash; the id must be new."""
        line = self.encoding(key).prepare(record)
        with self.database.changing(wait=WAIT_SECONDS) as connection:
            self._insert(connection, key, record, line.hash, [line.text])
            self._insert_texts(key, {**side_files, **line.side_files})
        return line.hash

    def restore(self, key: str, written: WrittenRecords) -> None:
        """Store records that were written elsewhere; the id must be new."""
        if self._exists(key):
            raise self._exists_already(key)
        with self.database.changing(wait=WAIT_SECONDS) as connection, connection.begin_nested():
            self._insert_texts(key, written.side_files)
            newest = self._restored(key, written)
            self._insert(connection, key, newest, newest.hash, written.lines)

    def newest(self, key: str) -> T:
        """Return the newest record."""
        with self.database.reading() as connection:
            return self._newest(connection, key)[0]

    def newest_of_all(self) -> Iterator[tuple[str, Callable[[], T]]]:
        """Yield each id with a function that returns its newest record. One query finds many of them."""
        values, records, _ = self.tables
        newest = (records.c[0] == values.c.id) & (records.c.seq == values.c.seq)
        query = select(values.c.id, values.c.seq, records.c.line).outerjoin(records, newest)
        for key, seq, line in self._rows(query, values.c.id, ""):
            yield key, partial(self._decoded, key, seq, line)

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldRow[T]]:
        """Hold the lock and yield the session or handoff. Appended records are stored when the block ends."""
        with self.database.changing(wait) as connection:
            yield HeldRow(self, connection, key, *self._newest(connection, key, lock=True))

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against its row."""
        del foreign
        with (
            self.database.reading() as connection
        ):  # before the records, which can only have become more by then
            newest, _, _ = self._newest(connection, key)
        seq = -1
        for record in journal.chained(self.encoding(key), self.lines(key), self._address_of(key)):
            self._check_id(self._address_of(key), record, key)
            yield record
            seq = record.seq
        if seq < newest.seq:
            raise DamagedError(self._address_of(key), newest.seq + 1, "the newest record is missing")

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        newest = self.newest(key)
        older = self._lines_before(key, newest.seq)
        yield from journal.chained_backwards(self.encoding(key), newest, older, self._address_of(key))

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""
        records = self.tables.records
        query = select(records.c.seq, records.c.line).where(records.c[0] == key)
        return (line for _, line in self._rows(query, records.c.seq, -1))

    def _rows(
        self, query: Select[*tuple[Any, ...]], column: ColumnElement[Any], after: object
    ) -> Iterator[Row[*tuple[Any, ...]]]:
        """Yield the rows of *query* with values greater than *after* in its first *column*, which is unique, in its order."""
        while True:
            batch = query.where(column > after).order_by(column).limit(_BATCH)
            with self.database.reading() as connection:
                rows = connection.execute(batch).all()
            yield from rows
            if len(rows) < _BATCH:
                return
            after = rows[-1][0]

    def _insert(
        self, connection: Connection, key: str, newest: T, digest: str, lines: Sequence[bytes]
    ) -> None:
        values, records, _ = self.tables
        size, labels = sum(map(len, lines)), self.labels_of(newest)
        connection.execute(insert(values).values(id=key, seq=newest.seq, hash=digest, bytes=size, **labels))
        rows = [{records.c[0].name: key, "seq": seq, "line": line} for seq, line in enumerate(lines)]
        connection.execute(insert(records), rows)

    def _insert_texts(self, key: str, texts: Mapping[str, bytes]) -> None:
        for name, data in texts.items():
            self.side_files(key).write(name, data)

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its records and texts."""
        values, records, texts = self.tables
        with self.database.changing(wait=WAIT_SECONDS) as connection:
            connection.execute(delete(texts).where(texts.c[0] == key))
            connection.execute(delete(records).where(records.c[0] == key))
            connection.execute(delete(values).where(values.c.id == key))

    def side_files(self, key: str) -> SqlFiles:
        """Return the long texts of a session or handoff."""
        return SqlFiles(self.database, self.tables, key)

    def encoding(self, key: str) -> Encoding[T]:
        """Return how records of this id are written and read."""
        return self._kind.encoding(self.side_files(key))

    def labels_of(self, record: T) -> dict[str, str]:
        """Return the values of the labels that the table has."""
        values = self._kind.labels(record)
        return {label: values.get(label, "")[:LABEL_LENGTH] for label in self._labels}

    def _exists(self, key: str) -> bool:
        values = self.tables.values
        with self.database.reading() as connection:
            return connection.execute(select(values.c.seq).where(values.c.id == key)).first() is not None

    def _newest(self, connection: Connection, key: str, *, lock: bool = False) -> tuple[T, int, int]:
        """Return the newest record, how long it is, and how long all are together; with *lock*, lock the row."""
        query = self._locked_text if lock else self._newest_text
        rows = self.database.execute(connection, query, {"key": key}).fetchall()
        if lock and rows and rows[0][0] is None:  # PostgreSQL does not see one added while it waited
            rows = self.database.execute(connection, query, {"key": key}).fetchall()
        if not rows:
            raise self._kind.unknown(key, self.ids)
        line, seq, size, version = rows[0]
        self.database.check_version(version)
        return self._decoded(key, seq, line), len(line), size

    def _decoded(self, key: str, seq: int, line: bytes | None) -> T:
        """Return the newest record of an id from its line."""
        if line is None:
            raise DamagedError(self._address_of(key), seq + 1, "the newest record is missing")
        record = journal.decoded(self.encoding(key), line, self._address_of(key), seq + 1)
        self._check_id(self._address_of(key), record, key)
        return record

    def _lines_before(self, key: str, seq: int) -> Iterator[bytes]:
        """Yield the lines of the records before *seq*, newest first. The first query asks for few."""
        records, batch = self.tables.records, 10
        query = (
            select(records.c.seq, records.c.line).where(records.c[0] == key).order_by(records.c.seq.desc())
        )
        while seq > 0:
            with self.database.reading() as connection:
                rows = connection.execute(query.where(records.c.seq < seq).limit(batch)).all()
            if not rows:
                raise DamagedError(self._address_of(key), seq, "the record is missing")
            yield from (line for _, line in rows)
            seq, batch = rows[-1][0], _BATCH

    def _address_of(self, key: str) -> str:
        return f"{self.database.shown}#{key}"


class SqlBackend:
    """The records of the store in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def at(cls, address: str, *, folder: str) -> SqlBackend:
        """Return the store in the database at *address*; the path of an SQLite file is relative to *folder*."""
        return cls(open_database(address, folder=folder))

    def records(self, kind: Kind[T]) -> SqlStore[T]:
        """Return all sessions, or all handoffs."""
        return SqlStore(self.database, kind)
