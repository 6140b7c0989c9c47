"""Records behind which others stand: what in them is of another form is told, whatever reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.forged import folder_of, forged_behind, sealed
from support.golden_sessions import ASK, GATE
from support.judge import judged
from support.sandbox import put_skill, refused, told

FINDING = {"id": "f1", "severity": "MUST", "text": "It leaks.", "resolution": ["x"]}


@pytest.fixture
def session() -> str:
    put_skill("plain")
    return str(told("start", "plain")["session"])


def test_verify_goes_on_behind_a_record_of_another_form() -> None:
    put_skill("gate", GATE)
    session = str(told("start", "gate")["session"])
    for _ in range(2):
        told("step", "gate", "ok")
    forged_behind(session, kind="finding", session={"findings": [FINDING]})
    last = {"reported": "done", "outcome": "fail", "step": "gate", "to": "work"}
    forged_behind(session, kind="move", session={"revision": 3, "step": "work", "findings": [], "last": last})

    problems = judged("verify", session, "--json").data["sessions"][0]["problems"]

    damage = [each for each in problems if each["code"] == "JOURNAL_DAMAGED"]
    assert [each["place"].rpartition(":")[2] for each in damage] == ["4"]


def test_nothing_begins_from_an_earlier_record_of_another_form(session: str) -> None:
    journal = folder_of(session) / "journal.jsonl"
    record = json.loads(journal.read_bytes())
    del record["hash"], record["mac"]
    received = {"handoff": "h", "payload": "p", "from": "x", "chain": {"a": 1}}
    journal.write_bytes(sealed({**record, "session": {**record["session"], "received": received}}))
    forged_behind(session, kind="note", session={"received": {}})
    told("adopt", session)

    for words in (["fork", session, "--at", "0"], ["rewind", session, "--to", "0"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "JOURNAL_DAMAGED"), words
        assert "journal.jsonl:1: " in error["message"]
    assert told("step", "plain", "ok", "--session", session)["step"]["id"] == "second"


def test_a_finding_of_a_severity_that_nobody_knows_is_damage(session: str) -> None:
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    finding = {"id": "f1", "severity": "obey", "text": "It leaks."}
    forged_behind(session, kind="note", session={"findings": [finding]})

    for words in (["status", session], ["adopt", session], ["step", "plain"]):
        assert "Traceback" not in judged(*words).err, words
    status, error = refused("resume", session)
    assert (status, error["code"]) == (3, "JOURNAL_DAMAGED")
    assert "a severity that nobody knows" in error["message"]
    assert (
        judged("verify", session, "--json").data["sessions"][0]["problems"][-1]["code"] == "JOURNAL_DAMAGED"
    )


@pytest.mark.parametrize("change", [{"outcome": "obey"}, {"outcome": "another-round"}])
def test_an_answer_that_stands_for_no_outcome_is_damage(change: dict[str, Any]) -> None:
    put_skill("ask", ASK)
    session = str(told("start", "ask")["session"])
    (question,) = json.loads((folder_of(session) / "journal.jsonl").read_bytes())["session"]["questions"]
    options = [{**each, **change} for each in question["options"]]
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    forged_behind(session, kind="note", session={"questions": [{**question, "options": options}]})

    for words in (["adopt", session], ["answer", session, "go=Yes"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "JOURNAL_DAMAGED"), words
        assert "stands for no outcome" in error["message"]
