"""A folder in a store that is not a session, or that cannot be listed, is reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import flow, put_skill, refused, told


def test_an_id_that_was_never_begun_is_told_to_be_no_session() -> None:
    put_skill("evil")
    told("start", "evil")
    Path(".flow", "sessions", "evil-aaaaaa").mkdir(mode=0o700)

    status, error = refused("status", "evil-aaaaaa")

    assert (status, error["code"]) == (2, "UNKNOWN_SESSION")
    assert error["hint"].startswith("see all sessions: flow sessions --all")


@pytest.mark.parametrize(
    "words",
    [
        ["session", "verify"],
        ["audit"],
        ["audit", "verify"],
        ["status"],
        ["step", "evil"],
        ["session", "prune"],
        ["sessions"],
    ],
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
    if name == "handoffs" and not {"audit", "prune"} & {*words}:
        assert flow(*words).status == 0
        return
    status, error = refused(*words)

    assert (status, error["code"]) == (3, "STORAGE")
    assert f"{shut} cannot be listed" in error["message"]
