"""Records in a database. Each session and each handoff is a row with the number and hash of its newest record.

A record is stored as the same line that a journal has, so the chain can be verified, and copied between stores, as it
was written. A change locks the row, and an append succeeds only if the row still names the record before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Generic, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    Select,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from flowrail.errors import ConflictError, DocumentError, StorageError
from flowrail.storage import journal
from flowrail.storage.database import WAIT_SECONDS, Database, DatabaseListener, open_database
from flowrail.storage.file_store import ALPHABET, NO_LABELS, Kind, Stamp
from flowrail.storage.files import MissingFileError
from flowrail.storage.journal import Chained, DamagedError, Encoding, JournalFullError
from flowrail.storage.schema import LABEL_LENGTH, LABELS, TABLES, VERSION, Tables
from flowrail.text import limits

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
    def _mine(self) -> ColumnElement[bool]:
        return self._texts.c[0] == self._key

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
        with self._database.changing(wait=WAIT_SECONDS) as connection:
            connection.execute(delete(self._texts).where(self._mine, self._texts.c.name == name))
            connection.execute(
                insert(self._texts).values({self._texts.c[0]: self._key, "name": name, "data": data})
            )

    def size(self, name: str) -> int:
        """Return the size of a text, or -1 if it does not exist."""
        query = select(func.length(self._texts.c.data)).where(self._mine, self._texts.c.name == name)
        with self._database.reading() as connection:
            size: int | None = connection.execute(query).scalar()
        return -1 if size is None else size

    def names(self) -> list[str]:
        """Return the names of the texts."""
        with self._database.reading() as connection:
            return list(connection.execute(select(self._texts.c.name).where(self._mine)).scalars())


class HeldRow(Generic[T]):
    """A session or handoff whose row is locked."""

    torn = 0
    """A database leaves no incomplete records."""

    def __init__(
        self, store: SqlStore[T], connection: Connection, key: str, newest: T, length: int, size: int
    ) -> None:
        self.newest = newest
        self._store = store
        self._connection = connection
        self._key = key
        self._last_length = length
        self._size = size

    def append(self, record: T, *, reserve: int = 0) -> str:
        """Add the record that follows ``newest``, and return its hash. It is stored when the change ends."""
        store, key = self._store, self._key
        line = store.encoding(key).prepare(record)
        if self._size + len(line.text) > limits.JOURNAL_BYTES - reserve:
            raise JournalFullError(
                f"`{key}` has {self._size} bytes and no room for another record",
                hint="start again",
                bytes=self._size,
            )
        files = store.side_files(key)
        for name, data in line.side_files.items():
            if files.size(name) != len(data):
                files.write(name, data)
        parameters = {
            "key": key,
            "before": record.prev,
            "record": record.seq,
            "digest": line.hash,
            "size": self._size + len(line.text),
            "text": line.text,
            **{f"label_{label}": value for label, value in store.labels_of(record).items()},
        }
        for statement in store.append_statements:
            if store.database.execute(self._connection, statement, parameters).rowcount != 1:
                raise ChangedMeanwhileError(
                    f"`{key}` was changed by another process", hint="run the command again", id=key
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
        self.database = database
        self._kind = kind
        self.tables = TABLES[kind.noun]
        self._labels = [label for label in LABELS if label in self.tables.values.c]

    @cached_property
    def append_statements(self) -> Sequence[str]:
        """What adds a record if the row still names the record before it. PostgreSQL needs one statement."""
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
        """The same under the lock of the row; a transaction on SQLite has the lock of the whole database."""
        locked = self._newest_query.with_for_update(of=self.tables.values)
        return self.database.compiled(locked)  # for SQLite without `FOR UPDATE`

    def ids(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> list[str]:
        """Return the ids of what has one of the given values of each label, in order."""
        return sorted(self.stamps(labels, since))

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return a value that changes with each record for the ids that `ids` would return."""
        values = self.tables.values
        query = select(values.c.id, values.c.seq, values.c.bytes)
        for label, wanted in labels.items():
            query = query.where(values.c[label].in_([value[:LABEL_LENGTH] for value in wanted]))
        if since:
            query = query.where(values.c.moved_at >= since)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {key: (seq, size) for key, seq, size in rows}

    def new_id(self, stem: str, random: Callable[[int], bytes] = os.urandom) -> str:
        """Return an unused id that begins with *stem*."""
        while True:
            key = f"{stem}-{''.join(ALPHABET[byte % len(ALPHABET)] for byte in random(6))}"
            if self._row(key) is None:
                return key

    def create(self, key: str, record: T, side_files: dict[str, bytes] | None = None) -> str:
        """Store a first record and return its hash; the id must be new."""
        line = self.encoding(key).prepare(record)
        try:
            with self.database.changing(wait=WAIT_SECONDS) as connection:
                self._insert(connection, key, record, line.hash, [line.text])
                for name, data in {**(side_files or {}), **line.side_files}.items():
                    self.side_files(key).write(name, data)
        except IntegrityError:
            raise StorageError(f"{self._kind.noun} `{key}` exists already", hint="start again") from None
        return line.hash

    def newest(self, key: str, *, foreign: bool = False) -> tuple[T, int]:
        """Return the newest record. Nothing follows it: a database leaves no incomplete records."""
        del foreign
        with self.database.reading() as connection:
            return self._newest(connection, key)[0], 0

    def newest_of_all(self) -> Iterator[tuple[str, Callable[[], T]]]:
        """Yield each id with a function that returns its newest record. One query finds many of them."""
        values, records, _ = self.tables
        query = (
            select(values.c.id, values.c.seq, records.c.line)
            .outerjoin(records, (records.c[0] == values.c.id) & (records.c.seq == values.c.seq))
            .order_by(values.c.id)
            .limit(_BATCH)
        )
        after = ""
        while True:
            with self.database.reading() as connection:
                rows = connection.execute(query.where(values.c.id > after)).all()
            if not rows:
                return
            for key, seq, line in rows:
                yield key, partial(self._decoded, key, seq, line)
            after = rows[-1][0]

    def first(self, key: str, *, foreign: bool = False) -> T:
        """Return the first record."""
        del foreign
        records = self.tables.records
        query = select(records.c.line).where(records.c[0] == key, records.c.seq == 0)
        with self.database.reading() as connection:
            line: bytes | None = connection.execute(query).scalar()
        if line is None:
            raise self._kind.unknown(key, self.ids)
        return journal.decoded(self.encoding(key), line, self._place(key), 1)

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldRow[T]]:
        """Hold the lock and yield the session or handoff. What was appended is stored when the block ends."""
        with self.database.changing(wait) as connection:
            yield HeldRow(self, connection, key, *self._newest(connection, key, lock=True))

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against its row."""
        del foreign
        row = self._row(key)  # before the records, which can only have become more by then
        if row is None:
            raise self._kind.unknown(key, self.ids)
        newest = -1
        for record in journal.chained(self.encoding(key), self.lines(key), self._place(key)):
            self._check_id(record, key)
            yield record
            newest = record.seq
        if newest < row[0]:
            raise DamagedError(self._place(key), row[0] + 1, "the newest record is missing")

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        with self.database.reading() as connection:
            after = self._newest(connection, key)[0]
        yield after
        encoding = self.encoding(key)
        for line in self._lines_before(key, after.seq):
            record = journal.decoded(encoding, line, self._place(key), after.seq)
            if (record.seq, record.hash) != (after.seq - 1, after.prev):
                raise journal.does_not_follow(self._place(key), after.seq + 1)
            yield record
            after = record

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all records as they were written, oldest first."""
        records = self.tables.records
        after = -1
        while True:
            query = (
                select(records.c.seq, records.c.line)
                .where(records.c[0] == key, records.c.seq > after)
                .order_by(records.c.seq)
                .limit(_BATCH)
            )
            with self.database.reading() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield from (line for _, line in rows)
            after = rows[-1][0]

    def restore(self, key: str, lines: Sequence[bytes], side_files: Mapping[str, bytes]) -> None:
        """Store records as they were written elsewhere; the id must be new."""
        if self._row(key) is not None:
            raise StorageError(f"{self._kind.noun} `{key}` exists already", hint="nothing was changed")
        with self.database.changing(wait=WAIT_SECONDS) as connection, connection.begin_nested():
            for name, data in side_files.items():
                self.side_files(key).write(name, data)
            *_, newest = journal.chained(self.encoding(key), lines, key)
            self._check_id(newest, key)
            self._insert(connection, key, newest, newest.hash, lines)

    def _insert(
        self, connection: Connection, key: str, newest: T, digest: str, lines: Sequence[bytes]
    ) -> None:
        values, records, _ = self.tables
        size, labels = sum(map(len, lines)), self.labels_of(newest)
        connection.execute(insert(values).values(id=key, seq=newest.seq, hash=digest, bytes=size, **labels))
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
        values, records, texts = self.tables
        with self.database.changing(wait=WAIT_SECONDS) as connection:
            connection.execute(delete(texts).where(texts.c[0] == key))
            connection.execute(delete(records).where(records.c[0] == key))
            connection.execute(delete(values).where(values.c.id == key))

    def delete_leftovers(self) -> None:
        """Do nothing: deletions are not interrupted half-way."""

    def side_files(self, key: str) -> SqlFiles:
        """Return its long texts."""
        return SqlFiles(self.database, self.tables, key)

    def encoding(self, key: str) -> Encoding[T]:
        """Return how records of this id are written and read."""
        return self._kind.encoding(self.side_files(key))

    def labels_of(self, record: T) -> dict[str, str]:
        """Return the values of the labels that the table has."""
        values = self._kind.labels(record)
        return {label: values.get(label, "")[:LABEL_LENGTH] for label in self._labels}

    def _row(self, key: str) -> tuple[int, int] | None:
        values = self.tables.values
        with self.database.reading() as connection:
            row = connection.execute(select(values.c.seq, values.c.bytes).where(values.c.id == key)).first()
        return None if row is None else (row[0], row[1])

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
            raise DamagedError(self._place(key), seq + 1, "the newest record is missing")
        record = journal.decoded(self.encoding(key), line, self._place(key), seq + 1)
        self._check_id(record, key)
        return record

    def _lines_before(self, key: str, seq: int) -> Iterator[bytes]:
        """Yield the lines of the records before *seq*, newest first. Few are asked for at first."""
        records, batch = self.tables.records, 10
        query = (
            select(records.c.seq, records.c.line).where(records.c[0] == key).order_by(records.c.seq.desc())
        )
        while seq > 0:
            with self.database.reading() as connection:
                rows = connection.execute(query.where(records.c.seq < seq).limit(batch)).all()
            if not rows:
                raise DamagedError(self._place(key), seq, "the record is missing")
            yield from (line for _, line in rows)
            seq, batch = rows[-1][0], _BATCH

    def _place(self, key: str) -> str:
        return f"{self.database.shown}#{key}"

    def _check_id(self, record: T, key: str) -> None:
        if self._kind.id_of(record) != key:
            what = f"the record belongs to `{self._kind.id_of(record)}`"
            raise DamagedError(self._place(key), record.seq + 1, what)


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

    def listener(self) -> DatabaseListener:
        """Return what waits for changes of the store by any process."""
        return DatabaseListener(self.database)
