"""Measure a step in a database: compared with an INSERT and COMMIT, in long sessions and stores, and with many processes.

Run: python benchmarks/databases.py [--small] [--output benchmarks/databases.json]

It starts its own PostgreSQL server (apt-get install postgresql), which flushes each commit to the disk of TMPDIR. All
contestants write to this server in the same run, including LangGraph's PostgresSaver (`pip install --group peers`). The
full form takes some minutes and 5 GB. `docs/pages.py` writes the tables of the page "Growing" from the output.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import text
from store import FLAT, checkpointing, record_bytes, started, storing, world_with_a_skill
from timing import best_of, report

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests"))

from support.databases import Server, postgres

from flowrail.machines.session_store import Store
from flowrail.operations.steps import current_step as steps
from flowrail.operations.steps.new_session import begin
from flowrail.storage.database import Database
from flowrail.storage.file_store import FileBackend
from flowrail.storage.sql_store import SqlBackend
from flowrail.storage.user_mark import Owner

SHARE = 3.5
SESSION_SIZES = (10, 1_000, 100_000)
LARGEST_STORE = 1_000_000
SMALL = 100
"""The small form divides the sizes by this."""
IN_SESSION = 100
"""Records of each session in a large store; one session of a hundred is open."""
PROCESSES = (1, 8, 32)
SECONDS = 5.0
"""The time of the measurement for each number of processes."""
INSERT, STORE, PEER = "INSERT and COMMIT", "flowrail on PostgreSQL", "LangGraph's PostgresSaver"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :many)"


def main(*, small: bool = False) -> dict[str, Any]:
    """Print the ratios and the steps per second, and return all results: times in milliseconds, sizes in bytes."""
    by = SMALL if small else 1
    with tempfile.TemporaryDirectory() as name, postgres(flushes=True) as server:
        folder = Path(name)
        return {
            "machine": _machine(server),
            "record": len(record_bytes(folder)),
            "step": _over_an_insert(folder, server),
            "session": _over_sessions(folder, server, [max(10, size // by) for size in SESSION_SIZES]),
            "records": LARGEST_STORE // by,
            "stores": _over_stores(folder, server, LARGEST_STORE // by),
            "processes": _many_processes(folder, server, SECONDS / (5 if small else 1)),
        }


def _machine(server: Server) -> dict[str, Any]:
    with psycopg.connect(server.address()) as connection:
        version = connection.info.parameter_status("server_version")
    load = round(os.getloadavg()[0], 1)
    return {"cores": os.cpu_count(), "system": platform.system(), "postgresql": version, "load": load}


def _store(folder: Path, address: str) -> Store:
    database = Database(address)
    database.init()
    return Store(SqlBackend(database, str(folder / ".flow")))


def _insert(address: str, line: bytes) -> Callable[[], None]:
    """Return a function that stores the same bytes with one INSERT and COMMIT."""
    connection = psycopg.connect(address)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS plain (session text, seq serial, line bytea, PRIMARY KEY (session, seq))"
    )
    connection.commit()

    def insert() -> None:
        connection.execute("INSERT INTO plain (session, line) VALUES ('one', %s)", [line])
        connection.commit()

    return insert


def _over_an_insert(folder: Path, server: Server) -> dict[str, float]:
    address = server.fresh_database()
    store = _store(folder, address)
    sqlite = _store(folder, f"sqlite:///{folder / 'flow.db'}")
    contestants: dict[str, Callable[[], object]] = {
        INSERT: _insert(address, record_bytes(folder)),
        STORE: storing(store, started(store, "turn-000000")),
        "flowrail on SQLite": storing(sqlite, started(sqlite, "turn-000000")),
    }
    try:
        contestants[PEER] = _langgraph(server.fresh_database())
    except ImportError as error:
        print(f"without {PEER}: {error}")
    return _compared(
        "One step, compared with an INSERT and COMMIT of the same bytes",
        contestants,
        {STORE: SHARE},
        calls=5,
    )


def _langgraph(address: str) -> Callable[[], object]:
    from langgraph.checkpoint.postgres import PostgresSaver

    connection: Any = psycopg.connect(address, autocommit=True, row_factory=psycopg.rows.dict_row)
    saver: Any = PostgresSaver(connection)
    saver.setup()
    return checkpointing(saver)


def _over_sessions(folder: Path, server: Server, sizes: list[int]) -> dict[str, float]:
    """Compare a step in sessions with few and many records, which are copies of the first one."""
    address = server.fresh_database()
    store = _store(folder, address)
    contestants = {}
    for number, size in enumerate(sizes):
        session_id = started(store, f"turn-{number:06d}")
        _execute(
            address,
            f"INSERT INTO flow_records {NUMBERS} SELECT kind, id, -i, line FROM flow_records, n WHERE id = :id",
            many=size,
            id=session_id,
        )
        contestants[f"{size}"] = storing(store, session_id)
    _settle(address)
    return _compared(
        "A step in a session with this many records, compared with few", contestants, {f"{sizes[-1]}": FLAT}
    )


def _over_stores(folder: Path, server: Server, largest: int) -> dict[str, dict[str, float]]:
    """Compare a report without the session's id in a new store and in a large one."""
    line = record_bytes(folder)
    measured = {}
    for kind in ("files", "SQLite", "PostgreSQL"):
        contestants: dict[str, Callable[[], object]] = {}
        size = 0
        for records in (1, largest):
            place = folder / f"{kind}-{records}"
            place.mkdir()
            address = server.fresh_database() if kind == "PostgreSQL" else f"sqlite:///{place / 'flow.db'}"
            is_file_store = kind == "files"
            store = (
                Store(FileBackend(str(place / ".flow"), Owner(str(folder / "state"))))
                if is_file_store
                else _store(place, address)
            )
            world = world_with_a_skill(folder, store)
            begin(world, "turn")
            if records > 1:
                size = _fill_folder(place, line, records) if is_file_store else _fill(address, line, records)
            contestants[f"{records}"] = lambda world=world: steps.report(world, "turn", "ok")
        title = f"{kind}: a step in a store with this many records, compared with a new store"
        aims = {} if is_file_store else {f"{largest}": FLAT}
        measured[kind] = {**_compared(title, contestants, aims), "bytes": size}
        print(f"  {size / 1e6:,.0f} MB")
    return measured


def _fill_folder(place: Path, line: bytes, records: int) -> int:
    """Add sessions, and return their size."""
    journal = line * IN_SESSION
    for number in range(records // IN_SESSION):
        session = place / ".flow" / "sessions" / f"other-{number:06d}"
        session.mkdir(mode=0o700)
        (session / "journal.jsonl").write_bytes(journal)
    return records * len(line)


def _fill(address: str, line: bytes, records: int) -> int:
    """Add sessions to a database, and return its size."""
    _execute(
        address,
        "INSERT INTO flow_entries (kind, id, seq, hash, bytes, skill, status, conversation, moved_at)"
        f" {NUMBERS} SELECT 'session', 'other-' || (100000 + i), {IN_SESSION - 1}, '', {IN_SESSION * len(line)}, 'other',"
        " CASE WHEN i % 100 = 0 THEN 'active' ELSE 'completed' END, 'c' || i, '2026-01-01T00:00:00.000Z' FROM n",
        many=records // IN_SESSION,
    )
    _execute(
        address,
        f"INSERT INTO flow_records {NUMBERS} SELECT kind, id, i - 1, :line FROM flow_entries, n WHERE skill = 'other'",
        many=IN_SESSION,
        line=line,
    )
    if address.startswith("sqlite"):
        return os.path.getsize(address.removeprefix("sqlite:///"))
    _settle(address)
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def _execute(address: str, statement: str, **values: object) -> None:
    database = Database(address)
    with database.changing(wait=60) as connection:
        connection.execute(text(statement), values)
    database.close()


def _settle(address: str) -> None:
    """Do the maintenance now that the server would otherwise do during the measurement."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def _compared(
    title: str, contestants: dict[str, Callable[[], object]], aims: dict[str, float], *, calls: int = 3
) -> dict[str, float]:
    """Print the ratios to the first contestant, and return all times in milliseconds."""
    best = best_of(contestants, rounds=60, calls=calls)
    report(title, best, next(iter(best)), aims)
    return {name: round(seconds * 1e3, 3) for name, seconds in best.items()}


def _many_processes(folder: Path, server: Server, seconds: float) -> dict[str, dict[str, int]]:
    """Count the steps per second of processes that each report to their own session."""
    address = server.fresh_database()
    store = _store(folder, address)
    line = record_bytes(folder)
    sessions = [started(store, f"turn-{number:06d}") for number in range(max(PROCESSES))]
    assert isinstance(store.backend, SqlBackend)
    store.backend.database.close()
    print("\nSteps per second")
    rates = {}
    for many in PROCESSES:
        keepers = [
            lambda session=session: storing(_store(folder, address), session) for session in sessions[:many]
        ]
        by_store, bare = (
            _rate(workers, seconds) for workers in (keepers, [lambda: _insert(address, line)] * many)
        )
        rates[f"{many}"] = {STORE: by_store, INSERT: bare}
        print(f"  {many:>2} processes  {by_store:6,} by flowrail  {bare:6,} by {INSERT}")
    return rates


def _rate(workers: list[Callable[[], Callable[[], object]]], seconds: float) -> int:
    context = multiprocessing.get_context("fork")
    ready, counts = context.Barrier(len(workers)), context.Queue()

    def work(make: Callable[[], Callable[[], object]]) -> None:
        call = make()
        call()
        ready.wait()
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            call()
            count += 1
        counts.put(count)

    processes = [context.Process(target=work, args=(make,)) for make in workers]
    for process in processes:
        process.start()
    total: int = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return round(total / seconds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--small", action="store_true", help="divide the sizes by 100")
    options.add_argument("--output", type=Path, help="write all results to this file as JSON")
    chosen = options.parse_args()
    results = main(small=chosen.small)
    if chosen.output:
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")
