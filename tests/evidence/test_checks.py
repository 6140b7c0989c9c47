"""Checks of files, JSON and git, as a report meets them: what passes, what does not, and what tricks do not help."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.evidence import begin, demand, git, report, repository, write
from support.sandbox import flow, told

PLAN = {"id": "plan", "file": "plan.md", "changed": True, "min_bytes": 10, "contains": ["## Risks"]}


def test_a_report_without_evidence_is_refused_with_a_line_for_each_check() -> None:
    demand(PLAN, {"id": "parts", "files": "reports/*.md", "at_least": 3})
    write("reports/1.md", "one")
    session = begin()

    ran = flow("step", "built", "ok", "--session", session, "--expect", "0")

    assert ran.status == 4
    assert ran.err == (
        "flow: cannot accept `ok` for step `build`: 0 of 2 evidence checks passed\n"
        "    plan: expected plan.md (changed in this step, at least 10 bytes, containing '## Risks'); "
        "found no such file; write plan.md\n"
        "    parts: expected at least 3 files matching reports/*.md; found 1 file; write 2 more files [EVIDENCE_MISSING]\n"
        f"  provide it, then report the same outcome again; see all checks: flow evidence show {session}\n"
    )


def test_the_same_report_is_evaluated_again_and_accepted_once_the_evidence_is_there() -> None:
    demand(PLAN)
    session = begin()
    assert report(session, "ok", "--expect", "0") == {"plan": "fail"}
    write("plan.md", "## Risks\nnone\n")

    after = told("step", "built", "ok", "--session", session, "--expect", "0")
    again = told("step", "built", "ok", "--session", session, "--expect", "0")

    assert after["step"]["id"] == again["step"]["id"] == "tell"
    assert again["replayed"]


def test_every_line_that_a_file_cites_must_exist() -> None:
    demand({"id": "report", "file": "report.md", "citations": True})
    session = begin()
    write("app/run.py", "one\ntwo\nthree\n")
    write("report.md", "It starts at 10:30, see http://localhost:8080/a.py:9 and localhost:80.")
    assert report(session) == {"report": "fail"}
    write("report.md", "`app/run.py:3`, app/run.py:2-4, app/gone.py:1, ../outside.py:1 and app/run.py:0")

    ran = flow("step", "built", "ok", "--session", session)

    absent = "(no such file from the project root)"
    wrong = f"app/run.py:4, app/gone.py:1 {absent}, ../outside.py:1 {absent}, app/run.py:0"
    assert f"{wrong}; correct them in report.md" in ran.err


def test_a_file_counts_as_changed_by_its_content_alone() -> None:
    demand(PLAN)
    plan = write("plan.md", "## Risks\nthe old plan\n")
    session = begin()

    os.utime(plan)
    assert report(session) == {"plan": "fail"}
    shutil.copy2(plan, "copy.md")
    Path("copy.md").replace(plan)
    assert report(session) == {"plan": "fail"}
    plan.write_text("## Risks\nanother plan\n")
    plan.write_text("## Risks\nthe old plan\n")
    assert report(session) == {"plan": "fail"}

    plan.write_text("## Risks\nthe new plan\n")
    assert report(session) == {}


def test_the_first_entry_is_the_baseline_and_since_entry_is_the_latest() -> None:
    demand(PLAN, {"id": "log", "file": "log.md", "changed": True, "since": "entry"})
    session = begin()
    write("plan.md", "## Risks\nnone\n")
    write("log.md", "first\n")
    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)

    assert report(session) == {"log": "fail"}
    write("log.md", "first\nsecond\n")
    assert report(session) == {}


@pytest.mark.parametrize("place", ["outside", "link"])
def test_a_path_outside_the_project_is_never_evidence(place: str) -> None:
    demand({"id": "plan", "file": "$where"} if place == "outside" else {"id": "plan", "file": "plan.md"})
    if place == "outside":
        folder = Path(".claude/skills/built/workflow.yaml")
        text = folder.read_text().replace("    tries:", "    reports: {where: {type: string}}\n    tries:")
        folder.write_text(text)
    session = begin()
    outside = Path.cwd().parent / "elsewhere.md"
    outside.write_text("a plan")
    if place == "link":
        Path("plan.md").symlink_to(outside)

    facts = ["-s", f"where={outside}"] if place == "outside" else []

    assert report(session, "ok", *facts) == {"plan": "error"}


def test_the_notes_of_a_session_can_be_evidence() -> None:
    demand(
        {"id": "notes", "file": "$notes", "contains": ["## Root cause"]},
        {"id": "logs", "files": "$work/*.log"},
    )
    session = begin()
    assert report(session) == {"notes": "fail", "logs": "empty"}
    work = Path(".flow/sessions", session, "work")

    (work / "notes.md").write_text("## Root cause\na missing index\n")
    (work / "a.log").write_text("log")

    assert report(session) == {}


def test_patterns_match_as_in_a_shell_and_an_empty_one_is_empty() -> None:
    demand({"id": "parts", "files": "reports/**/*.md", "at_least": 2, "contains": ["done"]})
    session = begin()

    assert report(session) == {"parts": "empty"}
    write("reports/a.md", "done")
    write("reports/deep/er/b.md", "done")
    write("reports/c.txt", "")
    assert report(session) == {}


def test_json_must_match_the_schema_of_the_skill() -> None:
    schema = '{"type": "object", "required": ["passed"], "properties": {"passed": {"type": "boolean"}}}'
    demand({"id": "verdict", "json": "out.json", "schema": "schemas/v.json"}, schemas__v_json=schema)
    session = begin()

    for text in ("", "{", "[]", "{}", '{"passed": "yes"}', '{"passed": NaN}'):
        write("out.json", text)
        assert report(session) == {"verdict": "fail"}, text
    write("out.json", '{"passed": true}')
    assert report(session) == {}


def test_a_schema_that_refers_to_another_place_fetches_nothing() -> None:
    schema = '{"$ref": "http://127.0.0.1:9/schema.json"}'
    demand({"id": "verdict", "json": "out.json", "schema": "schemas/v.json"}, schemas__v_json=schema)
    session = begin()
    write("out.json", "{}")

    assert report(session) == {"verdict": "error"}


GIT = {"id": "scope", "git": {"changed_at_least": 1, "within": ["src/**"]}}


def test_git_counts_changes_since_the_step_was_entered() -> None:
    repository()
    demand(GIT)
    write("src/b.py", "b = 1\n")
    session = begin()

    assert report(session) == {"scope": "fail"}
    os.utime("src/a.py")
    assert report(session) == {"scope": "fail"}
    write("src/a.py", "a = 2\n")
    write("src/a.py", "a = 1\n")
    assert report(session) == {"scope": "fail"}
    write("src/b.py", "b = 2\n")
    assert report(session) == {}


@pytest.mark.parametrize("how", ["commit", "new", "delete", "stash"])
def test_git_sees_a_change_however_it_is_kept(how: str) -> None:
    repository()
    demand(GIT)
    write("src/b.py", "b = 1\n")
    git("add", ".")
    git("commit", "-qm", "more")
    session = begin()

    if how == "commit":
        write("src/a.py", "a = 2\n")
        git("commit", "-qam", "work")
    elif how == "new":
        write("src/c.py", "c = 1\n")
    elif how == "delete":
        Path("src/b.py").unlink()
    else:
        write("src/a.py", "a = 2\n")
        git("stash", "-q")

    assert report(session) == ({"scope": "fail"} if how == "stash" else {})


def test_git_refuses_changes_outside_the_patterns() -> None:
    repository()
    demand(GIT)
    session = begin()
    write("src/a.py", "a = 2\n")
    write("README.md", "changed\n")

    ran = flow("step", "built", "ok", "--session", session)

    assert "found also changed: README.md; change only src/**" in ran.err


def test_git_runs_no_program_that_a_repository_configures() -> None:
    repository()
    demand(GIT)
    ran = Path.cwd().parent / "ran"
    write(".gitattributes", "*.py filter=evil diff=evil\n")
    git("config", "filter.evil.clean", f"touch {ran}; cat")
    git("config", "diff.evil.textconv", f"touch {ran}; cat")
    git("config", "core.fsmonitor", f"touch {ran}")
    session = begin()
    write("src/a.py", "a = 2\n")

    report(session)

    assert not ran.exists()


def test_a_project_without_git_cannot_give_evidence_of_git() -> None:
    Path(".git").rmdir()
    Path(".flow").mkdir(mode=0o700)
    demand(GIT)
    session = begin()

    ran = flow("step", "built", "ok", "--session", session)

    assert "found git failed: fatal: not a git repository" in ran.err
    assert report(session) == {"scope": "error"}


def test_a_review_must_be_submitted_and_its_findings_resolved() -> None:
    demand({"id": "review", "records": {"review": "submitted", "findings": "resolved"}})
    session = begin()

    ran = flow("step", "built", "ok", "--session", session)
    shown = told("resume", session)
    assert (
        f"with `flow finding add {session}`, or, if it found nothing, run: flow finding none {session}"
        in ran.err
    )
    assert shown["finding_command"] == f"flow finding add {session}"
    assert shown["evidence"][0]["command"] == f"flow finding none {session}"
    told("finding", "add", session, "--severity", "MUST", "--text", "wrong")
    assert report(session) == {"review": "fail"}
    told("finding", "resolve", session, "F1")
    assert report(session) == {}
