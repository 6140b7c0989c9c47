"""Walks can run each command as a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from flowrail.command import Command
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.storage.ownership import Owner
from flowrail.testing.walks.subprocess_stage import SubprocessStage, typed


def stage(tmp_path: Path, run: Any) -> SubprocessStage:
    store = Store(str(tmp_path), Owner(str(tmp_path)))
    return SubprocessStage(World(store, (), str(tmp_path), str, "test"), environ={}, run=run)


def test_a_command_without_json_is_a_problem(tmp_path: Path) -> None:
    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "Traceback\n  KeyError: 'x'\n")

    reply = stage(tmp_path, run).run(Command("status"))

    assert reply.problem == "exit status 1: the command printed no JSON: Traceback KeyError: 'x' [NO_ANSWER]"


def test_a_command_that_hangs_is_a_problem(tmp_path: Path) -> None:
    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(words, 1)

    reply = stage(tmp_path, run).run(Command("resume", "x-abc234"))

    assert reply.status == 124
    assert "no answer within" in reply.problem


def test_a_printed_command_is_typed_as_an_agent_types_it() -> None:
    for command in (
        Command(
            "step", "small", "done", facts={"a": "it's", "b": "x=y"}, session="s-1", expect="0", store="/s"
        ),
        Command("finding add", "s-1", token="t", severity="MUST", text="- no way back"),
        Command("claim", "s-1", "d1-1"),
    ):
        assert typed(str(command)) == command
