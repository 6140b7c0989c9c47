"""Verification detects each change of a session: bits, records, moves."""

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


def problems(session: str, *words: str) -> list[dict[str, Any]]:
    ran = flow("session", "verify", session, *words, "--json")
    (item,) = ran.data["sessions"]
    assert ran.status == (1 if item["problems"] else 0)
    assert item["ok"] is ran.data["ok"] is not bool(item["problems"])
    return list(item["problems"])


def location(session: str, name: str, line: int) -> str:
    return f"{sessions_folder() / session / name}:{line}"


def journal(session: str) -> Path:
    return sessions_folder() / session / "journal.jsonl"


def test_a_session_that_is_as_it_was_written_passes_and_is_not_touched(session: str) -> None:
    before = bytes_below(sessions_folder())

    ran = flow("session", "verify", session)

    head = told("status", session)["head"]
    assert ran.status == 0
    assert ran.out == (
        f"{session}: as it was written; 2 records, 1 move; head {head}\n"
        "1 session verified, nothing is wrong\n"
    )
    assert bytes_below(sessions_folder()) == before


def test_all_sessions_are_examined_and_one_hides_no_other(session: str) -> None:
    intact = told("step", "small", "--new")["session"]
    journal(session).write_bytes(journal(session).read_bytes().replace(b"small", b"smell"))
    (sessions_folder() / "small-aaaaaa").mkdir()

    ran = flow("session", "verify", "--json")

    assert ran.status == 1
    assert {session_result["session"]: session_result["ok"] for session_result in ran.data["sessions"]} == {
        session: False,
        intact: True,
    }
    assert flow("session", "verify", "--all").out.endswith("2 sessions verified, 1 problem found\n")
    assert (
        f"{location(session, 'journal.jsonl', 1)}: the line is not as it was written [JOURNAL_DAMAGED]"
        in (flow("session", "verify", "--all").out)
    )


# --- heads


def test_a_head_seen_earlier_has_to_be_in_the_journal(session: str) -> None:
    heads = [record["hash"] for record in told("history", session)["steps"]]

    for head in (heads[0][:16], heads[1][:16], heads[0], heads[0][:8]):
        assert problems(session, "--head", head) == []
    (problem,) = problems(session, "--head", "0123456789abcdef")
    assert (problem["code"], problem["place"]) == ("HEAD_GONE", location(session, "journal.jsonl", 2))


def test_a_session_of_another_user_is_reported_until_it_is_adopted(session: str) -> None:
    shutil.rmtree(Path(os.environ["HOME"]) / ".local/state/flowrail")

    (problem,) = problems(session)
    assert problem["code"] == "FOREIGN_SESSION"
    assert f"flow trust --session {session}" in problem["message"]

    assert accept(session).status == 0
    assert problems(session) == []


@pytest.mark.parametrize(
    ("words", "status"),
    [(["x-abcdef"], 2), (["small-aaaaaa"], 2), (["../x"], 2), (["--head", "12345678"], 2)],
)
def test_what_cannot_be_meant_is_refused(session: str, words: list[str], status: int) -> None:
    (sessions_folder() / "small-aaaaaa").mkdir()

    assert flow("session", "verify", *words).status == status
    assert flow("session", "verify", session, "--all").status == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda workflow: workflow.update(steps=[{}]),
        lambda workflow: workflow.update(name="another"),
        lambda workflow: workflow["steps"][0]["next"].update(ok="nowhere"),
    ],
)
def test_a_foreign_session_with_an_invalid_workflow_is_not_adopted(
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
