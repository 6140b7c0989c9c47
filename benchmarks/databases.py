"""What keeping a step costs in a database: over a bare INSERT and COMMIT, over history, and with many processes.

Run: python benchmarks/databases.py [LARGEST_SESSION [LARGEST_STORE]]

It starts a PostgreSQL server of its own (apt-get install postgresql), which flushes each commit to the disk of TMPDIR. The
peer is LangGraph's PostgresSaver; without it (`pip install --group peers`) the rest is measured. All write to the same
server in the same run. A store of 1,000,000 records takes some minutes and 2 GB.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from timing import best_of, report

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests"))

from support.databases import Server, postgres

from flowrail.discovery.locations import skill_roots
from flowrail.machines.sessions.record import Record, encoding
from flowrail.machines.sessions.session import DEFINITION_FORMAT, Session
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.operations.running import steps
from flowrail.storage.database import Database
from flowrail.storage.file_store import FolderFiles
from flowrail.storage.ownership import Owner
from flowrail.storage.sql_store import SqlBackend

SHARE, FLAT = 3.0, 2.0
SESSION_SIZES = (10, 1_000, 100_000)
PROCESSES = (1, 8, 32)
SECONDS = 5.0
"""How long each number of processes works."""
STATE = {
    "finding": "the pool is exhausted under load " * 4,
    "areas": ["auth", "db"],
    "confidence": "high",
    "round": 3,
}
TEXT = """\
name: turn
description: Turns.
steps:
  - {id: work, title: Work, actions: [Work.], next: {ok: work, skip: null}}
"""


def main(largest_session: int = SESSION_SIZES[-1], largest_store: int = 1_000_000, rounds: int = 60) -> None:
    """Print the ratios and the steps per second."""
    with tempfile.TemporaryDirectory() as name, postgres(flushes=True) as server:
        folder = Path(name)
        _over_an_insert(folder, server, rounds)
        _over_sessions(folder, server, [size for size in SESSION_SIZES if size <= largest_session], rounds)
        _over_stores(folder, server, largest_store, rounds)
        _many_processes(folder, server)


def _store(folder: Path, address: str) -> Store:
    database = Database(address)
    database.init()
    return Store(str(folder / ".flow"), Owner(str(folder / "state")), backend=SqlBackend(database))


def _session(number: int) -> Session:
    return Session(f"turn-{number:06d}", "turn", "work", state=STATE)


def _started(store: Store, number: int) -> str:
    session = _session(number)
    store.create(session, {"format": DEFINITION_FORMAT}, at="then", by="benchmark")
    return session.id


def _keep(store: Store, session_id: str) -> Callable[[], None]:
    """Return what keeps one step, as a report does: under the session's lock, durably."""

    def keep() -> None:
        with store.change(session_id) as change:
            after = change.kept.session
            change.commit(after._replace(revision=after.revision + 1), kind="move", at="then", by="benchmark")

    return keep


def _line(folder: Path) -> bytes:
    record = Record(1, "move", "then", "benchmark", _session(0), {}, "0" * 64)
    return encoding(FolderFiles(str(folder))).prepare(record).text


def _insert(address: str, line: bytes) -> Callable[[], None]:
    """Return the least that a database can do to keep the same bytes: insert a row and commit."""
    connection = psycopg.connect(address)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS plain (session text, seq serial, line bytea, PRIMARY KEY (session, seq))"
    )
    connection.commit()

    def insert() -> None:
        connection.execute("INSERT INTO plain (session, line) VALUES ('one', %s)", [line])
        connection.commit()

    return insert


def _over_an_insert(folder: Path, server: Server, rounds: int) -> None:
    address = server.fresh_database()
    store = _store(folder, address)
    sqlite = _store(folder, f"sqlite:///{folder / 'flow.db'}")
    contestants: dict[str, Callable[[], object]] = {
        "INSERT and COMMIT": _insert(address, _line(folder)),
        "the store": _keep(store, _started(store, 0)),
        "the store on SQLite": _keep(sqlite, _started(sqlite, 0)),
    }
    try:
        contestants["LangGraph's PostgresSaver"] = _langgraph(server.fresh_database())
    except ImportError as error:
        print(f"LangGraph's PostgresSaver is left out: {error}")
    best = best_of(contestants, rounds=rounds, calls=5)
    report(
        "Keeping one step, over one INSERT and COMMIT of the same bytes",
        best,
        "INSERT and COMMIT",
        {"the store": SHARE},
    )


def _langgraph(address: str) -> Callable[[], object]:
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.postgres import PostgresSaver

    connection: Any = psycopg.connect(address, autocommit=True, row_factory=psycopg.rows.dict_row)
    saver: Any = PostgresSaver(connection)
    saver.setup()
    config: dict[str, Any] = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}

    def keep() -> None:
        nonlocal config
        checkpoint = {**empty_checkpoint(), "channel_values": dict(STATE)}
        config = saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})

    return keep


def _over_sessions(folder: Path, server: Server, sizes: list[int], rounds: int) -> None:
    """Compare one step after few and after many records of the session."""
    address = server.fresh_database()
    store = _store(folder, address)
    contestants = {}
    for number, size in enumerate(sizes):
        session_id = _started(store, number)
        _grow(address, session_id, size)
        contestants[f"{size:,} records"] = _keep(store, session_id)
    best = best_of(contestants, rounds=rounds, calls=3)
    first, *_, last = contestants
    report("A step after so many records of its session, over one after few", best, first, {last: FLAT})


def _over_stores(folder: Path, server: Server, largest: int, rounds: int) -> None:
    """Compare `flow step` in process, without the session's id, in a store with one session and in a large one."""
    skill = folder / ".claude" / "skills" / "turn"
    skill.mkdir(parents=True)
    (skill / "workflow.yaml").write_text(TEXT)
    (folder / ".git").mkdir()
    line = _line(folder)
    print(f"\nStores of {largest:,} records of {len(line)} bytes, in sessions of 100")
    for kind, fill in (("files", _fill_files), ("SQLite", _fill_sqlite), ("PostgreSQL", _fill_postgresql)):
        contestants: dict[str, Callable[[], object]] = {}
        for records in (1, largest):
            place = folder / f"{kind}-{records}"
            place.mkdir()
            if kind == "files":
                store = Store(str(place / ".flow"), Owner(str(folder / "state")))
            else:
                address = (
                    server.fresh_database() if kind == "PostgreSQL" else f"sqlite:///{place / 'flow.db'}"
                )
                store = _store(place, address)
            world = World(
                store=store,
                roots=skill_roots(str(folder), str(folder / "home"), {}, ()),
                state=str(folder / "state"),
                now=lambda: f"{time.time():.3f}",
                by="benchmark",
            )
            steps.begin(world, "turn")
            if records > 1:
                print(f"  {kind}: {fill(place if kind == 'files' else address, line, records)}")
            contestants[f"{kind}, {records:,} records"] = lambda world=world: steps.report(
                world, "turn", "ok"
            )
        best = best_of(contestants, rounds=rounds)
        first, last = contestants
        aims = {} if kind == "files" else {last: FLAT}
        report("A step in a large store, over one in a new store", best, first, aims)


def _fill_files(place: Path, line: bytes, records: int) -> str:
    journal = line * 100
    for number in range(records // 100):
        session = place / ".flow" / "sessions" / f"other-{number:06d}"
        session.mkdir(mode=0o700)
        (session / "journal.jsonl").write_bytes(journal)
    return f"{records * len(line) / 1e6:,.0f} MB in {records // 100:,} folders"


def _fill_sqlite(address: str, line: bytes, records: int) -> str:
    path = address.removeprefix("sqlite:///")
    sessions = [f"other-{number:06d}" for number in range(records // 100)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO sessions (id, seq, hash, bytes, skill, status, conversation, moved_at)"
            " VALUES (?, 99, '', ?, 'other', ?, ?, '2026-01-01T00:00:00.000Z')",
            (
                (session, 100 * len(line), "completed" if number % 100 else "active", session)
                for number, session in enumerate(sessions)
            ),
        )
        connection.executemany(
            "INSERT INTO records VALUES (?, ?, ?)",
            ((session, seq, line) for session in sessions for seq in range(100)),
        )
    return f"{os.path.getsize(path) / 1e6:,.0f} MB"


def _fill_postgresql(address: str, line: bytes, records: int) -> str:
    _fill(address, line, records)
    return _size(address)


def _grow(address: str, session_id: str, records: int) -> None:
    """Give a session so many records. They are copies of the first one: a step reads only the newest."""
    with psycopg.connect(address) as connection:
        connection.execute(
            "INSERT INTO records SELECT session, -n, line FROM records, generate_series(1, %s) n WHERE session = %s",
            [records, session_id],
        )
    _settle(address)


def _fill(address: str, line: bytes, records: int) -> None:
    """Add sessions of 100 records each; one of a hundred is open."""
    sessions = records // 100
    with psycopg.connect(address) as connection:
        connection.execute(
            "INSERT INTO sessions (id, seq, hash, bytes, skill, status, conversation, moved_at)"
            " SELECT 'other-' || lpad(n::text, 6, 'a'), 99, '', 100 * %s, 'other',"
            " CASE WHEN n %% 100 = 0 THEN 'active' ELSE 'completed' END, 'c' || n, '2026-01-01T00:00:00.000Z'"
            " FROM generate_series(1, %s) n",
            [len(line), sessions],
        )
        connection.execute(
            "INSERT INTO records SELECT 'other-' || lpad(n::text, 6, 'a'), seq, %s"
            " FROM generate_series(1, %s) n, generate_series(0, 99) seq",
            [line, sessions],
        )
    _settle(address)


def _settle(address: str) -> None:
    """Let the server do now what it would otherwise do during the measurement."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def _size(address: str) -> str:
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT pg_database_size(current_database()), pg_total_relation_size('records'),"
            " pg_total_relation_size('sessions')"
        ).fetchone()
    assert row is not None
    whole, records, sessions = (f"{size / 1e6:,.0f} MB" for size in row)
    return f"{whole}, of which records {records} and sessions {sessions}"


def _many_processes(folder: Path, server: Server) -> None:
    """Count the steps per second of processes that each move a session of their own."""
    address = server.fresh_database()
    store = _store(folder, address)
    line = _line(folder)
    sessions = [_started(store, number) for number in range(max(PROCESSES))]
    store.backend.database.close()  # type: ignore[attr-defined]
    print("\nSteps per second")
    for number in PROCESSES:
        store_rate = _rate(
            [lambda each=each: _keep(_store(folder, address), each) for each in sessions[:number]]
        )
        bare_rate = _rate([lambda: _insert(address, line)] * number)
        print(
            f"  {number:>2} processes  {store_rate:8,.0f} by the store  {bare_rate:8,.0f} by INSERT and COMMIT"
        )


def _rate(workers: list[Callable[[], Callable[[], object]]]) -> float:
    context = multiprocessing.get_context("fork")
    ready, counts = context.Barrier(len(workers)), context.Queue()

    def work(make: Callable[[], Callable[[], object]]) -> None:
        call = make()
        call()
        ready.wait()
        end, count = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            call()
            count += 1
        counts.put(count)

    processes = [context.Process(target=work, args=(make,)) for make in workers]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return float(total) / SECONDS


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
