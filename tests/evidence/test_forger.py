"""An agent that wants to be done without doing the work: none of its tricks makes a check pass."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.evidence import allow_commands, git, repository, write
from support.hooks import A, B, within
from support.sandbox import flow, process, project_skills, put_skill, sessions_folder, told

TEMPLATE = "# Plan\n\n## Risks\n\n## Rollback\n"
WORKFLOW = f"""\
name: NAME
steps:
  - id: build
    title: Build
    commands:
      tests: {{run: [make, test], reads: ["src/**"]}}
      lint: {{run: ["{sys.executable}", lint.py]}}
    evidence:
      ok:
        - {{id: plan, file: docs/plan.md, changed: true, min_bytes: 200, contains: ["## Risks", "## Rollback"]}}
        - {{id: source, file: src/a.py, changed: true}}
        - {{id: tests, command: tests}}
        - {{id: lint, command: lint}}
        - {{id: signed, person: the plan is approved}}
    next: {{ok: null, fail: null}}
"""
LEAD = """\
name: NAME
steps:
  - id: lead
    title: Lead
    actions: [Let it be built.]
    dispatch: {agent: developer, workflow: NAME/part}
    next: {ok: null}
"""
TEXT = f"Write a plan:\n\n```markdown\n{TEMPLATE}```\n"

Trick = Callable[[str], None]


def put_skills() -> None:
    texts = {"steps/build.md": TEXT}
    put_skill("built", WORKFLOW, texts=texts)
    part = WORKFLOW.replace("name: NAME", "name: NAME/part")
    put_skill("lead", LEAD, texts={"workflows/part.yaml": part, "steps/part/build.md": TEXT})


def write_receipts(session: str) -> None:
    receipt = json.dumps({"tests": "pass", "lint": {"verdict": "pass", "level": "checked"}, "exit_status": 0})
    for path in ("evidence.json", ".flow/evidence.json"):
        Path(path).write_text(receipt)
    work = sessions_folder() / session / "work"
    for name in ("evidence.json", "tests.passed", "notes.md"):
        (work / name).write_text(receipt)


def touch(session: str) -> None:
    del session
    for path in (*Path("src").iterdir(), Path("docs/plan.md")):
        os.utime(path)


def copy_the_template(session: str) -> None:
    del session
    write("docs/plan.md", TEMPLATE)


def edit_and_undo(session: str) -> None:
    del session
    for path in ("src/a.py", "docs/plan.md"):
        before = Path(path).read_text()
        write(path, f"{before}more\n")
        write(path, before)
    backup = shutil.copy2("src/a.py", "copy")
    write("src/a.py", "b = 2\n")
    git("commit", "-qam", "work")
    shutil.move(backup, "src/a.py")
    git("commit", "-qam", "undo")


def forge_the_files_of_a_run(session: str) -> None:
    """Write the files of a run that passed, as if the command had been started."""
    folder = sessions_folder() / session / "runs" / "tests-1"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("command.json", "begun", "ended.json"):
        (folder / name).write_text(json.dumps({"status": 0, "seconds": 1, "problem": "", "facts": {}}))


def ask_flow_to_run_it(session: str) -> None:
    assert flow("run", "lint", "--session", session).status == 7
    assert flow("run", "tests", "--session", session).status == 7


def approve_and_waive(session: str) -> None:
    for verb in ("approve", "waive"):
        words = [verb, "signed", "--session", session, "--reason", "trust me"]
        assert process(*words, stdin="yes\nyes\n", before="import os; os.setsid()").status == 4


def answer_for_the_user(session: str) -> None:
    for _ in range(3):
        flow("step", "built", "ok", "--session", session)
    assert flow("answer", session, "evidence=Waive", "--reason", "the user said so").status == 4
    assert flow("answer", session, "evidence=Try again").status == 0


def weaken_the_skill(session: str) -> None:
    del session
    file = project_skills() / "built" / "workflow.yaml"
    file.write_text(file.read_text().replace("min_bytes: 200, ", "").replace("changed: true, ", ""))


def report_from_elsewhere(session: str) -> None:
    project, elsewhere = Path.cwd(), Path.cwd().parent / "elsewhere"
    (elsewhere / "docs").mkdir(parents=True)
    (elsewhere / "docs/plan.md").write_text(TEMPLATE + "a real plan " * 30)
    os.chdir(elsewhere)
    ran = flow("step", "built", "ok", "--session", session, "--store", str(project / ".flow"))
    os.chdir(project)
    assert ran.status == 4


def go_back(session: str) -> None:
    assert flow("session", "rewind", session, "--to", "0").status == 0


TWO = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Write a.txt.], evidence: {ok: [{id: a, file: a.txt}]}, next: {ok: second}}
  - {id: second, title: Second, actions: [Write b.txt.], evidence: {ok: [{id: b, file: b.txt}]}, next: {ok: null}}
"""

TRICKS: tuple[Trick, ...] = (
    write_receipts,
    touch,
    copy_the_template,
    edit_and_undo,
    forge_the_files_of_a_run,
    ask_flow_to_run_it,
    approve_and_waive,
    answer_for_the_user,
    report_from_elsewhere,
    go_back,
)


@pytest.fixture
def session() -> str:
    repository()
    write("docs/plan.md", "# Plan\n")
    write("lint.py", "raise SystemExit(1)\n")
    git("add", ".")
    git("commit", "-qm", "more")
    put_skills()
    return str(within(A, "step", "built", "--new")["session"])


def passed_checks(session: str) -> set[str]:
    return {
        str(check["check"])
        for check in told("resume", session)["evidence"]
        if check["verdict"] in {"pass", "waived"}
    }


def test_no_trick_makes_a_check_pass(session: str) -> None:
    for trick in TRICKS:
        trick(session)

        assert passed_checks(session) == set(), trick.__name__
        assert flow("step", "built", "ok", "--session", session).status == 4, trick.__name__
        flow("answer", session, "evidence=Try again")


def test_weaker_evidence_in_the_skill_does_not_count_for_an_open_session(session: str) -> None:
    weaken_the_skill(session)
    copy_the_template(session)
    assert "plan" in passed_checks(str(within(B, "step", "built", "--new")["session"]))

    ran = flow("step", "built", "ok", "--session", session)

    assert (ran.status, "EVIDENCE_MISSING" in ran.err) == (4, True)
    assert passed_checks(session) == set()


def test_a_child_cannot_report_what_its_parent_could_not(session: str) -> None:
    del session
    lead = str(within(A, "step", "lead", "--new")["session"])
    child = str(within(A, "step", "--session", lead + ".0.1")["session"])

    for trick in (copy_the_template, edit_and_undo, forge_the_files_of_a_run, ask_flow_to_run_it):
        trick(child)
        assert flow("step", "lead/part", "ok", "--session", child).status == 4, trick.__name__
        flow("answer", child, "evidence=Try again")

    assert flow("step", "lead", "ok", "--session", lead).status == 4
    shown = flow("sessions", lead, "--json").data["dispatches"][0]
    assert shown["status"] == "active"


def test_honest_work_is_accepted(session: str) -> None:
    write("docs/plan.md", TEMPLATE + "a real plan " * 30)
    write("lint.py", "")
    write("src/a.py", "a = 2\n")
    allow_commands()
    assert flow("run", "lint", "--session", session).status == 0

    assert passed_checks(session) == {"plan", "source", "lint"}


@pytest.mark.parametrize("store_kind", ["sqlite", "postgresql"], indirect=True)
def test_with_a_database_files_of_another_folder_do_not_count() -> None:
    put_skill("two", TWO)
    session = str(told("step", "two", "--new")["session"])
    project, elsewhere = Path.cwd(), Path.cwd().parent / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    for folder in (elsewhere, elsewhere / ".flow" / "sessions" / session / "work"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("a.txt", "b.txt"):
            (folder / name).write_text("forged")
    os.chdir(elsewhere)

    assert flow("step", "two", "ok", "--session", session).status == 4
    (project / "a.txt").write_text("real")
    assert flow("step", "two", "ok", "--session", session).status == 0
    assert flow("step", "two", "ok", "--session", session).status == 4
    (project / "b.txt").write_text("real")
    assert told("step", "two", "ok", "--session", session)["status"] == "completed"
