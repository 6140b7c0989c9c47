"""Lines in a database. Each session and each handoff is a row with the number and hash of its newest record.

A line is the same as in a journal, so the chain can be verified, and copied between stores, as it was written. A change
locks the row, and an append succeeds only if the row still names the record before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, insert, select, update

from flowrail.errors import ConflictError
from flowrail.storage.database import WAIT_SECONDS, Database, open_database
from flowrail.storage.journal import DamagedError
from flowrail.storage.record_store import HeldLines, Kind, Lines, Stamp
from flowrail.storage.schema import ENTRIES, LABEL_LENGTH, LABELS, RECORDS
from flowrail.storage.user_mark import Owner

_BATCH = 500


class SqlLines(Lines):
    """The lines of all sessions, or of all handoffs, in a database."""

    def __init__(self, database: Database, kind: Kind[Any]) -> None:
        self.database = database
        self._kind = kind

    def place(self, key: str) -> str:
        """Return the address of a session or handoff."""
        return f"{self.database.shown}#{key}"

    def stamps(self, labels: Mapping[str, Collection[str]], since: str) -> dict[str, Stamp]:
        """Return the number of the newest record and the size of all."""
        query = select(ENTRIES.c.id, ENTRIES.c.seq, ENTRIES.c.bytes).where(ENTRIES.c.kind == self._kind.noun)
        for label, allowed in labels.items():
            query = query.where(ENTRIES.c[label].in_([value[:LABEL_LENGTH] for value in allowed]))
        if since:
            query = query.where(ENTRIES.c.moved_at >= since)
        return {key: (seq, size) for key, seq, size in self._rows(query)}

    def exists(self, key: str) -> bool:
        """Return whether an id is in use."""
        return bool(self._rows(select(ENTRIES.c.seq).where(self._is(ENTRIES, key))))

    def create(self, key: str, lines: Sequence[bytes], newest: Any) -> None:
        """Store the first lines; the id must be new."""
        if self.exists(key):
            raise self._kind.exists_already(key)
        own = {"kind": self._kind.noun, "id": key}
        with self.database.changing(WAIT_SECONDS) as connection:
            entry = {**own, **self._columns(newest), "bytes": sum(map(len, lines))}
            connection.execute(insert(ENTRIES).values(entry))
            rows = [{**own, "seq": seq, "line": line} for seq, line in enumerate(lines)]
            connection.execute(insert(RECORDS), rows)

    def line(self, key: str, seq: int) -> bytes:
        """Return the line with this number."""
        rows = self._rows(self._lines_of(key).where(RECORDS.c.seq == seq))
        if not rows:
            raise DamagedError(self.place(key), seq + 1, "the record is missing")
        return bytes(rows[0].line)

    def lines(self, key: str) -> Iterator[bytes]:
        """Yield all lines, oldest first; `DamagedError` at the end if the newest one is missing."""
        newest = self._newest_seq(key)  # first, because there can only be more lines by then
        query, after = self._lines_of(key).order_by(RECORDS.c.seq).limit(_BATCH), -1
        while rows := self._rows(query.where(RECORDS.c.seq > after)):
            yield from (row.line for row in rows)
            after = rows[-1].seq
        if after < newest:
            raise DamagedError(self.place(key), newest + 1, "the newest record is missing")

    def lines_backwards(self, key: str) -> Iterator[bytes]:
        """Yield all lines, newest first. The first query asks for one, each further one for more."""
        before, most = self._newest_seq(key) + 1, 1
        query = self._lines_of(key).order_by(RECORDS.c.seq.desc())
        while before > 0:
            rows = self._rows(query.where(RECORDS.c.seq < before).limit(most))
            if not rows or rows[0].seq != before - 1:
                raise DamagedError(self.place(key), before, "the record is missing")
            yield from (row.line for row in rows)
            before, most = rows[-1].seq, min(8 * most, _BATCH)

    @contextmanager
    def change(self, key: str, *, wait: float) -> Iterator[HeldLines]:
        """Hold the lock and yield the lines. Appended ones are stored when the block ends."""
        query = select(ENTRIES.c.seq, ENTRIES.c.bytes).where(self._is(ENTRIES, key)).with_for_update()
        with self.database.changing(wait) as connection:
            row = connection.execute(query).first()
            if row is None:
                raise self._kind.unknown(key, self.ids)

            def write(text: bytes, newest: Any) -> None:
                values = {**self._columns(newest), "bytes": ENTRIES.c.bytes + len(text)}
                is_next = self._is(ENTRIES, key) & (ENTRIES.c.hash == newest.prev)
                if connection.execute(update(ENTRIES).where(is_next).values(values)).rowcount != 1:
                    raise ConflictError(
                        f"`{key}` was changed by another process",
                        code="CHANGED_MEANWHILE",
                        hint="run the command again",
                        id=key,
                    )
                added = {"kind": self._kind.noun, "id": key, "seq": newest.seq, "line": text}
                connection.execute(insert(RECORDS).values(added))

            yield HeldLines(self.line(key, row.seq), row.bytes, 0, write)

    def delete(self, key: str) -> None:
        """Delete a session or handoff with all its lines."""
        with self.database.changing(WAIT_SECONDS) as connection:
            for table in (RECORDS, ENTRIES):
                connection.execute(delete(table).where(self._is(table, key)))

    def _is(self, table: Table, key: str) -> ColumnElement[bool]:
        return (table.c.kind == self._kind.noun) & (table.c.id == key)

    def _lines_of(self, key: str) -> Select[Any]:
        return select(RECORDS.c.seq, RECORDS.c.line).where(self._is(RECORDS, key))

    def _newest_seq(self, key: str) -> int:
        rows = self._rows(select(ENTRIES.c.seq).where(self._is(ENTRIES, key)))
        if not rows:
            raise self._kind.unknown(key, self.ids)
        return int(rows[0].seq)

    def _rows(self, query: Select[Any]) -> Sequence[Any]:
        with self.database.reading() as connection:
            return connection.execute(query).all()

    def _columns(self, newest: Any) -> dict[str, Any]:
        """Return what the row of a session or handoff has of its newest record."""
        labels = {**dict.fromkeys(LABELS, ""), **self._kind.labels_of(newest)}
        return {
            "seq": newest.seq,
            "hash": newest.hash,
            **{label: value[:LABEL_LENGTH] for label, value in labels.items()},
        }


class SqlBackend:
    """The store in a database, with the files of its sessions in *folder*."""

    is_folder = False

    def __init__(self, database: Database, folder: str) -> None:
        self.folder = folder
        self.database = database
        self.shown, self.has_password = database.shown, database.has_password
        self.fleet_database = "" if database.is_sqlite else database.complete_address
        self.init = database.init

    def lines(self, kind: Kind[Any]) -> SqlLines:
        """Return the lines of all sessions, or of all handoffs."""
        return SqlLines(self.database, kind)


def open_backend(address: str, cwd: str, folder: str, owner: Owner) -> SqlBackend:
    """Return the store in the database at *address*; the path of an SQLite file is relative to *cwd*."""
    del owner  # a database trusts every account that may write to it
    return SqlBackend(open_database(address, folder=cwd), folder)
