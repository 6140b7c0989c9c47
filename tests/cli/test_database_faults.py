"""A database that fails, or a client that dies, at any moment: no acknowledged step is lost or counted twice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from support.databases import Server, close_all, postgres
from support.dispatching_skill import put_lead
from support.interruptions import at_moment, killed_at_statement, together
from support.sandbox import ROUND, flow, put_skill, told

pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")

from flowrail.storage import database


def every(stride: int) -> pytest.MarkDecorator:
    """Strike at every *stride*-th moment, and in the long form at each of them."""
    return pytest.mark.parametrize(
        "stride",
        [stride, pytest.param(1, marks=pytest.mark.long)],
        ids=["some moments", "every moment"],
    )


databases = pytest.mark.parametrize("store_kind", ["sqlite", "postgresql"], indirect=True)


def words_of(command: str) -> list[str]:
    return command.split()[1:]


def reported(shown: Any, by: str) -> list[str]:
    return [*words_of(shown["next"][0]["command"]), "-s", f"by={by}", "--session", shown["session"]]


def facts(session_id: str) -> list[str]:
    return [
        record["facts"]["by"]
        for record in told("sessions", session_id)["history"]
        if record["kind"] == "move"
    ]


@databases
@every(3)
def test_a_report_that_is_killed_at_a_statement_counts_once_or_not_at_all(stride: int) -> None:
    put_skill("round", ROUND)
    shown = told("step", "round")
    moved_before = set()
    at = 1

    while True:
        words = reported(shown, f"n{at}")
        killed = killed_at_statement(words, at)
        moved_before.add(told("resume", shown["session"])["revision"] - shown["revision"])
        after = told(*words)
        assert after["revision"] == shown["revision"] + 1
        shown, at = after, at + stride
        if not killed:
            break

    assert at > 5 * stride
    assert moved_before == {0, 1}
    assert facts(shown["session"]) == [f"n{number}" for number in range(1, at, stride)]
    assert flow("audit", shown["session"], "--verify").status == 0


@databases
@every(7)
def test_a_claim_that_is_killed_at_a_statement_counts_once_or_not_at_all(stride: int) -> None:
    put_lead("lead")
    at, killed = 1, True

    while killed:
        lead = told("step", "lead", "--new", "-p", 'areas=["a"]')
        killed = killed_at_statement(words_of(lead["dispatches"][0]["command"]), at)
        dispatch = told("resume", lead["session"])["dispatches"][0]
        child = told(*words_of(dispatch["command"]))
        second = told(*words_of(child["next"][0]["command"]))
        last = [*words_of(second["next"][0]["command"]), "-s", "found=x"]
        died = killed_at_statement(last, at)
        assert "completed" in told(*last)["result"]["of"]
        joined = told("resume", lead["session"])
        assert joined["dispatches"][0]["result"] == {"found": "x"}
        assert (joined["join"]["succeeded"], joined["dispatches"][0]["child"]) == (1, child["session"])
        killed, at = killed or died, at + stride

    assert flow("audit", "--verify").status == 0
    assert flow("audit", "--verify").status == 0


@pytest.mark.parametrize("store_kind", ["postgresql"], indirect=True)
@every(3)
def test_a_connection_that_is_lost_at_any_moment_loses_no_acknowledged_step(
    stride: int, postgresql: Server
) -> None:
    put_skill("round", ROUND)
    shown = told("step", "round")
    at, statuses, struck = 1, set(), True

    while struck:
        words = reported(shown, f"n{at}")
        with at_moment(at, lambda _: postgresql.drop_connections(os.environ["FLOW_STORE"])) as left:
            ran = flow(*words, "--json")
        struck = left[0] <= 0
        statuses.add(ran.status)
        assert ran.status in {0, 3}
        if ran.status:
            assert ran.error["code"] == "DATABASE_FAILED"
            assert "run the same command again" in ran.error["hint"]
        close_all()  # the next command is another process
        after = told(*words)
        assert after["replayed"] or ran.status
        assert after["revision"] == shown["revision"] + 1
        shown, at = after, at + stride

    assert statuses == {0, 3}
    assert facts(shown["session"]) == [f"n{number}" for number in range(1, at, stride)]
    assert flow("audit", shown["session"], "--verify").status == 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A PostgreSQL server that only this test uses, with the store in it."""
    with postgres() as running:
        monkeypatch.setenv("FLOW_STORE", running.address())
        database.open_database(running.address()).init()
        yield running
        close_all()


@pytest.mark.parametrize(("many", "steps"), [(3, 10), pytest.param(8, 100, marks=pytest.mark.long)])
def test_a_server_that_restarts_in_the_middle_loses_no_acknowledged_step(
    server: Server, many: int, steps: int
) -> None:
    put_skill("round", ROUND)
    sessions = [told("step", "round", "--new")["session"] for _ in range(many)]

    def work(session_id: str) -> None:
        shown = told("resume", session_id)
        for number in range(steps):
            words = reported(shown, f"n{number}")
            deadline = time.monotonic() + 60
            while (ran := flow(*words, "--json")).status:
                assert ran.error["code"] == "DATABASE_FAILED", ran
                assert time.monotonic() < deadline
                time.sleep(0.05)
            shown = ran.data

    def restart() -> None:
        for part in (1, 2):
            middle = part * many * steps // 3
            while sum(told("resume", session_id)["revision"] for session_id in sessions) < middle:
                time.sleep(0.02)
            server.stop("immediate")
            server.start()

    close_all()
    together([*(partial(work, session_id) for session_id in sessions), restart])

    for session_id in sessions:
        assert facts(session_id) == [f"n{number}" for number in range(steps)]
        assert flow("audit", session_id, "--verify").status == 0
