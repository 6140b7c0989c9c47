"""The tables of a store in a database.

flow_entries     a row for each session and each handoff: the number and hash of its newest record, and labels to find it by
flow_records     their records, each as the line that a journal would have
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, LargeBinary, MetaData, String, Table

from flowrail.session_status import OPEN

LABELS = ("skill", "status", "conversation", "moved_at")
"""The labels by which sessions are found without reading their records."""
LABEL_LENGTH = 200

METADATA = MetaData()
ENTRIES = Table(
    "flow_entries",
    METADATA,
    Column("kind", String(20), primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("bytes", Integer, nullable=False),
    *(Column(label, String(LABEL_LENGTH), nullable=False) for label in LABELS),
)
RECORDS = Table(
    "flow_records",
    METADATA,
    Column("kind", String(20), primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("line", LargeBinary, nullable=False),
)
_open = ENTRIES.c.status.in_(OPEN)
Index("flow_entries_open", ENTRIES.c.skill, postgresql_where=_open, sqlite_where=_open)
Index("flow_entries_conversation", ENTRIES.c.conversation)
