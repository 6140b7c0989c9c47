"""Checks of files and reviews, as a report meets them: what passes, what does not, and what tricks do not help."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.evidence import begin, demand, report, write
from support.sandbox import flow, put_skill, told

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
        "  provide it, then report the same outcome again\n"
    )


def test_every_cited_line_must_exist() -> None:
    demand({"id": "report", "file": "report.md", "citations": True})
    session = begin()
    write("app/run.py", "one\ntwo\nthree\n")
    write("report.md", "It starts at 10:30, see http://localhost:8080/a.py:9 and localhost:80.")
    assert report(session) == {"report": "fail"}
    write("report.md", "`app/run.py:3`, app/run.py:2-4, app/gone.py:1, ../outside.py:1 and app/run.py:0")

    ran = flow("step", "built", "ok", "--session", session)

    absent, short = "(no such file from the project root)", "(the file has 3 lines)"
    wrong = f"app/run.py:2-4 {short}, app/gone.py:1 {absent}, ../outside.py:1 {absent}, app/run.py:0 {short}"
    assert f"{wrong}; correct them in report.md" in ran.err


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('app/run.py:1-2 "one two"', {}),
        ("`app/run.py:2`: “two”", {}),
        ("app/run.py:3 (`three`)", {}),
        ('app/run.py:1 "two"', {"report": "fail"}),
        ("see app/run.py:3 `four`", {"report": "fail"}),
    ],
)
def test_the_words_quoted_after_a_citation_must_be_in_the_cited_lines(
    text: str, verdict: dict[str, str]
) -> None:
    demand({"id": "report", "file": "report.md", "citations": True})
    session = begin()
    write("app/run.py", "one\n  two\nthree\n")
    write("report.md", text)

    assert report(session) == verdict


def test_a_file_counts_as_changed_by_its_content_alone() -> None:
    demand(PLAN)
    plan = write("plan.md", "## Risks\nthe old plan\n")
    session = begin()

    os.utime(plan)
    assert report(session) == {"plan": "fail"}
    shutil.copy2(plan, "copy.md")
    Path("copy.md").replace(plan)
    assert report(session) == {"plan": "fail"}
    told("session", "rewind", session, "--to", "0")

    plan.write_text("## Risks\nthe new plan\n")
    assert report(session) == {}


def test_each_attempt_of_a_step_needs_a_change_of_its_own() -> None:
    demand(PLAN)
    session = begin()
    write("plan.md", "## Risks\nnone\n")
    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)

    assert report(session) == {"plan": "fail"}
    write("plan.md", "## Risks\nnone\nmore\n")
    assert report(session) == {}


REPORTING = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    reports: {where: {type: string}}
    evidence: {ok: [{id: plan, file: $where}]}
    next: {ok: null}
"""


@pytest.mark.parametrize("place", ["outside", "link"])
def test_a_path_outside_the_project_is_never_evidence(place: str) -> None:
    put_skill("built", REPORTING)
    session = begin()
    outside = Path.cwd().parent / "elsewhere.md"
    outside.write_text("a plan")
    Path("plan.md").symlink_to(outside)

    where = outside if place == "outside" else "plan.md"
    ran = flow("step", "built", "ok", "--session", session, "-s", f"where={where}")

    assert (ran.status, "EVIDENCE_MISSING" in ran.err) == (4, True)


def test_a_review_must_be_submitted_and_its_findings_resolved() -> None:
    demand({"id": "review", "review": "submitted"}, {"id": "clean", "review": "resolved"})
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
    assert report(session) == {"clean": "fail"}
    told("finding", "resolve", session, "F1")
    assert report(session) == {}
