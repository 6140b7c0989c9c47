"""Rare situations: interrupted and forged handoffs, receivers at the same moment, the keys of the JSON answers."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.golden import as_in_golden_file
from support.handing import handoffs_folder, ours, receive, send, session, target
from support.handoffs import example
from support.killing import killed_at_every_call
from support.sandbox import flow, process, refused, sessions_folder, told

from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import render
from flowrail.storage.ownership import Owner


def test_the_audit_shows_the_failure_of_a_cancelled_handoff() -> None:
    target("digger", requires="[insights.uncertainties]")
    refused("handoff", "send", "digger", "--session", session())
    handoff = told("handoff", "status")["handoffs"][0]["handoff"]

    told("handoff", "cancel", handoff)

    assert "FAILED requirements_met" in flow("audit", "--handoffs").out
    flow("audit", "--html", "a.html")
    assert '<span class="bad">failed</span>' in Path("a.html").read_text()
    assert told("audit", "verify")["payloads"] == 0


def test_the_audit_shows_a_handoff_without_checks() -> None:
    target("digger")
    here = session()
    for _ in killed_at_every_call(["handoff", "send", "digger", "--session", here]):
        found = told("handoff", "status")["handoffs"]
        if found and found[0]["phase"] == "selection":
            break
        shutil.rmtree(handoffs_folder(), ignore_errors=True)

    text = flow("audit", "--handoffs").out
    flow("audit", "--html", "a.html")

    assert "reason" not in text
    assert "sha256" not in text
    assert "<th>check</th>" not in Path("a.html").read_text()
    assert told("audit", "verify")["findings"] == []


def test_bytes_that_are_no_document_are_refused() -> None:
    Path("p.json").write_text('{"handoff": {')

    status, error = refused("handoff", "receive", "p.json")

    assert (status, error["code"]) == (6, "INVALID_PAYLOAD")
    assert error["details"]["validation_errors"]


def arrived() -> Path:
    handoff = integrity.sealed("3.0", {**example("3.0"), "target": {"skill": "digger"}})
    path = Path.cwd() / "payload.json"
    path.write_bytes(render(handoff, "json"))
    return path


def test_only_one_of_several_receivers_gets_a_payload_from_elsewhere() -> None:
    ours("digger")
    path = arrived()

    with ThreadPoolExecutor(6) as pool:
        every = list(pool.map(lambda _: process("handoff", "receive", str(path), "--json"), range(6)))

    assert sorted(each.status for each in every) == [0, 6, 6, 6, 6, 6]
    assert len(list(handoffs_folder().glob("handoff-*"))) == 1


def test_a_payload_from_elsewhere_may_go_again() -> None:
    ours("digger")
    path = arrived()
    assert flow("handoff", "receive", str(path)).status == 0

    path.unlink()
    assert told("audit", "verify")["findings"] == []
    path.write_text("{}")
    assert flow("audit", "verify").status == 1


def test_a_receipt_whose_payload_is_wrong_and_late_does_not_end_the_handoff() -> None:
    target("digger", schema_version='"2.0"')
    here = session()
    sent = send("digger", here)
    later = "import time; real = time.time; time.time = lambda: real() - 3600"

    ran = process(*sent["receive_command"].split()[1:], "--json", before=later)

    assert ran.status == 6
    assert "is in the future" in ran.error["message"]
    assert told("handoff", "status", sent["handoff"])["phase"] == "invocation"


def rewritten(path: Path, changes: list[tuple[str, str]]) -> None:
    """Write a journal anew as somebody could who knows how its hashes are made, but not the user's key."""
    before, lines = "", []
    for line in path.read_text().splitlines():
        body = json.loads(line)
        body.pop("hash")
        text = json.dumps({**body, "prev": before}, separators=(",", ":"))
        for old, new in changes:
            text = text.replace(old, new)
        before = sha256(text[:-1].encode()).hexdigest()
        lines.append(f'{text[:-1]},"hash":"{before}"}}\n')
    path.write_text("".join(lines))
    Owner(str(Path.home() / ".local" / "state" / "flowrail")).claim(
        str(path.parent.absolute()), json.loads(lines[0])["hash"]
    )


def test_journals_that_were_written_anew_are_found_out() -> None:
    target("digger")
    sent = send("digger", session())
    folder = handoffs_folder() / sent["handoff"]
    (folder / "handoff.json").unlink()
    rewritten(
        folder / "journal.jsonl", [('"phase":"transfer"', '"phase":"selection"'), (sent["sha256"], "0" * 64)]
    )

    codes = {each["code"] for each in json.loads(flow("audit", "verify", "--json").out)["findings"]}

    assert codes == {"ILLEGAL_STEP", "DIGESTS_DIFFER", "PAYLOAD_CHANGED"}


def test_a_sessions_move_that_its_workflow_does_not_have_is_found_out() -> None:
    target("digger")
    here = session("source", "-s", "synthesis_summary=x")
    send("digger", here)
    folder = sessions_folder() / here
    (folder / "session.json").unlink()
    rewritten(folder / "journal.jsonl", [('"revision":1', '"revision":2')])

    found = json.loads(flow("audit", "verify", "--json").out)["findings"]

    assert {(each["id"], each["code"]) for each in found} == {(here, "RECORD_WRONG")}


def test_a_journal_and_a_copy_that_differ_are_found_out() -> None:
    target("digger")
    sent = send("digger", session())
    folder = handoffs_folder() / sent["handoff"]
    (folder / "journal.jsonl").write_text("{}\n")

    assert json.loads(flow("audit", "verify", "--json").out)["findings"][0]["code"] == "JOURNAL_DAMAGED"


def keys_of(value: Any, at: str = "") -> set[str]:
    if isinstance(value, list):
        return set().union(*(keys_of(item, f"{at}[]") for item in value))
    if not isinstance(value, dict) or at.rpartition(".")[2] in {
        "note",
        "details",
        "params",
        "handoff_payload",
    }:
        return set()
    return {f"{at}.{key}" for key in value}.union(
        *(keys_of(item, f"{at}.{key}") for key, item in value.items())
    )


def test_the_keys_of_answers_are_promises() -> None:
    target("digger", requires="[insights.uncertainties]")
    ours("other")
    here = session()
    _, error = refused("handoff", "send", "digger", "--session", here)
    failed = told("handoff", "status", error["details"]["handoff"])
    sent = send("other", here)
    answers = {
        "error": error,
        "send": {**failed, **sent, "failure": failed["failure"]},
        "receive": receive(sent).data["handoff"],
        "validate": json.loads(flow("handoff", "validate", sent["payload"], "--json").out),
        "convert": {**told("handoff", "convert", sent["payload"], "--to", "2.0"), "handoff": None},
        "audit": told("audit"),
        "verify": told("audit", "verify"),
    }

    found = {name: sorted(keys_of(answer)) for name, answer in answers.items()}

    assert as_in_golden_file("handoff_keys.json", json.dumps(found, indent=1))
