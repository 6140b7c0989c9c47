"""The record of a step is on disk before its answer is printed, in the order of the system calls."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.sandbox import flow, put_skill, refused, told
from support.tracing import ANSWER, Call, needs_strace, traced, unflushed

pytestmark = needs_strace


def first_start() -> list[str]:
    put_skill("small")
    return ["step", "small", "--json"]


def report() -> list[str]:
    put_skill("small")
    return [*told("step", "small")["next"][0]["command"].split()[1:], "--json"]


def is_answer(call: Call) -> bool:
    return call.name == "write" and os.path.basename(call.path) == ANSWER


@pytest.mark.parametrize("prepare", [first_start, report])
def test_nothing_is_left_to_flush_when_the_answer_is_printed(prepare: object) -> None:
    assert callable(prepare)
    ran = traced(prepare())

    before = ran.calls[: next(number for number, call in enumerate(ran.calls) if is_answer(call))]

    folders = (str(Path.cwd() / ".flow"), str(Path(os.environ["HOME"]) / ".local"))
    left = {os.path.basename(path) for path in unflushed(before) if path.startswith(folders)}
    assert left <= {"lock"}
    assert any(call.name == "fsync" and call.path.endswith("journal.jsonl") for call in before)


def test_a_report_that_is_killed_at_a_system_call_counts_if_it_was_acknowledged() -> None:
    words = report()
    store, backup = Path(".flow").absolute(), Path("kept").absolute()
    shutil.copytree(store, backup)
    calls = [call for call in traced(words).calls if is_answer(call) or str(store) in call.path]
    counts = []

    for call in calls:
        shutil.rmtree(store)
        shutil.copytree(backup, store)
        ran = traced(words, f"{call.name}:signal=KILL:when={call.number}")
        revision = told("sessions", words[words.index("--session") + 1])["revision"]
        assert ran.status == -9, call
        assert revision == 1 or not ran.out, f"{call}: the answer was printed, but its record is missing"
        assert flow(*words).status == 0, call
        assert told("step", "small")["revision"] == 1, call
        counts.append(revision)

    assert counts == sorted(counts)  # a record that was written stays
    assert set(counts) == {0, 1}


def test_a_flush_that_failed_is_not_tried_again() -> None:
    words = report()
    flush = next(call for call in traced(words).calls if call.name == "fsync")
    shutil.rmtree(".flow")
    words = report()

    ran = traced(words, f"fsync:error=EIO:when={flush.number}")

    flushes = [call for call in ran.calls if call.name == "fsync" and call.path.endswith("journal.jsonl")]
    assert ran.status == 3
    assert json.loads(ran.out)["error"]["code"] == "WRITE_FAILED"
    assert [call.done for call in flushes] == [False]
    assert refused("step", "small", "fail", "--expect", "1")[1]["code"] == "REVISION_CONFLICT"
