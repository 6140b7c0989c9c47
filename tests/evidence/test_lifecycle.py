"""Evidence when a session is resumed, forked, rewound, migrated and adopted, and when sub-agents do the work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.evidence import begin, demand, git, report, repository, write
from support.sandbox import flow, project_skills, put_skill, refused, told

PLAN = {"id": "plan", "file": "plan.md", "changed": True}


def test_a_resumed_step_shows_the_results_now_and_keeps_its_baseline_and_so_does_a_fork() -> None:
    demand(PLAN)
    write("plan.md", "old")
    session = begin()
    assert report(session) == {"plan": "fail"}

    write("plan.md", "new")
    forked = told("session", "fork", session, "--at", "0")["session"]

    assert [check["verdict"] for check in told("resume", session)["evidence"]] == ["pass"]
    assert (report(session), report(forked)) == ({}, {})


def test_a_rewind_takes_a_new_baseline() -> None:
    demand(PLAN)
    write("plan.md", "old")
    session = begin()
    write("plan.md", "new")
    assert report(session) == {}

    told("session", "rewind", session, "--to", "0")

    assert report(session) == {"plan": "fail"}
    write("plan.md", "newer")
    assert report(session) == {}


def test_a_migration_keeps_the_baseline_and_completes_it() -> None:
    demand(PLAN)
    write("plan.md", "old")
    write("notes.md", "old")
    session = begin()
    write("plan.md", "new")
    demand(PLAN, {"id": "notes", "file": "notes.md", "changed": True})
    assert refused("step", "built", "ok", "--session", session)[0] == 5

    told("session", "migrate", session, "--accept")

    assert report(session) == {"notes": "fail"}
    write("notes.md", "new")
    assert report(session) == {}


def test_adopting_takes_a_new_baseline_in_the_folder_where_the_session_is_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demand(PLAN)
    write("plan.md", "old")
    session = begin()
    moved = Path.cwd().parent / "moved"
    shutil.copytree(Path.cwd(), moved, symlinks=True)
    write("plan.md", "new")
    os.chdir(moved)
    monkeypatch.setenv("XDG_STATE_HOME", str(moved.parent / "state of another machine"))
    assert refused("resume", session)[1]["code"] == "FOREIGN_SESSION"

    told("session", "adopt", session)

    assert report(session) == {"plan": "fail"}
    write("plan.md", "newer")
    assert report(session) == {}


TEAM = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Have it looked at.]
    dispatch:
      agent: explore
      over: [api, web]
      join: at least 1
      prompt: steps/part.md
      evidence: [{id: report, file: "reports/$item.md", changed: true, contains: ["## Findings"]}]
    next: {ok: null}
"""
CHILDREN = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Have it looked at.]
    dispatch: {agent: explore, run: NAME/part}
    next: {ok: null}
"""
PART = """\
name: NAME/part
steps:
  - id: write
    title: Write
    actions: [Write it.]
    evidence: {ok: [{id: scope, git: {changed_at_least: 1}}]}
    next: {ok: null}
"""


def test_the_work_of_a_sub_agent_is_checked_when_it_finishes() -> None:
    put_skill("team", TEAM, texts={"steps/part.md": "Look at $item.\n"})
    session = told("start", "team")["session"]
    claimed = told("claim", session, "d0-1")
    finish = ["finish", session, "d0-1", "ok", "--token", claimed["token"]]

    status, error = refused(*finish)
    text = flow("claim", session, "d0-1", "--token", claimed["token"]).out
    write("reports/api.md", "## Findings\nnone\n")
    ended = told(*finish)

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")
    assert error["message"].startswith(
        "cannot accept `ok` for dispatch `d0-1`: 0 of 1 evidence checks passed"
    )
    assert error["hint"] == "provide it, then report the same outcome again; if you cannot, report `fail`"
    assert claimed["evidence"] == ["reports/api.md (changed in this step, containing '## Findings')"]
    assert "reports/api.md" in text
    assert ended["status"] == "done"
    lines = flow("history", session).out
    assert "d0-1 claimed ok, 0 of 1 checked: lacks report" in lines
    assert "d0-1 ok (1 of 1 checked)" in lines
    told("step", "team", "ok", "--session", session)


def test_a_child_in_a_worktree_of_the_project_is_checked_where_it_works() -> None:
    repository()
    put_skill("team", CHILDREN, texts={"workflows/part.yaml": PART})
    session = told("start", "team")["session"]
    project, worktree = Path.cwd(), Path.cwd().parent / "worktree"
    git("worktree", "add", "-q", str(worktree))
    store = ["--store", str(project / ".flow")]
    os.chdir(worktree)
    child = told("claim", session, "d0-1", *store)["session"]
    step = ["step", "team/part", "ok", "--session", child, *store]

    (project / "src/a.py").write_text("changed in the project\n")
    status, error = refused(*step)
    (worktree / "src/a.py").write_text("changed in the worktree\n")
    done = told(*step)

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")
    assert done["status"] == "completed"
    check = told("history", child, *store)["steps"][-1]["evidence"][0]
    assert (check["folder"], bool(check["machine"])) == (str(worktree), True)


def test_a_child_elsewhere_is_checked_in_the_project() -> None:
    repository()
    put_skill("team", CHILDREN, texts={"workflows/part.yaml": PART})
    session = told("start", "team")["session"]
    store = ["--store", str(Path.cwd() / ".flow")]
    elsewhere = Path.cwd().parent / "elsewhere"
    elsewhere.mkdir()
    git("init", "-q", str(elsewhere))
    os.chdir(elsewhere)
    child = told("claim", session, "d0-1", *store)["session"]
    write("anything.py", "forged")

    status, error = refused("step", "team/part", "ok", "--session", child, *store)

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")


def test_a_dispatch_that_runs_a_workflow_demands_its_evidence_there() -> None:
    wrong = CHILDREN.replace("run: NAME/part}", "run: NAME/part, evidence: [{id: plan, file: a}]}")
    put_skill("team", wrong, texts={"workflows/part.yaml": PART})
    put_skill(
        "run",
        TEAM.replace('file: "reports/$item.md", changed: true, contains: ["## Findings"]', "run: [make]"),
    )

    assert "FR157" in flow("check", "team").out
    assert "runs a command, which a dispatch cannot demand" in flow("check", "run").out
    assert project_skills().exists()
