"""Many agents in processes of their own: nothing is lost, nothing counts twice, and a dead agent is replaced."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import FREE, LEAD, ONE, put_lead
from support.interruptions import fork, together
from support.sandbox import flow, put_skill, told


def words(line: str) -> list[str]:
    return line.split()[1:]


def work(session: str, name: str, do: Callable[[Mapping[str, Any]], None]) -> None:
    """Claim dispatches of a session as the agent *name* and do them, until all are done."""
    while left := [each for each in told("status", session)["dispatches"] if each["status"] != "done"]:
        first = hash(name) % len(left)
        for dispatch in left[first:] + left[:first]:
            claimed = flow(*words(dispatch["command"]), "--as", name, "--json")
            if claimed.status == 0:
                do(claimed.data)
                break
            assert claimed.error["code"] == "DISPATCH_GONE"
        else:
            time.sleep(0.2)


@pytest.mark.parametrize(
    ("number", "processes"), [(8, 3), pytest.param(40, 8, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_the_work_of_an_agent_that_is_killed_is_done_by_another(number: int, processes: int) -> None:
    put_skill(
        "wide",
        LEAD.replace("JOIN", "all").replace("600", "2"),
        texts={"workflows/one.yaml": ONE.replace("lead", "wide")},
    )
    areas = [f"area-{index}" for index in range(number)]
    session = told("start", "wide", "-p", f"areas={json.dumps(areas)}")["session"]
    reader, writer = os.pipe()

    def die(_: object) -> None:
        os.write(writer, b".")
        time.sleep(60)

    def agent(name: str) -> Callable[[], None]:
        def finish(first: Mapping[str, Any]) -> None:
            second = told(*words(first["next"][0]["command"]))
            told(*words(second["next"][0]["command"]), "-s", f"found={first['topic']} by {name}")

        return lambda: work(session, name, finish)

    victim = fork(lambda: work(session, "victim", die))
    os.read(reader, 1)
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    (lost,) = (each["id"] for each in told("status", session)["dispatches"] if each["holder"] == "victim")
    together([agent(f"agent-{index}") for index in range(1, processes)])

    after = told("resume", session)
    assert (after["join"]["succeeded"], after["join"]["met"]) == (number, True)
    for area, dispatch in zip(areas, after["dispatches"], strict=True):
        assert dispatch["result"]["found"].startswith(f"{area} by agent-")
    claims = Counter(
        record["note"]["dispatch"]
        for record in told("history", session)["steps"]
        if record["kind"] == "claim"
    )
    assert claims == {each["id"]: 2 if each["id"] == lost else 1 for each in after["dispatches"]}
    assert told(*words(after["next"][0]["command"]))["step"]["id"] == "tell"
    assert flow("session", "verify").status == 0


@pytest.mark.parametrize("number", [12, pytest.param(80, marks=pytest.mark.long)])
def test_agents_that_work_at_once_in_another_folder_lose_nothing(number: int, tmp_path: Path) -> None:
    put_lead("free", FREE)
    begun = told("start", "free", "-p", f"areas={json.dumps(list(range(number)))}")

    def agent(dispatch: Mapping[str, Any]) -> Callable[[], None]:
        def run() -> None:
            with chdir(tmp_path):
                claimed = told(*words(dispatch["command"]))
                told(*words(claimed["finish"][0]), "-s", f"found={dispatch['id']}")

        return run

    together([agent(dispatch) for dispatch in begun["dispatches"]])

    after = told("resume", begun["session"])
    assert [each["result"] for each in after["dispatches"]] == [
        {"found": each["id"]} for each in begun["dispatches"]
    ]
    assert after["join"]["succeeded"] == number
