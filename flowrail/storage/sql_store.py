"""Lines in a database. Each session and each handoff is a row with the number and hash of its newest record.

A line is the same as in a journal, so the chain can be verified, and copied between stores, as it was written. A change
locks the row, and an append succeeds only if the row still names the record before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from flowrail.errors import ConflictError
from flowrail.storage.database import WAIT_SECONDS, Database, open_database
from flowrail.storage.journal import DamagedError
from flowrail.storage.record_store import Chained, HeldLines, Kind, Position, Stamp
from flowrail.storage.schema import ENTRIES, LABEL_LENGTH, LABELS, RECORDS
from flowrail.storage.user_mark import Owner

_BATCH, _FIRST_BATCH = 500, 10

T = TypeVar("T", bound=Chained)


class SqlLines:
    """The lines of all sessions, or of all handoffs, in a database."""

    owner: Owner | None = None

    def __init__(self, database: Database, kind: Kind[Any]) -> None:
        self.database = database
        self._kind = kind

    def place(self, key: str) -> str:
        """Return the address of a session or handoff."""
        return f"{self.database.shown}#{key}"

    def ids(self, labels: Mapping[str, Collection[str]] = {}, since: str = "") -> list[str]:
        """Return the ids that `stamps` returns, in order."""
        return sorted(self.stamps(labels, since))

    def stamps(self, labels: Mapping[str, Collection[str]], since: str) -> dict[str, Stamp]:
        """Return the number of the newest record and the size of all."""
        query = select(ENTRIES.c.id, ENTRIES.c.seq, ENTRIES.c.bytes).where(ENTRIES.c.kind == self._kind.noun)
        for label, allowed in labels.items():
            query = query.where(ENTRIES.c[label].in_([value[:LABEL_LENGTH] for value in allowed]))
        if since:
            query = query.where(ENTRIES.c.moved_at >= since)
        with self.database.reading() as connection:
            return {key: (seq, size) for key, seq, size in connection.execute(query)}

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""
        with self.database.reading() as connection:
            return connection.execute(select(ENTRIES.c.seq).where(self._is(ENTRIES, key))).first() is not None

    def create(self, key: str, lines: Sequence[bytes], newest: Position) -> None:
        """Store the first lines; the id must be new."""
        if self.exists(key):
            raise self._kind.exists_already(key)
        own = {"kind": self._kind.noun, "id": key}
        entry = {**own, **_columns(newest), "bytes": sum(map(len, lines))}
        with self.database.changing(WAIT_SECONDS) as connection:
            connection.execute(insert(ENTRIES).values(entry))
            rows = [{**own, "seq": seq, "line": line} for seq, line in enumerate(lines)]
            connection.execute(insert(RECORDS), rows)

    def newest(self, key: str) -> bytes:
        """Return the newest line."""
        with self.database.reading() as connection:
            return self._line(connection, key, self._newest_seq(connection, key))

    def line(self, key: str, seq: int) -> bytes:
        """Return the line with this number."""
        with self.database.reading() as connection:
            return self._line(connection, key, seq)

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all lines, oldest first; `DamagedError` at the end if the newest one is missing."""
        with self.database.reading() as connection:
            newest = self._newest_seq(connection, key)  # first, because there can only be more lines by then
        query = self._lines_of(key).order_by(RECORDS.c.seq)
        after = -1
        while rows := self._batch(query.where(RECORDS.c.seq > after), _BATCH):
            yield from (line for _, line in rows)
            after = rows[-1][0]
        if after < newest:
            raise DamagedError(self.place(key), newest + 1, "the newest record is missing")

    def lines_backwards(self, key: str) -> Iterator[bytes]:
        """Yield all lines, newest first. The first query asks for few."""
        with self.database.reading() as connection:
            before = self._newest_seq(connection, key) + 1
        query, most = self._lines_of(key).order_by(RECORDS.c.seq.desc()), _FIRST_BATCH
        while before > 0:
            rows = self._batch(query.where(RECORDS.c.seq < before), most)
            if not rows:
                raise DamagedError(self.place(key), before, "the record is missing")
            yield from (line for _, line in rows)
            before, most = rows[-1][0], _BATCH

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldLines]:
        """Hold the lock and yield the lines. Appended ones are stored when the block ends."""
        query = select(ENTRIES.c.seq, ENTRIES.c.bytes).where(self._is(ENTRIES, key)).with_for_update()
        with self.database.changing(wait) as connection:
            row = connection.execute(query).first()
            if row is None:
                raise self._kind.unknown(key, self.ids)

            def write(text: bytes, newest: Position) -> None:
                self._append(connection, key, text, newest)

            yield HeldLines(self._line(connection, key, row.seq), row.bytes, 0, write)

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its lines."""
        with self.database.changing(WAIT_SECONDS) as connection:
            for table in (RECORDS, ENTRIES):
                connection.execute(delete(table).where(self._is(table, key)))

    def delete_leftovers(self) -> None:
        """Do nothing: a deletion is one transaction."""

    def _append(self, connection: Connection, key: str, text: bytes, newest: Position) -> None:
        values = {**_columns(newest), "bytes": ENTRIES.c.bytes + len(text)}
        is_next = self._is(ENTRIES, key) & (ENTRIES.c.hash == newest.prev)
        if connection.execute(update(ENTRIES).where(is_next).values(values)).rowcount != 1:
            raise ConflictError(
                f"`{key}` was changed by another process",
                code="CHANGED_MEANWHILE",
                hint="run the command again",
                id=key,
            )
        row = {"kind": self._kind.noun, "id": key, "seq": newest.seq, "line": text}
        connection.execute(insert(RECORDS).values(row))

    def _is(self, table: Table, key: str) -> ColumnElement[bool]:
        return (table.c.kind == self._kind.noun) & (table.c.id == key)

    def _newest_seq(self, connection: Connection, key: str) -> int:
        seq: int | None = connection.execute(select(ENTRIES.c.seq).where(self._is(ENTRIES, key))).scalar()
        if seq is None:
            raise self._kind.unknown(key, self.ids)
        return seq

    def _line(self, connection: Connection, key: str, seq: int) -> bytes:
        query = select(RECORDS.c.line).where(self._is(RECORDS, key), RECORDS.c.seq == seq)
        line: bytes | None = connection.execute(query).scalar()
        if line is None:
            raise DamagedError(self.place(key), seq + 1, "the record is missing")
        return line

    def _lines_of(self, key: str) -> Any:
        return select(RECORDS.c.seq, RECORDS.c.line).where(self._is(RECORDS, key))

    def _batch(self, query: Any, most: int) -> Sequence[Any]:
        with self.database.reading() as connection:
            rows: Sequence[Any] = connection.execute(query.limit(most)).all()
        return rows


def _columns(newest: Position) -> dict[str, Any]:
    labels = {label: newest.labels.get(label, "")[:LABEL_LENGTH] for label in LABELS}
    return {"seq": newest.seq, "hash": newest.hash, **labels}


class SqlBackend:
    """The records of the store in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def at(cls, address: str, *, folder: str) -> SqlBackend:
        """Return the store in the database at *address*; the path of an SQLite file is relative to *folder*."""
        return cls(open_database(address, folder=folder))

    def lines(self, kind: Kind[Any]) -> SqlLines:
        """Return the lines of all sessions, or of all handoffs."""
        return SqlLines(self.database, kind)
