"""A payload, target or session that is gone is never shown as good, whichever command looks at its handoff."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from support.handoffs import phases, receive, send, session, target
from support.sandbox import flow, refused, sessions_folder, told


def verify_codes() -> set[str]:
    return {finding["code"] for finding in flow("audit", "--verify", "--json").data["findings"]}


@pytest.mark.parametrize("damage", ["deleted", "changed"])
def test_a_payload_that_is_gone_is_written_again(damage: str) -> None:
    target("digger")
    session_id = session()
    sent = send("digger", session_id)
    if damage == "deleted":
        Path(sent["payload"]).unlink()
    else:
        Path(sent["payload"]).write_text("{}")

    status, text, findings = told("handoff", "status", sent["id"]), flow("audit").out, verify_codes()
    again = send("digger", session_id)

    assert len(status["missing"]) == 1
    assert status["receive_command"] is None
    assert "stale     the payload " in text
    assert findings & {"PAYLOAD_GONE", "PAYLOAD_CHANGED"}
    assert (again["id"], again["sha256"], again["missing"]) == (sent["id"], sent["sha256"], [])
    assert any("it was written again" in note for note in again["notes"])
    assert receive(again).status == 0
    assert phases(sent["id"])[:3] == ["prepared", "sent", "sent"]
    assert verify_codes() == set()


def test_an_expired_payload_is_accepted_with_force_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    target("digger", schema_version='"2.0"')
    sent = send("digger", session())
    words = sent["receive_command"].split()[1:]
    later = time.time() + 3600 + 301
    monkeypatch.setattr("time.time", lambda: later)

    first, second = refused(*words), refused(*words)
    forced = told(*words, "--force", "--format", "json")

    assert [error["code"] for _, error in (first, second)] == ["VALIDATION_FAILED", "HANDOFF_CLOSED"]
    assert second[1]["hint"].endswith("--force")
    assert forced["handoff"]["status"] == "acknowledged"
    assert phases(sent["id"])[2:] == ["expired", "acknowledged"]
    assert verify_codes() == set()


COMMANDS = ("send", "receive", "status", "audit", "audit --verify")
#: What each command answers, in the order of COMMANDS: an error's code, what is missing, a finding, or nothing.
ANSWERS = {
    ("3.0", "payload deleted"): ("", "FILE_MISSING", "payload", "payload", "PAYLOAD_GONE"),
    ("3.0", "target deleted"): ("TARGET_NOT_FOUND", "", "target", "target", "TARGET_GONE"),
    ("3.0", "session deleted"): (
        "UNKNOWN_SESSION", "FILE_MISSING", "payload session", "payload session",
        "PAYLOAD_GONE SESSION_GONE",
    ),
    ("3.0", "25 hours later"): ("", "", "", "", ""),
    ("2.0", "25 hours later"): ("", "VALIDATION_FAILED", "expired", "expired", ""),
}  # fmt: skip


@pytest.mark.parametrize(("version", "damage"), ANSWERS)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_became_of_a_sent_handoff(
    command: str, version: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target("digger", schema_version=f'"{version}"')
    session_id = session()
    sent = send("digger", session_id)
    if damage == "payload deleted":
        Path(sent["payload"]).unlink()
    elif damage == "target deleted":
        (Path.home() / ".claude/skills/digger/SKILL.md").unlink()
    elif damage == "session deleted":
        shutil.rmtree(sessions_folder() / session_id)
    else:
        later = time.time() + 25 * 3600
        monkeypatch.setattr("time.time", lambda: later)
    words = {
        "send": ["handoff", "send", "digger", "--session", session_id],
        "receive": sent["receive_command"].split()[1:],
        "status": ["handoff", "status", sent["id"]],
        "audit": ["audit", sent["id"]],
        "audit --verify": ["audit", "--verify"],
    }[command]

    answer = flow(*words, "--json").data

    expected = ANSWERS[version, damage][COMMANDS.index(command)]
    assert _answer(answer) == expected
    if "error" in answer:
        assert {"code", "message", "details", "recoverable", "payload_preserved"} <= answer["error"].keys()


def _answer(answer: dict[str, Any]) -> str:
    """Return an error's code, the kinds of things that are missing, the codes of findings, or nothing."""
    if "error" in answer:
        return str(answer["error"]["code"])
    if answer.get("findings"):
        return " ".join(sorted({finding["code"] for finding in answer["findings"]}))
    handoff = answer["handoffs"][0] if isinstance(answer.get("handoffs"), list) else answer
    kinds = sorted(missing.split()[1] for missing in handoff.get("missing") or ())
    return " ".join(kinds) or ("expired" if handoff.get("status") == "expired" else "")
