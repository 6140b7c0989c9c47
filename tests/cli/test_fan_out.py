"""Many agents in processes of their own: nothing is lost, nothing counts twice, and a lost agent is replaced."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import FREE, LEAD, ONE, put_lead
from support.interruptions import fork, together
from support.sandbox import flow, put_skill, told


def words(line: str) -> list[str]:
    return line.split()[1:]


def work(session: str) -> None:
    """Do the work of a child session of two steps as its agent."""
    first = told("step", "--session", session)
    second = told(*words(first["next"][0]["command"]))
    told(*words(second["next"][0]["command"]), "-s", f"found=looked at {first['topic']}")


def test_eight_agents_end_in_any_order_one_lost_one_late_and_one_that_asks() -> None:
    put_lead()
    areas = [f"area-{index}" for index in range(8)]
    session = told("step", "lead", "--new", "-p", f"areas={json.dumps(areas)}")["session"]
    lost, late, asking, *others = (f"{session}.0.{number}" for number in range(1, 9))
    reader, writer = os.pipe()

    def die() -> None:
        told("step", "--session", lost)
        os.write(writer, b".")
        time.sleep(60)

    victim = fork(die)
    os.read(reader, 1)
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    told("step", "--session", late)

    def ask() -> None:
        told("step", "--session", asking)
        assert flow("ask", asking, '{"question": "Which area?"}').status == 0

    random.shuffle(others)
    together([ask, *(partial(work, child) for child in others)])

    shown = told("resume", session)
    assert [dispatch["status"] for dispatch in shown["dispatches"]] == [
        *("active", "active", "waiting"),
        *["completed"] * 5,
    ]
    assert [question["session"] for question in shown["questions"]] == [asking]
    assert flow("step", "lead", "ok", "--session", session).status == 4
    told("answer", asking, "q1=the third")
    for number in ("1", "2"):
        told("step", "--session", session, "--again", number)
    together([partial(work, child) for child in (f"{lost}-2", f"{late}-2", asking)])
    for child in (lost, late):
        refused = flow("step", "ok", "--session", child, "--json")
        assert (refused.status, refused.error["code"]) == (4, "DISPATCH_GONE")

    after = told("resume", session)
    assert after["join"]["succeeded"] == after["join"]["needed"] == 8
    assert [each["result"]["found"] for each in after["dispatches"]] == [
        f"looked at {area}" for area in areas
    ]
    kinds = [record["kind"] for record in told("sessions", session)["history"]]
    assert kinds == ["start", "again", "again"]
    assert told(*words(after["next"][0]["command"]))["step"]["id"] == "tell"
    assert flow("audit", "--verify").status == 0


@pytest.mark.parametrize("number", [12, pytest.param(80, marks=pytest.mark.long)])
def test_agents_that_work_at_once_in_another_folder_lose_nothing(number: int, tmp_path: Path) -> None:
    put_lead("free", FREE)
    begun = told("step", "free", "--new", "-p", f"areas={json.dumps(list(range(number)))}")

    def agent(dispatch: dict[str, Any]) -> Callable[[], None]:
        def run() -> None:
            with chdir(tmp_path):
                shown = told(*words(dispatch["command"]))
                told(*words(shown["next"][0]["command"]), "-s", f"found={dispatch['number']}")

        return run

    together([agent(dispatch) for dispatch in begun["dispatches"]])

    after = told("resume", begun["session"])
    assert [each["result"] for each in after["dispatches"]] == [
        {"found": str(each["number"])} for each in begun["dispatches"]
    ]
    assert after["join"]["succeeded"] == number


def test_an_agent_replaced_while_it_reports_either_counts_or_is_refused() -> None:
    put_skill("wide", LEAD.replace("JOIN", "any"), texts={"workflows/one.yaml": ONE})
    for _ in range(3):
        session = told("step", "wide", "--new", "-p", 'areas=["a"]')["session"]
        child = f"{session}.0.1"
        second = told(*words(told("step", "--session", child)["next"][0]["command"]))
        report = [*words(second["next"][0]["command"]), "-s", "found=x", "--json"]

        def replace(session: str = session) -> None:
            flow("step", "--session", session, "--again", "1")

        def end(report: list[str] = report) -> None:
            flow(*report)

        together([end, replace])

        (dispatch,) = told("resume", session)["dispatches"]
        ended = told("sessions", child)["history"][-1]["status"] == "completed"
        assert (dispatch["child"], dispatch["status"]) == (
            (child, "completed") if ended else (f"{child}-2", "pending")
        )
