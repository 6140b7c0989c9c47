"""Standard streams that are full, closed or shared: no traceback, the right exit status, nothing done twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.sandbox import ENTRY, clean_environment, flow, put_skill, sessions_folder, told

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def redirected(words: list[str], how: str) -> tuple[int, str, str]:
    """Run a command whose streams the shell redirects as *how* says."""
    line = f'entry="$1"; shift; exec "$0" -c "$entry" "$@" {how}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, ENTRY, *words],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


LOST = [pytest.param(">/dev/full", marks=needs_full), ">&-", "<&- >&-"]


@pytest.mark.parametrize("how", LOST)
def test_a_report_whose_answer_is_lost_exits_3_and_is_answered_again(how: str) -> None:
    put_skill("small")
    command = told("step", "small")["next"][0]["command"].split()[1:]

    status, _, err = redirected(command, how)

    assert status == 3
    assert err.startswith("flow: the answer could not be written (")
    assert "[ANSWER_LOST]\n  what was done is kept; " in err
    assert len(err.splitlines()) == 2
    again = told(*command)
    assert (again["revision"], again["replayed"]) == (1, True)
    assert len(told("sessions", again["session"])["history"]) == 2
    assert flow("audit", "--verify").status == 0


@needs_full
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["step", "--help"], ["sessions"], ["list"]])
def test_whatever_is_told_its_loss_is_told(words: list[str]) -> None:
    put_skill("small")

    status, _, err = redirected(words, ">/dev/full")

    assert (status, "[ANSWER_LOST]" in err, "Traceback" in err) == (3, True, False)


@pytest.mark.parametrize("how", [pytest.param("2>/dev/full", marks=needs_full), "2>&-"])
def test_where_talk_cannot_be_written_the_answer_is(how: str) -> None:
    put_skill("small")
    shown = told("step", "small")
    with (sessions_folder() / shown["session"] / "journal.jsonl").open("ab") as file:
        file.write(b"torn")  # the next command prints a note

    status, out, _ = redirected([*shown["next"][0]["command"].split()[1:], "--json"], how)

    assert status == 0
    assert '"revision": 1' in out
    assert redirected(["step", "small", "fail"], how)[0] == 4


def test_standard_output_that_does_not_wait_gets_the_whole_answer() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = 0
    with suppress(BlockingIOError):
        while True:
            before += os.write(writer, b"." * 4096)
    child = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "show", "planner", "--json"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)

    time.sleep(0.5)  # time enough to fail in
    with open(reader, encoding="utf-8") as stream:
        everything = stream.read()[before:]

    assert child.communicate(timeout=60)[1] == b""
    assert child.returncode == 0
    assert everything == flow("show", "planner", "--json").out
