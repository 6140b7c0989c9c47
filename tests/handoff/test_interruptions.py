"""A send that was interrupted after its first record, and what became of its target and session since."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from support.handoffs import handoffs_folder, phases, receive, send, session, target
from support.interruptions import killed_at_calls
from support.sandbox import flow, refused, sessions_folder, told


def interrupted(session_id: str) -> str:
    """Send to `digger`, killed after the first record; return the handoff's id."""
    for _ in killed_at_calls(["handoff", "send", "digger", "--session", session_id], stride=3):
        handoffs = told("handoff", "status")["handoffs"]
        if handoffs and handoffs[0]["status"] == "prepared":
            return str(handoffs[0]["id"])
        shutil.rmtree(handoffs_folder(), ignore_errors=True)
    raise AssertionError("never killed after the first record")


def test_an_interrupted_send_is_checked_again_and_continued() -> None:
    target("digger")
    session_id = session()
    handoff = interrupted(session_id)

    sent = send("digger", session_id)

    assert (sent["id"], sent["status"], sent["missing"]) == (handoff, "sent", [])
    assert phases(handoff) == ["prepared", "sent"]
    assert told("audit", "--verify")["findings"] == []
    assert receive(sent).status == 0


def delete_target(session_id: str) -> None:
    del session_id
    (Path.home() / ".claude/skills/digger/SKILL.md").unlink()


def change_target(session_id: str) -> None:
    del session_id
    card = Path.home() / ".claude/skills/digger/SKILL.md"
    card.write_text(card.read_text() + "changed")


def delete_session(session_id: str) -> None:
    shutil.rmtree(sessions_folder() / session_id)


@pytest.mark.parametrize(
    ("damage", "code", "finding"),
    [
        (delete_target, "TARGET_NOT_FOUND", "TARGET_GONE"),
        (change_target, "TARGET_NOT_FOUND", None),
        (delete_session, "UNKNOWN_SESSION", "SESSION_GONE"),
    ],
)
def test_damage_during_an_interruption_is_reported_by_every_command(
    damage: Callable[[str], None], code: str, finding: str | None
) -> None:
    target("digger")
    session_id = session()
    handoff = interrupted(session_id)
    damage(session_id)

    status, verify = told("handoff", "status", handoff), flow("audit", "--verify", "--json").data
    audit = told("audit", handoff)["handoffs"][0]
    _, error = refused("handoff", "send", "digger", "--session", session_id)

    assert error["code"] == code
    assert {"code", "message", "details", "recoverable", "payload_preserved"} <= error.keys()
    assert bool(status["missing"]) is bool(audit["missing"]) is bool(finding)
    assert {f["code"] for f in verify["findings"]} == ({finding} if finding else set())


def test_a_send_that_was_interrupted_for_25_hours_gets_a_new_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    target("digger", schema_version='"2.0"')
    session_id = session()
    handoff = interrupted(session_id)
    later = time.time() + 25 * 3600
    monkeypatch.setattr("time.time", lambda: later)

    sent = send("digger", session_id)

    assert (sent["id"], sent["status"]) == (handoff, "sent")
    assert phases(handoff) == ["prepared", "prepared", "sent"]


def test_a_send_waits_for_the_disk_at_most_four_times() -> None:
    target("digger")
    session_id = session()
    send("digger", session_id)  # creates the folders
    with patch("os.fsync", wraps=os.fsync) as flush:
        sent = send("digger", session_id, "--reason", "another one")

    assert phases(sent["id"]) == ["prepared", "sent"]
    assert flush.call_count <= 4
