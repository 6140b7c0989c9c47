"""`kill -9` of flow, supervisor and command at random moments: a command with `once` never runs twice unasked."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.evidence import allow_commands, begin, demand, write
from support.forked import RecordedChild, start_recorded
from support.sandbox import decided, refused, told

WORK = """\
import os, time
with open("counter", "a") as file: file.write("begun\\n")
with open("pid", "w") as file: file.write(str(os.getpid()))
time.sleep(0.15)
print("the number is 7")
"""


@pytest.mark.parametrize(
    "victims",
    [("flow",), ("supervisor",), ("command",), ("flow", "supervisor", "command")],
    ids=["flow", "supervisor", "command", "all"],
)
@pytest.mark.parametrize("kills", [4, pytest.param(125, marks=pytest.mark.long)])
def test_a_command_never_runs_twice_without_an_answer_of_the_user(
    victims: tuple[str, ...], kills: int
) -> None:
    demand(
        {"id": "counted", "command": "count"},
        commands={"count": {"run": [sys.executable, "work.py"], "once": True}},
    )
    write("work.py", WORK)
    allow_commands()
    draw = random.Random(f"{victims}{kills}")  # noqa: S311 - any numbers

    for _ in range(kills):
        session = begin()
        Path("counter").unlink(missing_ok=True)
        Path("pid").unlink(missing_ok=True)
        first = flow_run(session)
        time.sleep(draw.uniform(0, 0.5))
        for victim in victims:
            kill(victim, session, first)
        first.wait()

        again = flow_run(session)
        again.wait()
        second = again.out + again.err

        assert times_begun() <= 1
        if again.returncode == 0:
            assert (b"the number is 7" in second, times_begun()) == (True, 1)
        if first.returncode == 0:  # an end that was printed is never lost
            assert (again.returncode, b"not run again: it passed" in second) == (0, True), first.out
        if victims == ("flow",):
            assert again.returncode == 0, second
        if again.returncode == 4:
            check_answer(session)


def check_answer(session: str) -> None:
    """The user says that the command did not run, or that it may run again; then it runs."""
    question = told("resume", session)["questions"][0]
    no = "It did not run" if len(question["options"]) == 3 else "Run it again"
    assert refused("step", "built", "fail", "--session", session)[1]["code"] == "QUESTION_OPEN"
    decided("answer", session, f"{question['id']}={no}")
    before = times_begun()

    last = flow_run(session)
    status = last.wait()

    assert (status, times_begun()) == (0, before + 1)


def flow_run(session: str) -> RecordedChild:
    """Start `flow run count`."""
    return start_recorded(["run", "count", "--session", session])


def kill(victim: str, session: str, flow: RecordedChild) -> None:
    """Kill a process if it runs."""
    with suppress(OSError, ValueError, StopIteration):
        if victim == "flow":
            os.killpg(flow.pid, signal.SIGKILL)
        elif victim == "supervisor":
            run = next(Path(".flow/sessions", session, "runs").iterdir())
            os.kill(int((run / "begun").read_text()), signal.SIGKILL)
        else:
            os.kill(int(Path("pid").read_text()), signal.SIGKILL)


def times_begun() -> int:
    """Return how often the command was started."""
    return len(Path("counter").read_text().splitlines()) if Path("counter").exists() else 0
