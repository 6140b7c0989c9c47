"""`flow audit --verify` detects each change of a session: bits, records, moves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.forged import sealed
from support.sandbox import accept, bytes_below, flow, put_skill, refused, sessions_folder, told


@pytest.fixture
def session() -> str:
    """A session at its second step."""
    put_skill("small")
    told("step", "small")
    return str(told("step", "small", "ok")["session"])


def findings(session: str, *words: str) -> list[dict[str, Any]]:
    ran = flow("audit", session, "--verify", *words, "--json")
    assert ran.status == (1 if ran.data["findings"] else 0)
    return list(ran.data["findings"])


def journal(session: str) -> Path:
    return sessions_folder() / session / "journal.jsonl"


def test_a_session_that_is_as_it_was_written_passes_and_is_not_touched(session: str) -> None:
    before = bytes_below(sessions_folder())

    ran = flow("audit", session, "--verify")

    assert ran.status == 0
    assert ran.out == "0 handoffs, 1 session, 2 records, 0 payloads: unchanged since they were written\n"
    assert bytes_below(sessions_folder()) == before


def test_a_session_of_another_user_is_reported_until_it_is_accepted(session: str) -> None:
    shutil.rmtree(Path(os.environ["HOME"]) / ".local/state/flowrail")

    (finding,) = findings(session)
    assert finding["code"] == "FOREIGN_SESSION"
    assert f"flow trust --session {session}" in finding["message"]

    assert accept(session).status == 0
    assert findings(session) == []


@pytest.mark.parametrize("words", [["x-abcdef"], ["small-aaaaaa"], ["../x"]])
def test_what_cannot_be_meant_is_refused(session: str, words: list[str]) -> None:
    del session
    (sessions_folder() / "small-aaaaaa").mkdir()

    assert flow("audit", "--verify", *words).status == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda workflow: workflow.update(steps=[{}]),
        lambda workflow: workflow.update(name="another"),
        lambda workflow: workflow["steps"][0]["next"].update(ok="nowhere"),
    ],
)
def test_a_foreign_session_with_an_invalid_workflow_is_not_accepted(
    session: str, change: Callable[[dict[str, Any]], object]
) -> None:
    first, second = map(json.loads, journal(session).read_bytes().splitlines())
    change(first["definition"]["workflow"])
    first_line = sealed(first)
    journal(session).write_bytes(first_line + sealed({**second, "prev": json.loads(first_line)["hash"]}))

    ran = accept(session)
    status, error = ran.status, ran.error

    assert (status, error["code"]) == (3, "STORAGE")
    assert error["message"].startswith(f"session `{session}` is damaged: ")
    assert refused("resume", session)[1]["code"] == "FOREIGN_SESSION"
