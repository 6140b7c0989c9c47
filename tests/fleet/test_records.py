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
from flowrail.fleet.records import AgentRun, FleetRecords, RunOutcome, Start
from flowrail.operations.environment import Environment
from flowrail.storage.database import Database

POOL = "claude"


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


def start(number: int, reserved: float = 1.0) -> Start:
    return Start(f"run-{number}", f"job-{number}", "session", POOL, "worker", reserved)


def ended(
    number: int, outcome: RunOutcome = RunOutcome.FINISHED, cost: float | None = None, at: float = 0.0
) -> AgentRun:
    return AgentRun(f"run-{number}", f"job-{number}", "session", POOL, "worker", outcome, at, at, cost=cost)


@pytest.mark.every_store
def test_runs_that_start_at_the_same_time_stay_within_the_budget_together(records: FleetRecords) -> None:
    with ThreadPoolExecutor(8) as threads:
        states = [*threads.map(lambda number: records.start(start(number), daily_budget=3.5), range(8))]

    assert states.count(None) == 3
    refused = next(state for state in states if state is not None)
    assert refused.reason == "$3.00 of the daily budget of $3.50 are spent or reserved"


def test_the_cost_of_a_run_replaces_what_was_reserved_for_it(records: FleetRecords) -> None:
    records.start(start(1), daily_budget=None)
    records.record(ended(1, cost=0.25, at=records.now()))
    records.start(start(2), daily_budget=None)
    records.record(ended(2, at=records.now()))

    assert records.spent(POOL) == pytest.approx(1.25)


def test_what_a_run_cost_a_day_ago_no_longer_counts(records: FleetRecords) -> None:
    records.record(ended(1, cost=5.0, at=records.now() - 25 * 3600))

    assert records.spent(POOL) == 0


@pytest.mark.every_store
def test_a_pause_for_a_quota_does_not_shorten_one_that_a_person_made(records: FleetRecords) -> None:
    records.pause(POOL, until=None, reason="release day")
    records.pause(POOL, until=records.now() + 60, reason="its quota is used up")

    assert [state.reason for state in records.paused()] == ["release day"]
    assert records.start(start(1), daily_budget=None) is not None
    assert records.unpause(POOL)
    assert records.start(start(1), daily_budget=None) is None


@pytest.mark.every_store
def test_one_of_the_workers_looks_for_those_that_are_lost(records: FleetRecords) -> None:
    records.register("worker-1", POOL, "vm", os.getpid(), 1)
    assert records.lose_workers(POOL, 60) == []
    time.sleep(0.3)

    with ThreadPoolExecutor(4) as threads:
        turns = [*threads.map(lambda _: records.take_turn(POOL, 30), range(4))]
    lost = records.lose_workers(POOL, 0.25)

    assert turns.count(True) == 1
    assert [worker.id for worker in lost] == ["worker-1"]
    assert not records.beat("worker-1")
    assert records.workers() == []


def test_a_queue_whose_database_is_away_says_so_at_once_and_works_when_it_is_back() -> None:
    with postgres() as server:
        jobs = JobQueue(Database(server.address()).complete_address)
        server.stop()
        with pytest.raises(FleetDatabaseError, match="Connection refused"):
            jobs.enqueue("job-1", "session", POOL)
        with pytest.raises(FleetDatabaseError):
            jobs.resume(POOL)
        server.start()

        jobs.enqueue("job-1", "session", POOL)

        assert jobs.unfinished(POOL) == 1
        jobs.close()


def test_a_record_that_is_written_twice_counts_once(records: FleetRecords) -> None:
    records.record(ended(1))
    records.record(ended(1))
    records.record(ended(1, RunOutcome.FENCED))

    assert [run.outcome for run in records.runs("session")] == ["finished", "fenced"]
