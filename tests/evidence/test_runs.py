"""A command runs to its end, even if the process that started it is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from flowrail.evidence import runs
from flowrail.evidence.runs import EndedCommand, RunState

Prepare: TypeAlias = Callable[..., str]


@pytest.fixture
def prepare(tmp_path: Path) -> Prepare:
    """Prepare a run of a shell script, and return its folder."""

    def prepare(script: str, *, facts: Mapping[str, str] | None = None, timeout: float = 60) -> str:
        folder = str(tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        runs.prepare(folder, ["sh", "-c", script], project=str(tmp_path), timeout=timeout, facts=facts or {})
        return folder

    return prepare


def run(folder: str, write: Callable[[bytes], object] = lambda _: None) -> EndedCommand:
    runs.start(folder, os.environ)
    assert runs.follow(folder, write) is RunState.ENDED
    ended = runs.end_of(folder)
    assert ended is not None
    return ended


def test_the_exit_status_the_output_and_the_facts_of_a_command_are_recorded(prepare: Prepare) -> None:
    folder = prepare(
        "echo '1 failed'; echo oops >&2; echo '3 failed'; exit 2", facts={"failed": r"(\d+) failed"}
    )

    seen: list[bytes] = []
    ended = run(folder, seen.append)

    assert (ended.status, ended.facts, ended.problem) == (2, {"failed": "3"}, "")
    assert b"".join(seen) == runs.last_output(folder) == b"1 failed\noops\n3 failed\n"


def test_of_many_callers_at_the_same_time_one_starts_the_command_and_all_see_its_output(
    prepare: Prepare, tmp_path: Path
) -> None:
    folder = prepare("echo ran >> counter; sleep 0.3; echo the number is 7")
    outputs: list[bytes] = []

    def call() -> None:
        seen: list[bytes] = []
        runs.start(folder, os.environ)
        runs.follow(folder, seen.append)
        outputs.append(b"".join(seen))

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert (tmp_path / "counter").read_text() == "ran\n"
    assert outputs == [b"the number is 7\n"] * 6


@pytest.mark.parametrize("megabytes", [3, pytest.param(1000, marks=pytest.mark.long)])
def test_the_last_megabyte_of_a_long_output_is_kept_and_facts_come_from_all_of_it(
    prepare: Prepare, megabytes: int
) -> None:
    script = f"echo 5 failed; head -c {megabytes}000000 /dev/zero | tr '\\0' '\\n'; echo end"
    folder = prepare(script, facts={"failed": r"(\d+) failed", "none": "never"}, timeout=600)

    ended = run(folder)

    assert ended.facts == {"failed": "5"}
    assert ended.bytes == megabytes * 1_000_000 + 13
    kept = runs.last_output(folder)
    assert len(kept) == 1024 * 1024
    assert kept.endswith(b"\n\nend\n")
    assert sum(file.stat().st_size for file in Path(folder).iterdir()) < 3 * 1024 * 1024


def test_a_process_that_the_command_leaves_behind_does_not_keep_the_run_open(prepare: Prepare) -> None:
    folder = prepare(
        "sh -c 'trap \"\" HUP; while sleep 0.05; do echo noise; done' & echo $! > left; echo started"
    )

    started = time.monotonic()
    ended = run(folder)

    assert ended.status == 0
    assert time.monotonic() - started < 10
    os.kill(int(Path(folder).parent.joinpath("left").read_text()), signal.SIGKILL)


def test_a_command_is_stopped_at_its_time_limit_with_everything_in_its_group(
    prepare: Prepare, tmp_path: Path
) -> None:
    folder = prepare("(sleep 0.8; echo late > late) & sleep 30", timeout=0.3)

    ended = run(folder)

    assert ended.status == -signal.SIGTERM
    assert ended.problem == "it was stopped at its time limit of 0.3 seconds"
    time.sleep(1)
    assert not (tmp_path / "late").exists()
