"""The stage of processes: what a process answers, and what is made of one that does not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.user_key import Owner
from flowrail.operations.running.steps import World
from flowrail.testing.walks.subprocess_stage import AsProcess


def stage(tmp_path: Path, run: Any) -> AsProcess:
    store = Store(str(tmp_path), Owner(str(tmp_path)))
    return AsProcess(World(store, (), str(tmp_path), str, "test"), environ={}, run=run)


def test_a_process_that_answers_no_json_is_told_of(tmp_path: Path) -> None:
    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "Traceback\n  KeyError: 'x'\n")

    reply = stage(tmp_path, run).run(["status"])

    assert reply.problem == "exit status 1: no JSON was answered: Traceback KeyError: 'x' [NO_ANSWER]"


def test_a_process_that_hangs_is_told_of(tmp_path: Path) -> None:
    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(words, 1)

    reply = stage(tmp_path, run).run(["resume", "x-abc234"])

    assert reply.status == 124
    assert "no answer within" in reply.problem


def test_nothing_is_cut_short(tmp_path: Path) -> None:
    assert not stage(tmp_path, None).settle("x-abc234")
