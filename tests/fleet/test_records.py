"""What a fleet records beside its queue: which workers are alive, and who takes over the jobs of lost ones."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.databases import postgres

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")

from flowrail.errors import StorageError
from flowrail.fleet.job_records import FleetRecords, WorkerRecord
from flowrail.fleet.jobs import JobQueue
from flowrail.operations.environment import Environment
from flowrail.storage.database import Database

PROGRAM = "claude"


@pytest.fixture
def records(store_kind: str, tmp_path: Path) -> Iterator[FleetRecords]:
    """The records of a fleet, in SQLite or in PostgreSQL."""
    opened = FleetRecords(Environment().backend.fleet_database or f"sqlite:///{tmp_path}/runs.sqlite")
    yield opened
    opened.database.close()


@pytest.mark.every_store
def test_one_worker_takes_over_the_jobs_of_a_lost_one(records: FleetRecords) -> None:
    records.add_worker(WorkerRecord("worker-1", PROGRAM, "machine", os.getpid(), 1))
    with records.lost_workers(60) as lost:
        assert lost == []
    time.sleep(0.3)

    def take_over(_: int) -> list[str]:
        with records.lost_workers(0.25) as lost:
            time.sleep(0.2)
            return [worker.id for worker in lost]

    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(take_over, range(4))]

    assert sorted(found) == [[], [], [], ["worker-1"]]
    assert not records.beat("worker-1")
    assert records.workers() == []


def test_a_lost_worker_stays_listed_if_its_jobs_could_not_be_taken_over(records: FleetRecords) -> None:
    records.add_worker(WorkerRecord("worker-1", PROGRAM, "machine", os.getpid(), 1))

    with pytest.raises(StorageError), records.lost_workers(-1):
        raise StorageError("the queue does not answer", hint="wait")

    assert [worker.id for worker in records.workers()] == ["worker-1"]


def test_a_queue_whose_database_is_away_says_so_at_once_and_works_when_it_is_back() -> None:
    with postgres() as server:
        jobs = JobQueue(Database(server.address()).complete_address)
        server.stop()
        with pytest.raises(StorageError, match="Connection refused"):
            jobs.enqueue("session", PROGRAM)
        with pytest.raises(StorageError):
            jobs.put_back("worker-1", is_lost=True)
        server.start()

        jobs.enqueue("session", PROGRAM)

        assert [(job.id, job.state) for job in jobs.unfinished()] == [("session#1", "queued")]
        jobs.close()
