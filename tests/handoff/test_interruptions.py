"""A handoff interrupted after each phase, and what each command then does with a payload, target or session that is gone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.handoffs import handoffs_folder, phases, receive, send, session, target
from support.interruptions import killed_at_calls
from support.sandbox import flow, refused, sessions_folder, told

PHASES = ["discovery", "selection", "validation", "transfer"]


def killed_after(phase: str, session_id: str) -> str:
    """Send to `digger`, killed after *phase* was recorded; return the handoff's id."""
    for _ in killed_at_calls(["handoff", "send", "digger", "--session", session_id], stride=3):
        handoffs = told("handoff", "status")["handoffs"]
        if handoffs and handoffs[0]["phase"] == phase:
            return str(handoffs[0]["handoff"])
        shutil.rmtree(handoffs_folder(), ignore_errors=True)
    raise AssertionError(phase)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("command", ["send", "retry"])
def test_a_handoff_is_continued_after_each_phase_and_validated_again(phase: str, command: str) -> None:
    target("digger")
    session_id = session()
    handoff = killed_after(phase, session_id)

    sent = send("digger", session_id) if command == "send" else told("handoff", "retry", handoff)

    assert (sent["handoff"], sent["phase"], sent["missing"]) == (handoff, "invocation", [])
    validated = ["validation", "transfer"] if phase == "transfer" else []
    assert phases(handoff) == [*PHASES, *validated, "invocation"]
    assert told("audit", "verify")["findings"] == []
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


@pytest.mark.parametrize("phase", ["validation", "transfer"])
@pytest.mark.parametrize(
    ("damage", "code", "finding"),
    [
        (delete_target, "TARGET_NOT_FOUND", "TARGET_GONE"),
        (change_target, "TARGET_NOT_FOUND", None),
        (delete_session, "SESSION_GONE", "SESSION_GONE"),
    ],
)
def test_damage_during_an_interruption_is_reported_by_every_command(
    phase: str, damage: Callable[[str], None], code: str, finding: str | None
) -> None:
    target("digger")
    session_id = session()
    handoff = killed_after(phase, session_id)
    damage(session_id)

    status, verify = told("handoff", "status", handoff), flow("audit", "verify", "--json").data
    audit = told("audit", handoff)["handoffs"][0]
    exit_status, error = refused("handoff", "retry", handoff)

    assert (exit_status, error["code"]) == (6, code)
    assert {"code", "message", "details", "recoverable", "payload_preserved"} <= error.keys()
    assert bool(status["missing"]) is bool(audit["missing"]) is bool(finding)
    assert {f["code"] for f in verify["findings"]} == ({finding} if finding else set())


@pytest.mark.parametrize("phase", PHASES)
def test_a_handoff_interrupted_for_25_hours_gets_a_new_payload(
    phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target("digger", schema_version='"2.0"')
    session_id = session()
    handoff = killed_after(phase, session_id)
    later = time.time() + 25 * 3600
    monkeypatch.setattr("time.time", lambda: later)

    if phase in {"validation", "transfer"}:
        status, error = refused("handoff", "retry", handoff)
        assert (status, error["recoverable"]) == (6, True)
        assert "has passed" in error["message"]
    sent = told("handoff", "retry", handoff)

    assert sent["phase"] == "invocation"
    assert sent["expired"] is False
