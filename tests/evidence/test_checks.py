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


CITED: dict[str, object] = {"citations": True}
ITEMS: dict[str, object] = {"section": "## Evidence", "items": "E", "citations": True}
COVERS: dict[str, object] = {"section": "## Answers", "covers": "## Questions"}
QUESTIONS = "## Questions\nQ1 which\n- Q2 when\n| Q10 | who |\n~~Q3~~ struck out\n## Answers\n"
NOTHING = "report.md with nothing below ## Evidence; write ## Evidence in report.md"
CONTENTS: list[tuple[dict[str, object], str, str]] = [
    # every cited line exists
    (CITED, "It starts at 10:30, see http://localhost:8080/a.py:9 and localhost:80.", "has 0 citations with"),
    (CITED, "`app/run.py:3` and app/run.py:1-2", "has 0 citations with quoted words"),
    (CITED, "app/run.py:1 `one`, as app/run.py:3 shows", ""),
    (CITED, "`app/run.py:1` `one`, app/run.py:2-5, app/run.py:0", "run.py:2-5 (the file has 4 lines), app/run.py:0 (the "),
    (CITED, "app/run.py:1 `one`, app/gone.py:1, ../a.py:1", "app/gone.py:1 (no such file from the project root), ../a.py:1"),
    ({**CITED, "at_least": 2}, "app/run.py:1 `one`, and again app/run.py:1 `one`", "has 1 citation with"),
    (CITED, 'report.md:1 "report"', "has 0 citations with quoted words"),  # a report does not prove itself
    # the words quoted after a citation are in the cited lines
    (CITED, 'app/run.py:1-2 "one two"', ""),
    (CITED, "`app/run.py:2`: “two”", ""),
    (CITED, "app/run.py:3 (`three`)", ""),
    (CITED, 'app/run.py:1 "two"', "app/run.py:1 (it does not contain `two`)"),
    # each item of a section quotes words
    (ITEMS, '## Evidence\n\n### E1\napp/run.py:2 "two"\n\n**E2** app/run.py:1 "one"\n', ""),
    (ITEMS, "## Evidence\n| E1 | app/run.py:2 `two` |\n| E2 | app/run.py:2 |\n", "with quoted words for E2"),
    (ITEMS, '## Evidence\n- E1: report.md:2 "E1"\n', "with quoted words for E1"),  # a report does not prove itself
    (ITEMS, "## Evidence\nas F1 says, app/run.py:2 `two`\n", "0 items with E and a number"),
    (ITEMS, "## Evidence\n", NOTHING),
    (ITEMS, "## Evidence\n\n## Other\nE1: app/run.py:1 `one`\n", NOTHING),
    (ITEMS, "```\n## Evidence\nE1\n```\n", NOTHING),
    # a row of a table needs a backslash before a bar, in a quotation, too
    (ITEMS, '## Evidence\n| E1 | app/run.py:4 "four: int \\| None" |\n', ""),
    # a section names every item of another list
    (COVERS, f"{QUESTIONS}Q1: this. Q2: then.\n", "does not name Q10"),
    (COVERS, f"{QUESTIONS}Q1: this. Q2: then. Q10: nobody knows.\n", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("check", "ids"),
    [
        (COVERS, "each id (a letter and a number) that begins a line of ## Questions"),
        ({**COVERS, "covers": "plan.md", "items": "D"}, "each D1, D2, … that begins a line of plan.md"),
    ],
)
def test_a_step_says_which_ids_a_check_covers(check: dict[str, object], ids: str) -> None:
    demand({"id": "report", "file": "report.md", **check})

    assert f"naming {ids})" in flow("resume", begin(), "--format", "xml").out


@pytest.mark.parametrize(("check", "text", "problem"), CONTENTS)
def test_a_file_must_contain_what_the_check_demands(
    check: dict[str, object], text: str, problem: str
) -> None:
    demand({"id": "report", "file": "report.md", **check})
    session = begin()
    write("app/run.py", "one\n  two\nthree\nfour: int | None\n")
    write("report.md", text)

    ran = flow("step", "built", "ok", "--session", session)

    assert ran.status == (4 if problem else 0)
    assert problem in ran.err


def test_a_file_counts_as_changed_by_its_content_alone() -> None:
    demand(PLAN)
    plan = write("plan.md", "## Risks\nthe old plan\n")
    session = begin()

    os.utime(plan)
    assert report(session) == {"plan": "fail"}
    shutil.copy2(plan, "copy.md")
    Path("copy.md").replace(plan)
    assert report(session) == {"plan": "fail"}
    plan.write_text("##  Risks \n\nthe old\tplan\n\n")
    assert report(session) == {"plan": "fail"}, "only white space has changed"
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
