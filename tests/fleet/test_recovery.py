"""Workers, agents and servers that fail: each job has one result, and every run is recorded."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest
from support.databases import Server
from support.fleets import (
    configure,
    ended,
    outcomes,
    put_trial,
    run_session,
    running,
    until,
    worker,
    worker_of,
    works_on,
)
from support.sandbox import told

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")

LOST = ("--lost-after", "4")
FIRST_RUN_FAILS = {"crash": "crashed", "hang": "timed out", "quota": "quota"}


def results_applied(session: str) -> Counter[str]:
    """Return how often each child session ended, by its journal."""
    ends: Counter[str] = Counter()
    for child in told("sessions", "--all")["sessions"]:
        if child["parent"] == session:
            records = told("sessions", child["session"])["history"]
            ends[child["session"]] = sum(record["status"] not in {"active", "waiting"} for record in records)
    return ends


def statuses(session: str, kinds: list[str], status: dict[str, Any]) -> dict[str, list[str]]:
    """Return the outcomes of the runs for each kind of agent."""
    return {kind: outcomes(status, f"{session}.0.{number}") for number, kind in enumerate(kinds, 1)}


@pytest.mark.long
@pytest.mark.every_store
def test_each_job_has_one_result_although_agents_workers_and_the_server_fail(
    store_kind: str, request: pytest.FixtureRequest
) -> None:
    put_trial()
    configure(slots=3, attempts=2, time_limit=0.5)
    kinds = ["slow", "finish", "crash", "late", "hang", "silent", "quota", "lie", "fail"]
    many = store_kind == "postgresql"

    with ExitStack() as stack:
        for _ in range(3 if many else 1):
            stack.enter_context(worker(*LOST))
        until(lambda status: len(status["workers"]) == (3 if many else 1))
        session = run_session("trial", "-p", f"kinds={json.dumps(kinds)}")
        slow, late = f"{session}.0.1", f"{session}.0.4"
        status = until(lambda status: works_on(slow)(status) and (works_on(late)(status) or not many))
        killed = worker_of(status, slow)
        os.kill(killed, signal.SIGKILL)
        if many:
            frozen = worker_of(status, late)
            assert frozen != killed, "each worker has three slots"
            os.kill(frozen, signal.SIGSTOP)
            server: Server = request.getfixturevalue("postgresql")
            server.stop()
            server.start()
        else:
            stack.enter_context(worker(*LOST))
        most = 0

        def is_done(now: dict[str, Any]) -> bool:
            nonlocal most
            most = max(most, len(running(now)))
            if many and len(now["workers"]) == 1 and works_on(late)(now):
                os.kill(frozen, signal.SIGCONT)
            return ended(session)(now)

        status = until(is_done)

    runs = statuses(session, kinds, status)
    lost = {job["target"]: job["workers_lost"] for job in status["jobs"]}
    assert told("sessions", session)["status"] == "completed"
    assert most <= (9 if many else 6)
    assert lost[slow] == 1
    assert runs["finish"][-1] == runs["late"][-1] == runs["slow"][-1] == "finished", runs
    assert runs["fail"][-1] == "failed"
    for kind, failure in FIRST_RUN_FAILS.items():
        was_lost = lost[f"{session}.0.{kinds.index(kind) + 1}"]  # perhaps with the first run of its agent
        assert runs[kind] == [failure, "finished"] or (was_lost and runs[kind] == ["finished"]), runs
    assert max(results_applied(session).values()) == 1
    if many:
        assert (runs["late"], lost[late]) == (["finished"], 1), runs
