"""The tables of a store in a database, their version, and how older tables are upgraded.

sessions     a row for each session: the number and hash of its newest record, and labels to find it by
records      its records, each as the line that a journal would have
texts        its definition and its long texts

handoffs, handoff_records, handoff_texts     the same for handoffs
flowrail_schema     the version of the tables, in one row
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import OperationalError, ProgrammingError

SCHEMA_VERSION = OLDEST_VERSION = 2
"""The version of today's tables, and the oldest one that can be upgraded to it."""
LABELS = ("skill", "status", "conversation", "moved_at")
"""The labels by which sessions are found without reading their records."""
LABEL_LENGTH = 200


class Tables(NamedTuple):
    """The tables of one kind: its values, their records, and their long texts."""

    values: Table
    records: Table
    texts: Table


def _tables(noun: str, prefix: str, labels: tuple[str, ...] = ()) -> Tables:
    return Tables(
        Table(
            f"{noun}s",
            METADATA,
            Column("id", String(200), primary_key=True),
            Column("seq", Integer, nullable=False),
            Column("hash", String(64), nullable=False),
            Column("bytes", Integer, nullable=False),
            *(Column(label, String(LABEL_LENGTH), nullable=False, server_default="") for label in labels),
        ),
        Table(
            f"{prefix}records",
            METADATA,
            Column(noun, String(200), primary_key=True),
            Column("seq", Integer, primary_key=True, autoincrement=False),
            Column("line", LargeBinary, nullable=False),
        ),
        Table(
            f"{prefix}texts",
            METADATA,
            Column(noun, String(200), primary_key=True),
            Column("name", String(200), primary_key=True),
            Column("data", LargeBinary, nullable=False),
        ),
    )


METADATA = MetaData()
TABLES: Mapping[str, Tables] = {
    "session": _tables("session", "", LABELS),
    "handoff": _tables("handoff", "handoff_"),
}
VERSION = Table(
    "flowrail_schema", METADATA, Column("version", Integer, primary_key=True, autoincrement=False)
)
_sessions = TABLES["session"].values
_open = _sessions.c.status.in_(("active", "waiting"))
Index("sessions_open", _sessions.c.skill, postgresql_where=_open, sqlite_where=_open)
Index("sessions_conversation", _sessions.c.conversation)


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables, or `None` without tables; then the transaction cannot be used any more."""
    try:
        return connection.execute(select(VERSION.c.version)).scalar()
    except (OperationalError, ProgrammingError) as error:
        if getattr(error.orig, "sqlstate", None) == "42P01" or "no such table" in str(error.orig):
            return None
        raise


def create_tables(connection: Connection) -> None:
    """Create the tables of today's version."""
    METADATA.create_all(connection)
    connection.execute(insert(VERSION).values(version=SCHEMA_VERSION))


def upgrade_tables(connection: Connection) -> int:
    """Upgrade the tables to today's version, and return the version before. Only one client upgrades at a time."""
    if connection.dialect.name == "postgresql":  # a transaction on SQLite has the lock of the whole database
        connection.execute(text("LOCK TABLE flowrail_schema IN ACCESS EXCLUSIVE MODE"))
    version: int = connection.execute(select(VERSION.c.version)).scalar_one()
    for number in range(version, SCHEMA_VERSION):
        _UPGRADES[number](connection)
    connection.execute(update(VERSION).values(version=SCHEMA_VERSION))
    return version


_UPGRADES: Mapping[int, Callable[[Connection], None]] = {}
"""How tables of each version become those of the next one. An upgrade names tables and columns itself, and never changes."""
