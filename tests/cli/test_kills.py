"""A command may die at any moment: the next one continues as if it had finished or never started."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest
from support.interruptions import Fault, disturbed, every_few_calls, killed_at_calls
from support.sandbox import (
    SMALL,
    bytes_below,
    flow,
    process,
    put_skill,
    sessions_folder,
    told,
)

NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Where nothing can be written, Python would leave halves of compiled modules behind."""


@every_few_calls
def test_a_start_that_is_killed_does_not_block_the_next_one(stride: int) -> None:
    put_skill("small")

    for death in killed_at_calls(["step", "small"], stride):
        shown = told("step", "small")
        assert (shown["revision"], shown["step"]["id"]) == (0, "first")
        listed = told("sessions", "--all")["sessions"]
        assert [session["code"] for session in listed] == [""]
        assert (Path.cwd() / ".flow" / ".gitignore").read_text() == "*\n"
        shutil.rmtree(Path.cwd() / ".flow")
        if death % 3:
            shutil.rmtree(Path(os.environ["HOME"]) / ".local")


@every_few_calls
def test_a_report_that_is_killed_counts_once_or_not_at_all(stride: int) -> None:
    put_skill("small")
    command = told("step", "small")["next"][0]["command"].split()[1:]
    backup = Path.cwd() / "kept"
    shutil.copytree(Path.cwd() / ".flow", backup)

    outcomes = []
    for _ in killed_at_calls(command, stride):
        before = told("step", "small")
        assert before["revision"] in {0, 1}
        ran = flow(*command, "--json")
        assert ran.status == 0
        assert ran.data["replayed"] is (before["revision"] == 1)
        assert (ran.data["revision"], ran.data["step"]["id"]) == (1, "second")
        assert len(told("sessions", before["session"])["history"]) == 2
        assert told(*ran.data["next"][0]["command"].split()[1:])["status"] == "completed"
        outcomes.append((before["revision"], "incomplete record" in ran.err))
        shutil.rmtree(Path.cwd() / ".flow")
        shutil.copytree(backup, Path.cwd() / ".flow")

    if stride == 1:
        assert set(outcomes) == {(0, False), (0, True), (1, False)}
    assert outcomes == sorted(outcomes)  # a stored report stays stored


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_report_counts_if_it_was_acknowledged_whichever_write_fails(error: str) -> None:
    put_skill("small")
    command = told("step", "small")["next"][0]["command"].split()[1:]
    backup = Path.cwd() / "kept"
    shutil.copytree(Path.cwd() / ".flow", backup)
    statuses = []

    for number in range(1, 100):
        with disturbed(Fault(error, number)) as disk:
            ran = flow(*command, "--json")
        revision = told("step", "small")["revision"]
        assert (ran.status, revision) in {(0, 1), (3, 0)}
        if disk.left > 0:
            break
        if ran.status:
            assert ran.error["code"] == "WRITE_FAILED"
            assert flow(*command).status == 0
        statuses.append(ran.status)
        shutil.rmtree(Path.cwd() / ".flow")
        shutil.copytree(backup, Path.cwd() / ".flow")

    assert set(statuses) == {0, 3}


def test_a_full_disk_leaves_the_session_as_it_was() -> None:
    put_skill("small")
    shown = told("step", "small")
    command = shown["next"][0]["command"].split()[1:]
    folder = sessions_folder() / shown["session"]
    (folder / "lock").touch(0o600)
    journal = folder / "journal.jsonl"
    before = journal.read_bytes()
    limit = len(before) + 10
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"

    ran = process(*command, "--json", before=full, env=NO_BYTECODE, measured=False)

    assert ran.status == 3
    assert ran.error["code"] == "WRITE_FAILED"
    assert journal.read_bytes() == before
    assert sorted(file.name for file in folder.iterdir()) == ["journal.jsonl", "lock", "work"]
    assert told(*command)["revision"] == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


def test_a_line_that_was_never_finished_is_cut_and_told_once() -> None:
    put_skill("small", SMALL)
    shown = told("step", "small")
    journal = sessions_folder() / shown["session"] / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"seq":1,"kind":"mo')
    before = bytes_below(sessions_folder())

    assert flow("step", "small").err == ""
    assert bytes_below(sessions_folder()) == before
    ran = flow(*shown["next"][0]["command"].split()[1:])

    assert ran.status == 0
    assert ran.err == "flow: removed 19 bytes of an incomplete record left by an interrupted write\n"
    assert flow("step", "small", "ok").err == ""
    assert len(told("sessions", shown["session"])["history"]) == 3
