"""How evidence and reports meet: rules, limits, answers, records, and the question after several refusals."""

from __future__ import annotations

import json
from pathlib import Path

from support.evidence import begin, demand, report, write
from support.sandbox import flow, put_python, put_skill, refused, told

PLAN = {"id": "plan", "file": "plan.md"}

RULED = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    limit: 2
    evidence: {ok: [{id: plan, file: plan.md}], iterate: [{id: notes, file: notes.md}]}
    rules: [{if: "evidence.plan.passed", outcome: ok}, {if: "evidence.notes.verdict == 'pass'", outcome: iterate},
            {outcome: fail}]
    next: {ok: null, iterate: build, fail: null}
"""
LOOP = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    limit: 1
    evidence: {ok: [{id: plan, file: plan.md}]}
    next: {ok: null, iterate: build}
"""
ASKED = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    evidence: {ok: [{id: plan, file: plan.md}]}
    questions: [{id: go, header: Go, text: "Go on?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}]
    next: {ok: null, fail: null}
"""


def test_a_refused_claim_and_the_results_of_an_accepted_one_are_on_record() -> None:
    demand(PLAN, {"id": "parts", "files": "*.md"})
    session = begin()
    report(session)
    write("plan.md", "plan")
    report(session)

    journal = Path(".flow/sessions", session, "journal.jsonl").read_text().splitlines()
    refusal, move = (json.loads(line) for line in journal[1:])

    assert (refusal["kind"], refusal["note"]) == ("refused", {"claim": "ok", "missing": ["plan", "parts"]})
    assert [result["verdict"] for result in refusal["session"]["evidence"]["build"]["results"]] == [
        "fail",
        "empty",
    ]
    results = move["session"]["last"]["evidence"]
    assert [(result["check"], result["level"], result["verdict"]) for result in results] == [
        ("plan", "checked", "pass"),
        ("parts", "checked", "pass"),
    ]
    assert len(results[0]["files"]["plan.md"]) == 64


def test_rules_decide_by_the_results_and_the_chosen_outcome_needs_its_evidence() -> None:
    put_skill("built", RULED)
    assert told("step", "built", "done", "--session", begin())["status"] == "failed"

    write("notes.md", "notes")
    session = begin()
    assert told("step", "built", "done", "--session", session)["step"]["attempt"] == 2
    write("plan.md", "plan")
    assert told("step", "built", "done", "--session", session)["status"] == "completed"


def test_a_handler_sees_the_results_and_cannot_wave_its_outcome_through() -> None:
    body = "return Outcome.OK if ctx.evidence['plan'].passed or ctx.workflow_params['bold'] else Outcome.FAIL"
    folder = put_python("built", body, where=Path.home() / ".claude" / "skills")
    file = folder / "workflow.py"
    text = file.read_text().replace(
        "next={Outcome.OK", "evidence={'ok': [EvidenceCheck('plan', file='plan.md')]}, next={Outcome.OK", 1
    )
    text = text.replace("import Outcome", "import Arg, EvidenceCheck, Outcome")
    end = "next={Outcome.OK: None}),\n"
    file.write_text(text.replace(end, end + '    params={"bold": Arg(default=False)},\n'))
    bold = told("start", "built", "-p", "bold=true")["session"]

    assert told("step", "built", "done", "--session", begin())["status"] == "failed"
    assert report(bold, "done") == {"plan": "fail"}


def test_a_capped_iterate_needs_the_evidence_of_ok() -> None:
    put_skill("built", LOOP)
    session = begin()

    assert report(session, "iterate") == {"plan": "fail"}
    write("plan.md", "plan")
    assert report(session, "iterate") == {}


def test_an_answer_is_kept_and_checked_again_with_the_next_report() -> None:
    put_skill("built", ASKED)
    session = begin()
    told("answer", session, "go=Yes")

    assert report(session, "done") == {"plan": "fail"}
    assert told("resume", session)["questions"][0]["answer"] == ["Yes"]
    write("plan.md", "plan")
    assert report(session, "done") == {}


def test_a_long_baseline_is_stored_once_beside_the_journal() -> None:
    demand({"id": "parts", "files": "parts/*.md", "changed": True, "at_least": 2})
    for number in range(400):
        write(f"parts/part-{number}.md", "old")
    session = begin()
    folder = Path(".flow/sessions", session)

    for number in range(3):
        write("parts/part-1.md", f"new {number}")
        assert report(session) == {"parts": "fail"}
    write("parts/part-2.md", "new")
    assert report(session) == {}

    largest = max(len(line) for line in (folder / "journal.jsonl").read_text().splitlines())
    assert largest < 20_000
    assert len(list((folder / "texts").iterdir())) == 1
    assert flow("session", "verify", session).status == 0


def test_after_several_refusals_a_person_is_asked() -> None:
    demand(PLAN, tries=2)
    session = begin()
    report(session)

    ran = flow("step", "built", "ok", "--session", session)
    shown = told("resume", session)

    assert "a person must decide now" in ran.err
    assert shown["status"] == "waiting"
    question = shown["questions"][0]
    assert question["text"] == "Build: 2 reports lacked evidence (`plan`). What next?"
    assert [option["label"] for option in question["options"]] == ["Try again", "Waive", "Stop"]
    assert question["options"][1]["command"] == f"flow evidence waive {session} plan --reason REASON"
    error = refused("step", "built", "ok", "--session", session)[1]
    assert error["code"] == "QUESTION_OPEN"
    assert (
        error["hint"]
        == f"ask the user (`Try again`, `Waive`, `Stop`), then: flow answer {session} evidence=OPTION"
    )
    assert told("answer", session, "evidence=Try again")["status"] == "active"
    report(session)
    report(session)
    assert told("answer", session, "evidence=Stop")["status"] == "failed"


def test_the_step_lists_its_evidence_in_every_format() -> None:
    demand(
        PLAN, {"id": "tests", "run": ["pytest", "-q"]}, {"id": "lint", "run": ["ruff"], "level": "checked"}
    )
    session = begin()

    data = told("resume", session)["evidence"]
    text = flow("resume", session, "--format", "text").out
    xml = flow("resume", session, "--format", "xml").out

    assert [check["id"] for check in data] == ["plan", "tests", "lint"]
    assert [check["run"] for check in data] == [None, "pytest -q", None]
    assert data[1]["command"] == f"flow evidence run {session} tests"
    assert data[2]["command"] == f"flow evidence run {session} lint"
    for form in (text, xml):
        assert "pytest -q" in form
        assert f"flow evidence run {session} lint" in form
        assert "Your report is accepted only if these checks pass." in form
