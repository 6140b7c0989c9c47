"""How evidence and reports meet: rules, limits, answers, records, and the question after several refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.evidence import begin, demand, report, write
from support.sandbox import flow, process, put_python, put_skill, refused, told
from support.terminal import at_a_terminal

PLAN = {"id": "plan", "file": "plan.md"}


def test_a_refused_claim_and_the_results_of_an_accepted_one_are_on_record() -> None:
    demand(PLAN, {"id": "parts", "files": "*.md"})
    session = begin()
    report(session)
    write("plan.md", "plan")
    report(session)

    journal = Path(".flow/sessions", session, "journal.jsonl").read_text().splitlines()
    refusal, move = (json.loads(line) for line in journal[1:])

    assert (refusal["kind"], refusal["note"]) == ("refused", {"claim": "ok", "missing": ["plan", "parts"]})
    assert [result["verdict"] for result in refusal["session"]["evidence"]["results"]] == [
        "missing",
        "missing",
    ]
    results = move["session"]["last"]["evidence"]
    assert [(result["check"], result["verdict"]) for result in results] == [
        ("plan", "pass"),
        ("parts", "pass"),
    ]


def test_a_handler_cannot_wave_its_outcome_through() -> None:
    folder = put_python("built", "return Outcome.OK", where=Path.home() / ".claude" / "skills")
    file = folder / "workflow.py"
    text = file.read_text().replace(
        "next={Outcome.OK", "evidence={'ok': [Evidence('plan', file='plan.md')]}, next={Outcome.OK", 1
    )
    file.write_text(text.replace("import Outcome", "import Evidence, Outcome"))

    assert report(begin(), "done") == {"plan": "missing"}


def test_after_several_refusals_a_person_is_asked() -> None:
    demand(PLAN)
    session = begin()
    report(session)
    report(session)

    ran = flow("step", "built", "ok", "--session", session)
    shown = told("resume", session)

    assert "a person must decide now" in ran.err
    assert shown["status"] == "waiting"
    question = shown["questions"][0]
    assert question["text"] == "Build: 3 reports lacked evidence (`plan`). What next?"
    assert [option["label"] for option in question["options"]] == ["Try again", "Waive", "Stop"]
    assert [option["person"] for option in question["options"]] == [False, True, False]
    error = refused("step", "built", "ok", "--session", session)[1]
    assert error["code"] == "QUESTION_OPEN"
    assert error["hint"] == (
        "ask the user (`Try again`, `Waive`, `Stop`; if they are away, end your turn: the question waits), "
        f"then: flow answer {session} evidence=OPTION"
    )
    assert told("answer", session, "evidence=Try again")["status"] == "active"
    for _ in range(3):
        report(session)
    assert told("answer", session, "evidence=Stop")["status"] == "failed"


# --- people


SIGNED = {"id": "signed", "person": "the numbers are right"}


def test_only_a_person_at_a_terminal_approves_or_waives(monkeypatch: pytest.MonkeyPatch) -> None:
    demand(SIGNED, PLAN)
    session = begin()
    assert report(session) == {"signed": "missing", "plan": "missing"}
    for words in (["approve", "signed"], ["waive", "plan", "--reason", "trust me"]):
        unasked = process(*words, "--session", session, before="import os; os.setsid()")
        assert (unasked.status, "[PERSON_NEEDED]" in unasked.err) == (4, True)
        in_chat = process(*words, "--session", session, env={"CLAUDE_CODE_SESSION_ID": "abc"})
        assert (in_chat.status, "[PERSON_NEEDED]" in in_chat.err) == (4, True)

    output, status = at_a_terminal(["approve", "--session", session], "yes")

    assert (status, "expected a person to confirm: the numbers are right" in output) == (0, True), output
    assert report(session) == {"plan": "missing"}
    assert at_a_terminal(["waive", "plan", "--session", session, "--reason", "no plan here"], "yes")[1] == 0
    assert report(session) == {}
    checks = {check["check"]: check for check in told("sessions", session)["history"][-1]["evidence"]}
    assert (checks["plan"]["verdict"], checks["plan"]["reason"]) == ("waived", "no plan here")
    assert checks["signed"]["verdict"] == "pass"


def test_an_ended_session_shows_its_checks_and_their_results() -> None:
    demand(SIGNED, PLAN)
    session = begin()
    write("plan.md", "plan")
    report(session)
    assert at_a_terminal(["approve", "--session", session], "yes")[1] == 0
    report(session)
    told("step", "built", "ok", "--session", session)

    shown = flow("sessions", session)

    assert (shown.status, f"{session} · revision 2 · completed" in shown.out) == (0, True)
    checks = shown.out.partition("verdict  found\n")[2].splitlines()
    assert [line.split(maxsplit=4) for line in checks] == [
        ["0", "build", "signed", "missing", "no person confirmed it"],
        ["0", "build", "plan", "pass", "4 bytes"],
        ["1", "build", "signed", "pass", "a person confirmed it"],
        ["1", "build", "plan", "pass", "4 bytes"],
    ]


def test_an_approval_and_a_waiver_count_for_one_attempt_and_end_the_question() -> None:
    demand(SIGNED)
    session = begin()
    for _ in range(3):
        report(session)
    assert told("resume", session)["status"] == "waiting"

    assert at_a_terminal(["approve", "signed", "--session", session], "yes")[1] == 0

    assert told("resume", session)["status"] == "active"
    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)
    assert report(session) == {"signed": "missing"}


FIX = """\
name: fixed
steps:
  - id: fix
    title: Fix
    actions: [Fix it.]
    limit: 1
    evidence:
      fail: [{id: log, file: log.md, contains: [red]}]
    next: {ok: null, fail: fix}
"""


def test_the_limit_asks_the_user_only_after_the_evidence_of_the_report_holds() -> None:
    put_skill("fixed", FIX)
    session = told("step", "fixed", "--new")["session"]

    status, error = refused("step", "fixed", "fail", "--session", session)

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")
    write("log.md", "red\n")
    asked = told("step", "fixed", "fail", "--session", session)["questions"]
    assert [question["id"] for question in asked] == ["limit"]
