"""Records in a database. Each session and each handoff is a row with the number and hash of its newest record.

A record is stored as the same line that a journal has, so the chain can be verified, and copied between stores, as it
was written. A change locks the row, and an append succeeds only if the row still names the record before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from flowrail.errors import ConflictError
from flowrail.storage import journal
from flowrail.storage.database import WAIT_SECONDS, Database, open_database
from flowrail.storage.journal import DamagedError
from flowrail.storage.record_store import NO_LABELS, Chained, HeldEntry, Kind, RecordStore, Stamp
from flowrail.storage.schema import ENTRIES, LABEL_LENGTH, LABELS, RECORDS

_BATCH = 500

T = TypeVar("T", bound=Chained)


class HeldRow(HeldEntry[T]):
    """A session or handoff whose row is locked."""

    def __init__(
        self,
        key: str,
        newest: T,
        *,
        size: int,
        last_length: int,
        encode: Callable[[T], tuple[bytes, str]],
        write: Callable[[T, bytes, str, int], None],
    ) -> None:
        super().__init__(f"`{key}`", newest, size=size, last_length=last_length)
        self._encode_line, self._write_line = encode, write

    def _encode(self, record: T) -> tuple[bytes, str]:
        return self._encode_line(record)

    def _write(self, record: T, text: bytes, digest: str) -> None:
        self._write_line(record, text, digest, self._size)


class SqlStore(RecordStore[T]):
    """All sessions, or all handoffs, in a database."""

    def __init__(self, database: Database, kind: Kind[T]) -> None:
        super().__init__(kind)
        self.database = database

    def stamps(self, labels: Mapping[str, Collection[str]] = NO_LABELS, since: str = "") -> dict[str, Stamp]:
        """Return the number of the newest record and the size of all."""
        query = select(ENTRIES.c.id, ENTRIES.c.seq, ENTRIES.c.bytes).where(ENTRIES.c.kind == self._kind.noun)
        for label, allowed in labels.items():
            query = query.where(ENTRIES.c[label].in_([value[:LABEL_LENGTH] for value in allowed]))
        if since:
            query = query.where(ENTRIES.c.moved_at >= since)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return {key: (seq, size) for key, seq, size in rows}

    def create(self, key: str, record: T) -> str:
        """Store a first record and return its hash; the id must be new."""
        text, digest = self._kind.encode(record)
        self._insert(key, record, digest, [text])
        return digest

    def restore(self, key: str, lines: Sequence[bytes], *, at: str, by: str) -> None:
        """Store records that were written elsewhere; the id must be new."""
        del at, by  # a database trusts every account that may write to it
        *_, newest = self._kind.chained(lines, key, key)
        self._insert(key, newest, newest.hash, lines)

    def newest(self, key: str) -> T:
        """Return the newest record."""
        query = select(ENTRIES.c.seq).where(self._is(ENTRIES, key))
        with self.database.reading() as connection:
            seq: int | None = connection.execute(query).scalar()
            if seq is None:
                raise self._kind.unknown(key, self.ids)
            return self._decode(key, seq, self._line(connection, key, seq))

    def record(self, key: str, seq: int) -> T:
        """Return the record with this number; it must exist."""
        with self.database.reading() as connection:
            return self._decode(key, seq, self._line(connection, key, seq))

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldRow[T]]:
        """Hold the lock and yield the session or handoff. Appended records are stored when the block ends."""
        query = select(ENTRIES.c.seq, ENTRIES.c.bytes).where(self._is(ENTRIES, key)).with_for_update()
        with self.database.changing(wait) as connection:
            row = connection.execute(query).first()
            if row is None:
                raise self._kind.unknown(key, self.ids)
            line = self._line(connection, key, row.seq)

            def write(record: T, text: bytes, digest: str, size: int) -> None:
                self._append(connection, key, record, text, digest, size)

            yield HeldRow(
                key,
                self._decode(key, row.seq, line),
                size=row.bytes,
                last_length=len(line),
                encode=self._kind.encode,
                write=write,
            )

    def records(self, key: str, *, foreign: bool = False) -> Iterator[T]:
        """Yield all records, oldest first, each checked against the one before it, the last against its row."""
        del foreign
        newest, seq = self.newest(key), -1  # first, because there can only be more records by then
        for record in self._kind.chained(self._lines(key), key, self._address_of(key)):
            yield record
            seq = record.seq
        if seq < newest.seq:
            raise DamagedError(self._address_of(key), newest.seq + 1, "the newest record is missing")

    def newest_first(self, key: str) -> Iterator[T]:
        """Yield all records, newest first, each checked against the one after it."""
        newest = self.newest(key)
        older = self._lines_before(key, newest.seq)
        yield from self._kind.chained_backwards(newest, older, key, self._address_of(key))

    def lines(self, key: str) -> list[bytes]:
        """Return all records as they were written, oldest first."""
        return list(self._lines(key))

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its records."""
        with self.database.changing(WAIT_SECONDS) as connection:
            for table in (RECORDS, ENTRIES):
                connection.execute(delete(table).where(self._is(table, key)))

    def _append(
        self, connection: Connection, key: str, record: T, text: bytes, digest: str, size: int
    ) -> None:
        values = {"seq": record.seq, "hash": digest, "bytes": size, **self._labels(record)}
        is_next = self._is(ENTRIES, key) & (ENTRIES.c.hash == record.prev)
        if connection.execute(update(ENTRIES).where(is_next).values(values)).rowcount != 1:
            raise ConflictError(
                f"`{key}` was changed by another process",
                code="CHANGED_MEANWHILE",
                hint="run the command again",
                id=key,
            )
        row = {"kind": self._kind.noun, "id": key, "seq": record.seq, "line": text}
        connection.execute(insert(RECORDS).values(row))

    def _insert(self, key: str, newest: T, digest: str, lines: Sequence[bytes]) -> None:
        if self.exists(key):
            raise self._exists_already(key)
        own = {"kind": self._kind.noun, "id": key}
        size = sum(map(len, lines))
        entry = {**own, "seq": newest.seq, "hash": digest, "bytes": size, **self._labels(newest)}
        with self.database.changing(WAIT_SECONDS) as connection:
            connection.execute(insert(ENTRIES).values(entry))
            rows = [{**own, "seq": seq, "line": line} for seq, line in enumerate(lines)]
            connection.execute(insert(RECORDS), rows)

    def _labels(self, record: T) -> dict[str, str]:
        values = self._kind.labels(record)
        return {label: values.get(label, "")[:LABEL_LENGTH] for label in LABELS}

    def _is(self, table: Table, key: str) -> ColumnElement[bool]:
        return (table.c.kind == self._kind.noun) & (table.c.id == key)

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""
        with self.database.reading() as connection:
            return connection.execute(select(ENTRIES.c.seq).where(self._is(ENTRIES, key))).first() is not None

    def _line(self, connection: Connection, key: str, seq: int) -> bytes:
        query = select(RECORDS.c.line).where(self._is(RECORDS, key), RECORDS.c.seq == seq)
        line: bytes | None = connection.execute(query).scalar()
        if line is None:
            raise DamagedError(self._address_of(key), seq + 1, "the record is missing")
        return line

    def _lines(self, key: str) -> Iterator[bytes]:
        """Yield all lines of an id, oldest first."""
        query = select(RECORDS.c.seq, RECORDS.c.line).where(self._is(RECORDS, key)).order_by(RECORDS.c.seq)
        after = -1
        while rows := self._batch(query.where(RECORDS.c.seq > after)):
            yield from (line for _, line in rows)
            after = rows[-1][0]

    def _lines_before(self, key: str, seq: int) -> Iterator[bytes]:
        """Yield the lines of the records before *seq*, newest first. The first query asks for few."""
        query = select(RECORDS.c.seq, RECORDS.c.line).where(self._is(RECORDS, key))
        batch = 10
        while seq > 0:
            rows = self._batch(query.where(RECORDS.c.seq < seq).order_by(RECORDS.c.seq.desc()), batch)
            if not rows:
                raise DamagedError(self._address_of(key), seq, "the record is missing")
            yield from (line for _, line in rows)
            seq, batch = rows[-1][0], _BATCH

    def _batch(self, query: Any, most: int = _BATCH) -> Sequence[Any]:
        with self.database.reading() as connection:
            rows: Sequence[Any] = connection.execute(query.limit(most)).all()
        return rows

    def _decode(self, key: str, seq: int, line: bytes) -> T:
        place = self._address_of(key)
        return self._kind.decode(journal.parse(line, place, seq + 1), key, place, seq + 1)

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
