"""Very many folders in a store that hold no session or handoff are passed over at once; and one that nobody may list."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.counting import calls_of
from support.sandbox import flow, put_skill, refused, told

MANY = 40


@pytest.mark.parametrize(
    "words", [["step", "evil"], ["status"], ["sessions"], ["prune"], ["verify"], ["audit"]]
)
@pytest.mark.parametrize("left", [None, "definition.json"])
def test_folders_of_sessions_that_were_never_begun_are_passed_over_at_once(
    words: list[str], left: str | None
) -> None:
    put_skill("evil")
    told("start", "evil")
    for number in range(MANY):
        folder = Path(".flow", "sessions", f"evil-aaaa{number + 10}")
        folder.mkdir(mode=0o700)
        if left is not None:
            (folder / left).write_text("{}")

    listed = calls_of(lambda: flow(*words), "ids")

    assert listed < MANY / 4


@pytest.mark.parametrize("words", [["handoff", "status", "--all"], ["audit"], ["prune"]])
def test_folders_of_handoffs_that_were_never_begun_are_passed_over_at_once(words: list[str]) -> None:
    put_skill("evil")
    told("start", "evil")
    for number in range(10, 10 + MANY):
        folder = Path(".flow", "handoffs", f"handoff-aaaa{number}")
        folder.mkdir(mode=0o700, parents=True)
        (folder / "journal.jsonl").touch()

    listed = calls_of(lambda: flow(*words), "ids")

    assert listed < MANY / 4


def test_an_id_that_was_never_begun_is_told_to_be_no_session() -> None:
    put_skill("evil")
    told("start", "evil")
    Path(".flow", "sessions", "evil-aaaaaa").mkdir(mode=0o700)

    status, error = refused("status", "evil-aaaaaa")

    assert (status, error["code"]) == (2, "UNKNOWN_SESSION")
    assert error["hint"] == "see all sessions: flow sessions --all"


@pytest.mark.parametrize(
    "words",
    [["verify"], ["audit"], ["audit", "verify"], ["status"], ["step", "evil"], ["prune"], ["sessions"]],
)
@pytest.mark.parametrize("name", ["sessions", "handoffs"])
def test_a_folder_that_cannot_be_looked_into_is_not_one_with_nothing_in_it(
    monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    put_skill("evil")
    told("start", "evil")
    shut = Path(".flow", name).absolute()
    shut.mkdir(mode=0o700, exist_ok=True)
    listed = os.listdir

    def listdir(folder: Any = ".") -> list[Any]:
        if folder == str(shut):
            raise PermissionError(13, "Permission denied", folder)
        return listed(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    if name == "handoffs" and words[0] not in {"audit", "prune"}:
        assert flow(*words).status == 0
        return
    status, error = refused(*words)

    assert (status, error["code"]) == (3, "STORAGE")
    assert f"{shut} cannot be looked into" in error["message"]
