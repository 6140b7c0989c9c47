"""What agents and people may rely on when work is handed over, in the corners where it once broke."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.forked import start_recorded
from support.handoffs import ours, payload_of, phases, receive, send, session, target
from support.sandbox import flow, refused, sessions_folder, told

from flowrail.text import yaml as yaml_text

PROMPT = ("-s", "prompt=Should we expand?")


def written(name: str, handoff: dict[str, Any], *, indent: int | None = None) -> str:
    Path(name).write_text(json.dumps({"handoff": handoff}, indent=indent))
    return name


@pytest.mark.every_store
def test_a_payload_is_received_once_however_it_is_written() -> None:
    target("digger")
    sent = send("digger", session())
    handoff = payload_of(sent)
    text = Path(sent["payload"]).read_text()
    receive(sent)
    Path("longer.json").write_text(text + "\n")
    Path("as.yaml").write_bytes(yaml_text.dump({"handoff": handoff}).encode())

    copies = [
        "longer.json",
        "as.yaml",
        written("compact.json", handoff),
        written("i.json", handoff, indent=7),
    ]

    assert {refused("handoff", "receive", copy)[1]["code"] for copy in copies} == {"ALREADY_RECEIVED"}


@pytest.mark.parametrize("received", [True, False])
def test_a_payload_with_other_content_is_not_the_one_that_was_sent(received: bool) -> None:
    target("digger")
    sent = send("digger", session())
    handoff = payload_of(sent)
    if received:
        receive(sent)
    handoff["context"]["original_prompt"] = "Should we leave the market?"

    status, error = refused("handoff", "receive", written("edited.json", handoff))

    assert (status, error["code"]) == (6, "ALREADY_RECEIVED" if received else "VALIDATION_FAILED")
    if not received:
        assert error["message"].endswith(
            "not the payload that was sent: `handoff.context.original_prompt` differs"
        )
    assert told("handoff", "status", sent["id"])["status"] == ("acknowledged" if received else "sent")


def test_new_work_of_a_plain_skill_starts_a_new_chain() -> None:
    for name in ("digger", "builder"):
        target(name)
    told("handoff", "send", "digger", "--from", "builder", *PROMPT)

    _, loop = refused("handoff", "send", "builder", "--from", "digger", *PROMPT)
    sent = told("handoff", "send", "builder", "--from", "digger", *PROMPT, "--new")

    assert loop["details"]["rule"] == "LOOP"
    assert loop["hint"].endswith("; add `--new` if this is new work")
    assert (sent["chain"], sent["hops"]) == (["digger"], 1)
    assert refused("handoff", "send", "digger", "--session", session(), "--new")[0] == 2


def test_work_that_was_sent_but_not_confirmed_continues_its_chain_and_says_so() -> None:
    for name in ("first", "digger", "builder"):
        target(name)
    earlier = told("handoff", "send", "digger", "--from", "first", *PROMPT)

    sent = told("handoff", "send", "builder", "--from", "digger")

    assert sent["chain"] == ["first", "digger"]
    assert sent["trace_id"] == earlier["trace_id"]
    [note] = sent["notes"]
    assert note == (
        f"continues the work received in {earlier['id']}, although `digger` has not confirmed it; "
        "add --new if this is new work"
    )


def test_an_unknown_source_is_refused_with_a_suggestion() -> None:
    target("lit-pm")
    target("digger")

    status, error = refused("handoff", "send", "digger", "--from", "litpm", *PROMPT)

    assert (status, error["code"]) == (6, "TARGET_NOT_FOUND")
    assert error["message"] == "unknown skill `litpm`"
    assert "did you mean `lit-pm`" in error["hint"]


@pytest.mark.parametrize("phase", ["sent", "acknowledged"])
def test_nothing_removes_a_finding_but_its_cause(phase: str) -> None:
    target("digger")
    session_id = session()
    sent = send("digger", session_id)
    if phase == "acknowledged":
        receive(sent)
    kept = Path("kept")
    shutil.copytree(sessions_folder() / session_id, kept)
    shutil.rmtree(sessions_folder() / session_id)
    codes = {finding["code"] for finding in flow("audit", "--verify", "--json").data["findings"]}

    for command in (
        ["handoff", "send", "digger", "--session", session_id],
        ["handoff", "status", sent["id"]],
        ["handoff", "receive", sent["payload"]],
    ):
        flow(*command)
        assert {f["code"] for f in flow("audit", "--verify", "--json").data["findings"]} == codes
    shutil.copytree(kept, sessions_folder() / session_id)

    assert codes == {"PAYLOAD_GONE"} | ({"SESSION_GONE"} if phase == "sent" else set())
    assert told("audit", "--verify")["findings"] == []


@pytest.mark.parametrize("source", ["skill", "session"])
def test_two_equal_sends_at_the_same_time_make_one_handoff(source: str) -> None:
    target("digger")
    target("other")
    words = ["--from", "other", *PROMPT] if source == "skill" else ["--session", session()]

    senders = [start_recorded(["handoff", "send", "digger", *words, "--json"]) for _ in range(4)]
    answers = [sender.ran() for sender in senders]

    assert {answer.status for answer in answers} == {0}
    assert len({answer.data["id"] for answer in answers}) == 1
    assert len(told("handoff", "status")["handoffs"]) == 1


NEEDS_AREA = """\
name: NAME
params: {area: {type: string, required: true, example: here}}
steps: [{id: a, title: A, actions: ["$area"], next: {ok: null}}]
"""


def test_a_receipt_without_a_parameter_leaves_nothing_behind_and_says_how_to_repeat_it() -> None:
    ours("digger", NEEDS_AREA)
    sent = send("digger", session())
    handoff = {**payload_of(sent), "trace_id": "0b0e6ac1-7c1f-4a53-9d0c-2f6f0c1d2e3f"}  # from elsewhere
    before = sorted(Path(".flow").rglob("*"))

    own = receive(sent).error
    _, other = refused("handoff", "receive", written("far.json", handoff))

    assert own["hint"] == f"receive it with: {sent['receive_command']} -p 'area=…'".replace("  ", " ")
    assert other["hint"] == "receive it with: flow handoff receive far.json -p 'area=…'"
    sessions = [
        path for path in Path(".flow").rglob("*") if path not in before and not path.name.startswith(".lock")
    ]
    assert sessions == []
    assert phases(sent["id"]) == ["prepared", "sent"]
    assert receive(sent, "-p", "area=there").status == 0


def test_files_of_a_payload_outside_the_project_are_not_read() -> None:
    target("digger")
    target("writer")
    secret = Path.cwd().parent / "secret.txt"
    secret.write_text("key")
    Path("inside.txt").write_text("text")
    handoff = payload_of(told("handoff", "send", "digger", "--from", "writer", *PROMPT))
    handoff["payload"]["references"] = {
        "files": [{"path": str(secret)}, {"path": str(Path("inside.txt").resolve())}]
    }
    handoff["payload"]["working"]["facts"] = {
        "key_files": [str(secret)],
        "note_files": ["inside.txt", "../secret.txt"],
    }
    del handoff["meta"]["payload_hash"], handoff["meta"]["payload_size_bytes"]

    sent = told(
        "handoff", "send", "digger", "--from", "writer", "--payload", written("w.json", handoff), "--new"
    )

    files = payload_of(sent)["payload"]["session"]["artifacts"]
    assert {file["name"] for file in files} == {"inside.txt"}
    assert "secret" not in Path(sent["payload"]).read_text()


def test_people_read_a_status_and_how_many_of_the_checks_that_ran_passed() -> None:
    target("digger")
    target("closed", accepts_from='["first"]')
    refused("handoff", "send", "closed", "--session", session())
    receive(send("digger", session()))
    told("handoff", "cancel", send("digger", session())["id"], "--reason", "not wanted")
    send("digger", session())

    handoffs = {each["status"]: each["id"] for each in told("handoff", "status", "--all")["handoffs"]}
    checked = {status: told("handoff", "status", handoffs[status])["checks"] for status in handoffs}

    assert handoffs.keys() == {"rejected", "acknowledged", "cancelled", "sent"}
    for status, checks in checked.items():
        passed = sum(check["holds"] for check in checks)
        assert (
            f"checks    {passed} of {len(checks)} passed\n" in flow("handoff", "status", handoffs[status]).out
        )
    plain = flow("handoff", "send", "digger", "--from", "closed", *PROMPT).out
    assert len(checked["sent"]) == 8
    assert "checks    7 of 7 passed\n" in plain  # this handoff has no session
