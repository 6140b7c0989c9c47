"""What a fleet records: budgets that hold although many start at once, pauses, and workers that are lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.databases import postgres

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")

from flowrail.fleet.errors import FleetDatabaseError
from flowrail.fleet.jobs import JobQueue
from flowrail.fleet.records import AgentRun, FleetRecords, RunOutcome, WorkerRecord
from flowrail.operations.environment import Environment
from flowrail.storage.database import Database

PROGRAM = "claude"


@pytest.fixture
def records(store_kind: str, tmp_path: Path) -> Iterator[FleetRecords]:
    """The records of a fleet, in SQLite or in PostgreSQL."""
    database = Environment().database
    address = f"sqlite:///{tmp_path}/runs.sqlite"
    if database is not None and not database.is_sqlite:
        address = database.complete_address
    opened = FleetRecords(address)
    yield opened
    opened.close()


@pytest.mark.every_store
def test_one_of_the_workers_looks_for_those_that_are_lost(records: FleetRecords) -> None:
    records.register(WorkerRecord("worker-1", PROGRAM, "vm", os.getpid(), 1))
    assert records.lose_workers(PROGRAM, 60) == []
    time.sleep(0.3)

    with ThreadPoolExecutor(4) as threads:
        turns = [*threads.map(lambda _: records.take_turn(PROGRAM, 30), range(4))]
    lost = records.lose_workers(PROGRAM, 0.25)

    assert turns.count(True) == 1
    assert [worker.id for worker in lost] == ["worker-1"]
    assert not records.beat("worker-1")
    assert records.workers() == []


def test_a_queue_whose_database_is_away_says_so_at_once_and_works_when_it_is_back() -> None:
    with postgres() as server:
        jobs = JobQueue(Database(server.address()).complete_address)
        server.stop()
        with pytest.raises(FleetDatabaseError, match="Connection refused"):
            jobs.enqueue("job-1", "session", PROGRAM)
        with pytest.raises(FleetDatabaseError):
            jobs.resume(PROGRAM)
        server.start()

        jobs.enqueue("job-1", "session", PROGRAM)

        assert jobs.unfinished(PROGRAM) == 1
        jobs.close()


def run(outcome: RunOutcome = RunOutcome.RUNNING) -> AgentRun:
    return AgentRun("run-1", "job-1", "session", PROGRAM, "worker", "vm", outcome)


@pytest.mark.every_store
def test_a_used_up_quota_is_waited_for_and_a_later_time_stays(records: FleetRecords) -> None:
    soon, later = time.time() + 60, time.time() + 3_600
    records.wait_for_quota(PROGRAM, later)
    records.wait_for_quota(PROGRAM, soon)
    records.wait_for_quota("codex", time.time() - 1)

    assert records.quota_until(PROGRAM) == pytest.approx(later)
    assert records.quota_until("codex") is None


def test_the_end_that_was_recorded_first_stays(records: FleetRecords) -> None:
    records.start(run())
    records.start(run())
    assert [known.outcome for known in records.running()] == ["running"]

    records.end(run(RunOutcome.WORKER_LOST))
    records.end(run(RunOutcome.FINISHED))

    assert [known.outcome for known in records.runs("session")] == ["worker lost"]
    assert records.running() == []
