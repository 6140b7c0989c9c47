"""Handoffs that another user recorded are refused and never counted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.handing import forged, handoffs_folder, journal_of, ours, send, session
from support.sandbox import flow, refused, told


@pytest.mark.parametrize("words", [["handoff", "status"], ["handoff", "retry"], ["handoff", "cancel"]])
def test_a_handoff_that_another_user_recorded_is_refused_in_one_line(words: list[str]) -> None:
    ours("other")
    sent = send("other", session())["handoff"]
    (handoffs_folder() / sent / "owner").unlink()

    status, error = refused(*words, sent)

    assert (status, error["code"]) == (7, "FOREIGN_HANDOFF")
    assert told("handoff", "status", "--all")["handoffs"] == []
    assert "1 handoff cannot be read" in flow("handoff", "status", "--all").err


def test_hops_that_somebody_else_recorded_are_not_counted() -> None:
    ours("b")
    sent = send("b", session())
    *_, last = journal_of(sent["handoff"])
    forged(0, [{**last, "seq": 0, "handoff": {**last["handoff"], "hops": 100}}])
    copy = Path("copy.json")
    shutil.copy(sent["payload"], copy)
    shutil.rmtree(handoffs_folder() / sent["handoff"])

    assert told("handoff", "receive", str(copy))["handoff"]["hops"] == 1


def test_handoffs_that_a_link_leads_to_are_those_of_no_store_of_this_project() -> None:
    ours("other")
    sent = send("other", session())
    left = handoffs_folder() / sent["handoff"] / ".0123456789abcdef.tmp"
    left.touch()
    os.utime(left, (0, 0))
    elsewhere = Path("elsewhere").absolute()
    Path(".flow").rename(elsewhere)
    Path(".flow").mkdir(mode=0o700)
    Path(".flow/handoffs").symlink_to(elsewhere / "handoffs")

    for words in (
        ["handoff", "status", "--all"],
        ["handoff", "status", sent["handoff"]],
        ["handoff", "cancel", sent["handoff"]],
        ["audit"],
        ["audit", "verify"],
        ["session", "prune", "--older-than", "0"],
    ):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "DIRECTORY_NOT_PRIVATE"), words
    assert told("discover")["candidates"]
    assert left.exists()
    journal = elsewhere / "handoffs" / sent["handoff"] / "journal.jsonl"
    assert [json.loads(line)["kind"] for line in journal.read_text().splitlines()][-1] == "invocation"
