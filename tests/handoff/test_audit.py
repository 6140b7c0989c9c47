"""`flow audit` shows what happened in handoffs and sessions, and verifies every byte of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.forged import rewritten
from support.handoffs import handoffs_folder, ours, receive, send, session, target
from support.sandbox import accept, flow, refused, sessions_folder, told


def a_chain() -> tuple[list[dict[str, Any]], list[str]]:
    """Hand work from a to b to c, the second time after a failure; return the handoffs and the sessions."""
    for name in "ab":
        ours(name)
    ours("c", requires="[insights.uncertainties]")
    sent, sessions = [], [session("a", "-s", "synthesis_summary=We look")]
    sent.append(send("b", sessions[-1], "--reason", "it <b>needs</b> depth"))
    sessions.append(receive(sent[-1]).data["step"]["session"])
    facts = Path("facts.json")
    facts.write_text('{"key_uncertainties": ["cost"]}')
    _, error = refused("handoff", "send", "c", "--session", sessions[-1])
    sent.append(send("c", sessions[-1], "--facts", "facts.json"))
    assert sent[-1]["id"] == error["details"]["handoff"]
    sessions.append(receive(sent[-1]).data["step"]["session"])
    return sent, sessions


@pytest.mark.parametrize("moved", [True, False])
def test_a_moved_or_copied_store_can_be_verified(moved: bool) -> None:
    sent, sessions = a_chain()
    if moved:
        Path(".flow").rename("other")
    else:
        shutil.copytree(".flow", "other")

    findings = flow("audit", "--verify", "--store", "other", "--json").data["findings"]
    assert {finding["code"] for finding in findings} == {"FOREIGN_HANDOFF", "FOREIGN_SESSION"}
    for session_id in sessions:
        assert accept(session_id, "--store", "other").status == 0
    assert told("audit", "--verify", "--store", "other")["findings"] == []
    names = [Path(handoff["payload"]).relative_to(Path.cwd() / ".flow") for handoff in sent]
    for name in (*names, Path("sessions", sessions[1], "received-payload.json")):
        (Path("other") / name).write_text("{}")
    entries = flow("audit", "--verify", "--store", "other", "--json").data["findings"]
    assert {finding["code"] for finding in entries} == {"PAYLOAD_CHANGED"}
    assert len(entries) == 3


def evidence() -> list[Path]:
    """Return the journals and payloads of the store; other files are made of them or for people."""
    names = {"journal.jsonl", "handoff-payload.yaml", "received-payload.yaml", "received-payload.json"}
    return [
        path
        for path in (*handoffs_folder().rglob("*"), *sessions_folder().rglob("*"))
        if path.name in names or (path.is_file() and path.parent.name == "handoffs")
    ]


def test_an_edited_byte_is_found_in_every_file() -> None:
    ours("old", schema_version='"2.0"')
    _, sessions = a_chain()
    receive(send("old", sessions[-1]))
    files = evidence()
    assert len(files) == 14

    for path in files:
        data = path.read_bytes()
        at = len(data) // 2
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert flow("audit", "--verify").status == 1, path
        path.write_bytes(data)
    assert flow("audit", "--verify").status == 0


def test_a_rewritten_journal_is_detected() -> None:
    target("digger")
    sent = send("digger", session())
    folder = handoffs_folder() / sent["id"]

    def change(records: list[dict[str, Any]]) -> None:
        text = json.dumps(records).replace('"phase": "transfer"', '"phase": "selection"')
        records[:] = json.loads(text.replace(sent["sha256"], "0" * 64))

    rewritten(folder, change)

    codes = {finding["code"] for finding in json.loads(flow("audit", "--verify", "--json").out)["findings"]}

    assert codes == {"PHASES_OUT_OF_ORDER", "DIGESTS_DIFFER", "PAYLOAD_CHANGED"}
