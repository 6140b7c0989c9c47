"""A send that was interrupted after its first record, and what became of its target and session since."""

from __future__ import annotations

import os
import shutil
import time
from unittest.mock import patch

import pytest
from support.handoffs import handoffs_folder, phases, receive, send, session, target
from support.interruptions import killed_at_calls
from support.sandbox import told


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
